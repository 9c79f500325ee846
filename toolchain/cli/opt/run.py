"""Running `jxc opt`: the pipeline on each module of a file, the checks, and the output."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import click
from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...ir import count_ops, make_context, read_module, write_bytecode, write_text
from ...ir.diagnostics import Diagnostic, collect_diagnostics
from ...pipeline import PassError, Pipeline, PipelineReport, run_pipeline
from ...pipeline.instruments import PrintIR
from ...pipeline.report import statistics_table, timing_table
from ...pipeline.reproducer import write_reproducer
from ...rewrite import PassContext, Remark, collect_remarks
from ...rewrite.actions import observe_rewrites, parse_counters
from ..process import ChildStage
from .expected import compare, read_expected
from .options import SEPARATOR, OptOptions
from .remarks import as_yaml, message, where


@dataclass(frozen=True)
class OptRun:
    """A run of `jxc opt` on the modules of one file.

    Attributes:
        name: the file's name in messages.
        pipeline: the passes.
        context: their settings.
        stage: what the process is doing, for a crash.
        options: the command line's.
    """

    name: str
    pipeline: Pipeline
    context: PassContext
    stage: ChildStage
    options: OptOptions

    def counted(self) -> contextlib.AbstractContextManager[None]:
        """A context in which rules apply only as often as the debug counters allow."""
        if not self.options.mlir_debug_counter:
            return contextlib.nullcontext()
        steps = [step.python for step in self.pipeline.steps if step.python is not None]
        known = [rule.name for step in steps for rule in step.rules]
        counters = parse_counters(self.options.mlir_debug_counter, known)
        return observe_rewrites(lambda rule, *_: rule not in counters or counters[rule].allows())

    @contextlib.contextmanager
    def remarks(self) -> Iterator[list[Remark]]:
        """Collect the remarks that are asked for; write them to a file, or print them."""
        options, selected = self.options, list[Remark]()
        nothing: contextlib.AbstractContextManager[list[Remark]] = contextlib.nullcontext([])
        with collect_remarks() if options.has_remarks else nothing as found:
            try:
                yield selected
            finally:
                selected += [each for each in dict.fromkeys(found) if options.selects(each)]
                if options.remarks_output_file:
                    for each in selected:
                        self.remarks_file.write(as_yaml(each, self.name))
                    self.remarks_file.flush()  # the process ends without closing it
                elif not options.verify_diagnostics:
                    for each in selected:
                        _to_stderr(f"{where(each, self.name)}: remark: {message(each)}\n")

    @cached_property
    def remarks_file(self) -> TextIO:
        """The file of `--remarks-output-file`, for the remarks of all modules."""
        return Path(str(self.options.remarks_output_file)).open("w", encoding="utf-8")

    @cached_property
    def dumps(self) -> set[Path]:
        """The files of `--mlir-print-ir-tree-dir` that are written, of all modules."""
        return set()

    def instruments(self) -> list[Any]:
        """The instruments of one run of the pipeline."""
        options = self.options
        found: list[Any] = [self.stage]
        if options.prints_around_passes:
            found.append(_printing(options, self.name, self.dumps))
        return found


def _printing(options: OptOptions, name: str, written: set[Path]) -> PrintIR:
    before = frozenset([*options.mlir_print_ir_before, *"*" * options.mlir_print_ir_before_all])
    after = frozenset([*options.mlir_print_ir_after, *"*" * options.mlir_print_ir_after_all])
    folder = options.mlir_print_ir_tree_dir
    return PrintIR(
        _to_stderr,
        before,
        after,
        only_changes=options.mlir_print_ir_after_change,
        only_failures=options.mlir_print_ir_after_failure,
        text_options=options.text_options(name),
        folder=None if folder is None else Path(folder),
        written=written,
    )


@dataclass(frozen=True)
class _Done:
    """One module after the pipeline; `module` is None where it failed as its comments expect."""

    module: ir.Module | None
    report: PipelineReport = field(default_factory=PipelineReport)
    differences: tuple[str, ...] = ()


def run_all(run: OptRun, data: bytes) -> tuple[str | bytes, bool]:
    """What to write for the modules in `data`, and whether all checks hold; prints reports."""
    options = run.options
    with run.counted(), contextlib.redirect_stdout(sys.stderr):  # stdout is for IR
        texts = _split(data) if options.split_input_file else [data]
        done = [
            _verified(run, text) if options.verify_diagnostics else _optimized(run, text)
            for text in texts
        ]
    reports = [each.report for each in done]
    result = _result(run, done)
    for line in [line for each in done for line in each.differences]:
        click.echo(line, err=True)
    if options.mlir_pass_statistics:
        _to_stderr(statistics_table(reports))
    if options.mlir_timing:
        _to_stderr(timing_table(reports))
    return result, not any(each.differences for each in done)


def _result(run: OptRun, done: Sequence[_Done]) -> str | bytes:
    """The modules as text, as bytes or in a JSON object."""
    options = run.options
    modules = [each.module for each in done]
    if options.emit_bytecode:
        if len(modules) > 1:
            raise UsageError("bytecode holds one module: give --split-input-file or it, not both")
        return b"" if modules[0] is None else write_bytecode(modules[0])
    how = options.text_options(run.name)
    printed = ["" if module is None else write_text(module, **how) for module in modules]
    if options.as_json:
        return _as_json(run, done, printed)
    return f"{SEPARATOR}\n".join(printed)


def _split(data: bytes) -> Iterator[bytes]:
    """The modules of a file, each after blank lines that keep its line numbers."""
    line, piece = 0, b""
    for number, text in enumerate(data.splitlines(keepends=True)):
        if text.startswith(SEPARATOR.encode()):
            if piece.strip():
                yield b"\n" * line + piece
            line, piece = number + 1, b""
        else:
            piece += text
    if piece.strip() or not line:
        yield b"\n" * line + piece


def _optimized(run: OptRun, data: bytes) -> _Done:
    """The module after the pipeline; a pass that fails leaves a reproducer."""
    options = run.options
    context = make_context(allow_unregistered_dialects=options.allow_unregistered_dialect)
    module = read_module(data, context, name=run.name)
    try:
        with run.remarks():
            return _Done(module, _run_passes(run, module))
    except PassError as error:
        text = write_text(read_module(data, context, name=run.name))
        target = None if options.reproducer is None else Path(options.reproducer)
        error.add_note(f"reproducer: {write_reproducer(text, error, target)}")
        if error.ours:
            error.exit_code = 4
        raise


def _run_passes(run: OptRun, module: ir.Module) -> PipelineReport:
    return run_pipeline(
        module,
        run.pipeline,
        run.context,
        instruments=run.instruments(),
        verify_each=run.options.verify_each,
        name=run.name,
    )


# Diagnostics


def _verified(run: OptRun, data: bytes) -> _Done:
    """The module after the pipeline, and how its diagnostics differ from its comments."""
    options = run.options
    expected = read_expected(data.decode(errors="replace"), run.name)
    context = make_context(allow_unregistered_dialects=options.allow_unregistered_dialect)
    module, report, remarks = None, PipelineReport(), list[Remark]()
    with collect_diagnostics(context, run.name) as found:
        try:
            parsed = read_module(data, context, name=run.name)
            with run.remarks() as remarks:
                report = _run_passes(run, parsed)
            module = parsed
        except UsageError:
            raise
        except JxcError as error:
            if not any(each.kind == "error" for each in found):  # Python's own, not MLIR's
                found.append(_diagnostic_of(error, run.name))
    found += [_diagnostic("remark", message(e), where(e, run.name), run.name) for e in remarks]
    only_expected = options.verify_diagnostics == "only-expected"
    differences = compare(expected, found, run.name, only_expected=only_expected)
    return _Done(module, report, tuple(differences))


def _diagnostic_of(error: JxcError, name: str) -> Diagnostic:
    """An error of a Python pass, at the op that its note names."""
    texts = [*getattr(error, "__notes__", ()), str(error)]
    found = [each for text in texts for each in re.findall(r"(?:^| at )(\S+:\d+:\d+)", text)]
    return _diagnostic("error", str(error), found[0] if found else "", name)


def _diagnostic(kind: str, text: str, at: str, name: str) -> Diagnostic:
    """A diagnostic at `file:line:column`."""
    file, line = at.rsplit(":", 2)[:2] if at.count(":") >= 2 else (None, None)
    is_here = file == name and line is not None
    return Diagnostic(kind, text, int(line) if is_here and line else None, at or name)


# Printing


def _to_stderr(text: str) -> None:
    click.echo(text, err=True, nl=False)


def _as_json(run: OptRun, done: Sequence[_Done], texts: Sequence[str]) -> str:
    modules = [
        {
            "module": text,
            "ops": 0 if each.module is None else count_ops(each.module),
            "steps": [
                {"name": s.name, "seconds": s.seconds, "rules": [vars(r) for r in s.rules]}
                for s in each.report.steps
            ],
        }
        for each, text in zip(done, texts, strict=True)
    ]
    head = {"schema_version": 1, "pipeline": str(run.pipeline), "modules": modules}
    return json.dumps(head, indent=2) + "\n"

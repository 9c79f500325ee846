"""`jxc opt`: from a module to a module. Reads, runs a pipeline in a child process, prints.

The passes need no jax, and this file never imports it: `jxc opt` starts in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from . import ModuleCommand
from .options import PassOptions, PrintOptions, flag, option, options_of, read_options
from .pass_help import help_pass, list_passes
from .process import ChildStage, in_child, leave

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ..pipeline import Pipeline, PipelineReport
    from ..rewrite import PassContext

_SEPARATOR = "// -----"


@dataclass(frozen=True)
class OptOptions(PrintOptions, PassOptions):
    """The options of `jxc opt`, under the names of their flags."""

    list_passes: bool = flag(help="List every pass and level, then exit.")
    help_pass: str | None = option(metavar="NAME", help="Explain a pass or rule, then exit.")
    dump_pass_pipeline: bool = flag(help="Print the pipeline to stderr first.")
    split_input_file: bool = flag(
        help=f"Process the modules between lines '{_SEPARATOR}' one by one."
    )
    verify_each: bool = option(
        "--verify-each/--no-verify-each",
        default=True,
        help="Verify the module after each pass (default), or after the last.",
    )
    mlir_print_ir_before: tuple[str, ...] = option(
        multiple=True, metavar="PASS", help="Print the module before PASS."
    )
    mlir_print_ir_after: tuple[str, ...] = option(
        multiple=True, metavar="PASS", help="Print the module after PASS."
    )
    mlir_print_ir_before_all: bool = flag(help="Print before each pass.")
    mlir_print_ir_after_all: bool = flag(help="Print after each pass.")
    mlir_print_ir_after_change: bool = flag(help="Print after each pass that changes it.")
    mlir_timing: bool = flag(help="Print the time of each pass to stderr.")
    mlir_pass_statistics: bool = flag(help="Print hits, attempts and time of each rule to stderr.")
    emit_bytecode: bool = flag(help="Write MLIR bytecode.")
    emit_portable: bool = flag(help="Write a StableHLO portable artifact.")
    reproducer: str | None = option(
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="If a pass fails, save the module to FILE, not to a temporary file.",
    )
    allow_unregistered_dialect: bool = flag(help="Accept ops of unregistered dialects.")
    as_json: bool = flag("--json", help="Print one JSON object with the module.")


@click.command(short_help="Run passes on a module.", cls=ModuleCommand)
@click.argument("file", default="-")
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@options_of(OptOptions)
def opt_command(file: str, output: str, **flags: Any) -> None:
    """Run passes on the module in FILE ('-' for stdin) and print the result.

    FILE holds MLIR text or bytecode, a StableHLO portable artifact, a jax.export file, HLO text or
    an HLO proto. Without -O or -p no pass runs.

    \b
    jxc opt -O2 step.mlir
    jxc opt -p 'inline,simplify{max-num-rewrites=3},cse' step.mlir -o small.mlir
    """
    options = read_options(OptOptions, flags)
    spec = options.pipeline_text(default="O0")
    data = b"" if options.list_passes or options.help_pass else read_input(file)
    split = ["--split-input-file"] * options.split_input_file
    stage = in_child(data, lambda saved: ["opt", str(saved), *split, *options.again(spec)])
    stage.enter(f"while reading {input_name(file)}")
    from ..pipeline import make_pipeline

    with contextlib.redirect_stdout(sys.stderr):
        library = options.library()
    if options.list_passes:
        list_passes(library)
    elif options.help_pass:
        help_pass(options.help_pass, library)
    else:
        pipeline = make_pipeline(spec, library)
        _check(pipeline, options)
        if options.dump_pass_pipeline:
            click.echo(str(pipeline), err=True)
        run = _OptRun(input_name(file), pipeline, options.context(), stage, options)
        write_output(_optimized(run, data), output)
    leave(0)


def _check(pipeline: Pipeline, options: OptOptions) -> None:
    """Refuse options that would have no effect or contradict each other."""
    names = {step.name for step in pipeline.steps}
    for printing in ("mlir_print_ir_before", "mlir_print_ir_after"):
        if unknown := [name for name in getattr(options, printing) if name not in names]:
            spelled = printing.replace("_", "-")
            raise UsageError(f"--{spelled} {unknown[0]}: no such pass in {pipeline}")
    if options.as_json + options.emit_bytecode + options.emit_portable > 1:
        raise UsageError("give one of --json, --emit-bytecode and --emit-portable")


# Running


@dataclass(frozen=True)
class _OptRun:
    """A run of `jxc opt` on the modules of one file."""

    name: str
    pipeline: Pipeline
    context: PassContext
    stage: ChildStage
    options: OptOptions


def _optimized(run: _OptRun, data: bytes) -> str | bytes:
    """What to write for the modules in `data`; prints reports to stderr."""
    from ..ir import write_bytecode, write_portable, write_text
    from ..pipeline.report import statistics_table, timing_table

    options = run.options
    with contextlib.redirect_stdout(sys.stderr):  # stdout is for IR, not for what passes print
        texts = _split(data) if options.split_input_file else [data]
        done = [_run_pipeline(run, text) for text in texts]
    modules, reports = [module for module, _ in done], [report for _, report in done]
    result: str | bytes
    if options.emit_bytecode or options.emit_portable:
        if len(modules) > 1:
            raise UsageError("bytecode holds one module: give --split-input-file or it, not both")
        result = (write_bytecode if options.emit_bytecode else write_portable)(modules[0])
    else:
        printed = [write_text(module, **options.text_options()) for module in modules]
        result = f"{_SEPARATOR}\n".join(printed)
        if options.as_json:
            result = _as_json(run, done, printed)
    if options.mlir_pass_statistics:
        _to_stderr(statistics_table(reports))
    if options.mlir_timing:
        _to_stderr(timing_table(reports))
    return result


def _split(data: bytes) -> Iterator[bytes]:
    """The modules of a file, each after blank lines that keep its line numbers."""
    line, piece = 0, b""
    for number, text in enumerate(data.splitlines(keepends=True)):
        if text.startswith(_SEPARATOR.encode()):
            if piece.strip():
                yield b"\n" * line + piece
            line, piece = number + 1, b""
        else:
            piece += text
    if piece.strip() or not line:
        yield b"\n" * line + piece


def _run_pipeline(run: _OptRun, data: bytes) -> tuple[ir.Module, PipelineReport]:
    """The module after the pipeline, and the report; a pass that fails leaves a reproducer."""
    from ..ir import make_context, read_module, write_text
    from ..pipeline import PassError, run_pipeline
    from ..pipeline.run import write_reproducer

    options = run.options
    context = make_context(allow_unregistered_dialects=options.allow_unregistered_dialect)
    module = read_module(data, context, name=run.name)
    try:
        report = run_pipeline(
            module,
            run.pipeline,
            run.context,
            instruments=[run.stage, *_instruments(options)],
            verify_each=options.verify_each,
            name=run.name,
        )
    except PassError as error:
        text = write_text(read_module(data, context, name=run.name))
        path = Path(options.reproducer) if options.reproducer else None
        error.add_note(f"reproducer: {write_reproducer(text, error, path)}")
        if error.ours:
            error.exit_code = 4
        raise
    return module, report


# Printing


def _instruments(options: OptOptions) -> list[Any]:
    from ..pipeline.instruments import PrintIR

    before = frozenset([*options.mlir_print_ir_before, *"*" * options.mlir_print_ir_before_all])
    after = frozenset([*options.mlir_print_ir_after, *"*" * options.mlir_print_ir_after_all])
    changes = options.mlir_print_ir_after_change
    if not (before or after or changes):
        return []
    return [PrintIR(_to_stderr, before, after, changes, options.text_options())]


def _to_stderr(text: str) -> None:
    click.echo(text, err=True, nl=False)


def _as_json(
    run: _OptRun, done: Sequence[tuple[ir.Module, PipelineReport]], texts: Sequence[str]
) -> str:
    from ..ir import count_ops

    modules = [
        {
            "module": text,
            "ops": count_ops(module),
            "steps": [
                {"name": s.name, "seconds": s.seconds, "rules": [vars(r) for r in s.rules]}
                for s in report.steps
            ],
        }
        for (module, report), text in zip(done, texts, strict=True)
    ]
    head = {"schema_version": 1, "pipeline": str(run.pipeline), "modules": modules}
    return json.dumps(head, indent=2) + "\n"

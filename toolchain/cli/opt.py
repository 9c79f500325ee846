"""`jxc opt`: from a module to a module. Reads, runs a pipeline in a child process, prints.

The passes need no jax, and this file never imports it: `jxc opt` starts in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from . import ModuleCommand
from .pass_help import help_pass, list_passes
from .process import ChildStage, in_child, leave

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ..pipeline import Pipeline, PipelineReport
    from ..rewrite import PassContext

_LEVEL = click.Choice(["0", "1", "2", "3"])
_SEPARATOR = "// -----"


def pipeline_options(command: Any) -> Any:
    """A decorator: the options that choose passes and what rules may assume."""
    options = [
        click.option(
            "-p",
            "--passes",
            metavar="PIPELINE",
            help="Run these passes, rules and levels: 'O1,my-rule,cse{k=v}'.",
        ),
        click.option("--pass-pipeline", metavar="PIPELINE", help="The same in mlir-opt's syntax."),
        click.option("-O", "level", type=_LEVEL, help="Run the passes of a level."),
        click.option(
            "--load-pass",
            multiple=True,
            metavar="FILE.py[:NAME]",
            help="Make the rules and passes of a Python file available by name.",
        ),
        click.option(
            "--target",
            default="cpu",
            show_default=True,
            metavar="NAME[,NAME]...",
            help="The hardware: cpu, gpu:h100, tpu:v5e:2x2; see `jxc targets`.",
        ),
        click.option(
            "--assume",
            multiple=True,
            metavar="PROMISE",
            help="Promise that values have no-nans, no-infs or no-signed-zeros.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class OptOptions:
    """The options of `jxc opt`, under the names of their flags."""

    passes: str | None
    pass_pipeline: str | None
    level: str | None
    load_pass: tuple[str, ...]
    target: str
    assume: tuple[str, ...]
    list_passes: bool
    help_pass: str | None
    dump_pass_pipeline: bool
    split_input_file: bool
    verify_each: bool
    mlir_print_ir_before: tuple[str, ...]
    mlir_print_ir_after: tuple[str, ...]
    mlir_print_ir_before_all: bool
    mlir_print_ir_after_all: bool
    mlir_print_ir_after_change: bool
    mlir_timing: bool
    mlir_pass_statistics: bool
    mlir_print_op_generic: bool
    mlir_print_debuginfo: bool
    elide: int | None
    emit_bytecode: bool
    emit_portable: bool
    reproducer: str | None
    allow_unregistered_dialect: bool
    as_json: bool


@click.command(short_help="Run passes on a module.", cls=ModuleCommand)
@click.argument("file", default="-")
@pipeline_options
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@click.option("--list-passes", is_flag=True, help="List every pass and level, then exit.")
@click.option("--help-pass", metavar="NAME", help="Explain a pass or rule, then exit.")
@click.option("--dump-pass-pipeline", is_flag=True, help="Print the pipeline to stderr first.")
@click.option(
    "--split-input-file",
    is_flag=True,
    help=f"Process the modules between lines '{_SEPARATOR}' one by one.",
)
@click.option(
    "--verify-each/--no-verify-each",
    default=True,
    help="Verify the module after each pass (default), or after the last.",
)
@click.option(
    "--mlir-print-ir-before", multiple=True, metavar="PASS", help="Print the module before PASS."
)
@click.option(
    "--mlir-print-ir-after", multiple=True, metavar="PASS", help="Print the module after PASS."
)
@click.option("--mlir-print-ir-before-all", is_flag=True, help="Print before each pass.")
@click.option("--mlir-print-ir-after-all", is_flag=True, help="Print after each pass.")
@click.option(
    "--mlir-print-ir-after-change", is_flag=True, help="Print after each pass that changes it."
)
@click.option("--mlir-timing", is_flag=True, help="Print the time of each pass to stderr.")
@click.option(
    "--mlir-pass-statistics",
    is_flag=True,
    help="Print hits, attempts and time of each rule to stderr.",
)
@click.option("--mlir-print-op-generic", is_flag=True, help="Print ops in their generic form.")
@click.option("--mlir-print-debuginfo", is_flag=True, help="Print locations.")
@click.option(
    "--mlir-elide-elementsattrs-if-larger",
    "elide",
    type=click.IntRange(min=0),
    metavar="N",
    help="Omit constants of more than N elements; such a module cannot be compiled.",
)
@click.option("--emit-bytecode", is_flag=True, help="Write MLIR bytecode.")
@click.option("--emit-portable", is_flag=True, help="Write a StableHLO portable artifact.")
@click.option(
    "--mlir-pass-pipeline-crash-reproducer",
    "reproducer",
    metavar="FILE",
    help="If a pass fails, save the module to FILE, not to a temporary file.",
)
@click.option(
    "--allow-unregistered-dialect", is_flag=True, help="Accept ops of unregistered dialects."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the module.")
def opt_command(file: str, output: str, **flags: Any) -> None:
    """Run passes on the module in FILE ('-' for stdin) and print the result.

    FILE holds MLIR text or bytecode, a StableHLO portable artifact, a jax.export file or HLO text.
    Without -O or -p no pass runs.

    \b
    jxc opt -O2 step.mlir
    jxc opt -p 'inline,simplify{max-num-rewrites=3},cse' step.mlir -o small.mlir
    """
    options = OptOptions(**flags)
    spec = chosen_pipeline(flags, default="O0")
    is_question = options.list_passes or options.help_pass
    data = b"" if is_question else read_input(file)
    stage = in_child(data, lambda saved: _command_on(saved, spec, options))
    stage.enter(f"while reading {input_name(file)}")
    from ..pipeline import Library, make_pipeline

    with contextlib.redirect_stdout(sys.stderr):
        library = Library.of_files(options.load_pass)
    if options.list_passes:
        list_passes(library)
    elif options.help_pass:
        help_pass(options.help_pass, library)
    else:
        pipeline = make_pipeline(spec, library)
        _check(pipeline, options)
        if options.dump_pass_pipeline:
            click.echo(str(pipeline), err=True)
        run = _OptRun(input_name(file), pipeline, pass_context_of(flags), stage, options)
        write_output(_optimized(run, data), output)
    leave(0)


def chosen_pipeline(flags: Mapping[str, Any], default: str) -> str:
    """The pipeline that `-p`, `--pass-pipeline` or `-O` names.

    Raises:
        UsageError: more than one of them is given.
    """
    texts = [text for text in (flags["passes"], flags["pass_pipeline"]) if text is not None]
    texts += [f"O{flags['level']}"] if flags["level"] is not None else []
    if len(texts) > 1:
        raise UsageError(
            "give one of -O, --passes and --pass-pipeline; a pipeline may contain levels: "
            "-p 'O2,annotate-cost'"
        )
    return texts[0] if texts else default


def pass_context_of(flags: Mapping[str, Any]) -> PassContext:
    """The context of passes for `--target` and `--assume`."""
    from ..rewrite import PassContext, promises

    return PassContext(flags["target"].partition(":")[0], promises(flags["assume"]))


def _command_on(saved: Path, spec: str, options: OptOptions) -> list[str]:
    """The arguments of `jxc` that run the same passes on a saved input."""
    loads = [f"--load-pass={file}" for file in options.load_pass]
    split = ["--split-input-file"] if options.split_input_file else []
    return ["opt", str(saved), *loads, *split, "-p", spec]


def _check(pipeline: Pipeline, options: OptOptions) -> None:
    """Refuse options that would have no effect or contradict each other."""
    names = {step.name for step in pipeline.steps}
    printed = {
        "--mlir-print-ir-before": options.mlir_print_ir_before,
        "--mlir-print-ir-after": options.mlir_print_ir_after,
    }
    for flag, passes in printed.items():
        if unknown := [name for name in passes if name not in names]:
            raise UsageError(f"{flag} {unknown[0]}: no such pass in {pipeline}")
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
    from ..ir import write_bytecode, write_portable

    options, done = run.options, []
    with contextlib.redirect_stdout(sys.stderr):  # stdout is for IR, not for what passes print
        for text in _split(data) if options.split_input_file else [data]:
            done.append(_run_pipeline(run, text))
    modules, reports = [module for module, _ in done], [report for _, report in done]
    result: str | bytes
    if options.as_json:
        result = _as_json(run, done)
    elif options.emit_bytecode or options.emit_portable:
        if len(modules) > 1:
            raise UsageError("bytecode holds one module: give --split-input-file or it, not both")
        write = write_bytecode if options.emit_bytecode else write_portable
        result = write(modules[0])
    else:
        result = f"{_SEPARATOR}\n".join(_text(module, options) for module in modules)
    _print_reports(options, reports)
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


def _text_options(options: OptOptions) -> dict[str, Any]:
    """The keyword arguments of `write_text`."""
    return {
        "debug_info": options.mlir_print_debuginfo,
        "generic": options.mlir_print_op_generic,
        "elide_larger_than": options.elide,
    }


def _text(module: ir.Module, options: OptOptions) -> str:
    from ..ir import write_text

    return write_text(module, **_text_options(options))


def _instruments(options: OptOptions) -> list[Any]:
    from ..pipeline.instruments import PrintIR

    before = frozenset([*options.mlir_print_ir_before, *"*" * options.mlir_print_ir_before_all])
    after = frozenset([*options.mlir_print_ir_after, *"*" * options.mlir_print_ir_after_all])
    changes = options.mlir_print_ir_after_change
    if not (before or after or changes):
        return []
    return [PrintIR(_to_stderr, before, after, changes, _text_options(options))]


def _to_stderr(text: str) -> None:
    click.echo(text, err=True, nl=False)


def _print_reports(options: OptOptions, reports: Sequence[PipelineReport]) -> None:
    from ..pipeline.report import statistics_table, timing_table

    if options.mlir_pass_statistics:
        _to_stderr(statistics_table(reports))
    if options.mlir_timing:
        _to_stderr(timing_table(reports))


def _as_json(run: _OptRun, done: Sequence[tuple[ir.Module, PipelineReport]]) -> str:
    from ..ir import count_ops

    modules = [
        {
            "module": _text(module, run.options),
            "ops": count_ops(module),
            "steps": [
                {"name": s.name, "seconds": s.seconds, "rules": [vars(r) for r in s.rules]}
                for s in report.steps
            ],
        }
        for module, report in done
    ]
    head = {"schema_version": 1, "pipeline": str(run.pipeline), "modules": modules}
    return json.dumps(head, indent=2) + "\n"

"""`jxc opt`: module to module. Never imports jax."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from .pass_help import help_pass, list_passes
from .process import ChildStage, in_child, leave

_LEVEL = click.Choice(["0", "1", "2", "3"])
_SPLIT = "// -----"


def pipeline_options(command: Any) -> Any:
    """The options that say which passes to run, and what rules may assume."""
    options = [
        click.option("-p", "--passes", help="Passes to run: 'a,b{k=v}', levels among them."),
        click.option("--pass-pipeline", help="The same, as mlir-opt spells it."),
        click.option("-O", "level", type=_LEVEL, help="Run the passes of a level, 0 to 3."),
        click.option(
            "--load-pass",
            multiple=True,
            metavar="FILE.py[:NAME]",
            help="Make the rules and passes in a file available by name.",
        ),
        click.option(
            "--target",
            default="cpu",
            show_default=True,
            metavar="NAME[,NAME]...",
            help="The hardware to compile for: cpu, gpu:h100, tpu:v5e:2x2; see `jxc targets`.",
        ),
        click.option(
            "--assume", multiple=True, metavar="PROMISE", help="no-nans, no-infs, no-signed-zeros."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class ModuleCommand(click.Command):
    """A verb that takes modules; for a function it names the commands that lower it first."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line as click does.

        Raises:
            UsageError: a function is given in place of a module.
        """
        values, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
        given = [values.get(each.name) for each in self.params if isinstance(each, click.Argument)]
        words = [each for each in (*given, *rest) if isinstance(each, str)]
        if words and _FUNCTION.fullmatch(words[0]) and not os.path.exists(words[0]):
            raise UsageError(_lower_first(str(ctx.info_name), words, args))
        return super().parse_args(ctx, args)


_FUNCTION = re.compile(r"[^:]+\.py:[\w.]+|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def _lower_first(verb: str, words: list[str], args: list[str]) -> str:
    """The error for a function in place of a module, with the user's own words in the remedy."""
    options = list(args)
    for word in words:
        options.remove(word)
    specs = shlex.join(words[1:]) or "SPEC..."
    rest = shlex.join([*(options or ["-O2"] * (verb == "opt")), "-"])
    return (
        f"{words[0]} is a function, and `jxc {verb}` takes a module: lower it first\n"
        f"  jxc lower {shlex.quote(words[0])} {specs} | jxc {verb} {rest}"
    )


@click.command(short_help="Run passes on a module.", cls=ModuleCommand)
@click.argument("file", default="-")
@pipeline_options
@click.option("-o", "output", default="-", metavar="FILE", help="Where to; stdout by default.")
@click.option("--list-passes", is_flag=True, help="Name every pass, and stop.")
@click.option("--help-pass", metavar="NAME", help="Explain a pass or rule, and stop.")
@click.option("--dump-pass-pipeline", is_flag=True, help="Print the pipeline to stderr first.")
@click.option("--split-input-file", is_flag=True, help=f"Treat pieces between '{_SPLIT}' alone.")
@click.option(
    "--verify-each/--no-verify-each", default=True, help="Verify after each pass (default) or last."
)
@click.option("--mlir-print-ir-before", multiple=True, metavar="PASS", help="Print before PASS.")
@click.option("--mlir-print-ir-after", multiple=True, metavar="PASS", help="Print after PASS.")
@click.option("--mlir-print-ir-before-all", is_flag=True, help="Print before each pass.")
@click.option("--mlir-print-ir-after-all", is_flag=True, help="Print after each pass.")
@click.option("--mlir-print-ir-after-change", is_flag=True, help="Print after passes that change.")
@click.option("--mlir-timing", is_flag=True, help="Report the time of each pass, on stderr.")
@click.option(
    "--mlir-pass-statistics", is_flag=True, help="Report hits, tries and time of each rule."
)
@click.option("--mlir-print-op-generic", is_flag=True, help="Print ops in their generic form.")
@click.option("--mlir-print-debuginfo", is_flag=True, help="Print locations.")
@click.option(
    "--mlir-elide-elementsattrs-if-larger",
    "elide",
    type=click.IntRange(min=0),
    metavar="N",
    help="Leave out constants of more than N elements; cannot be compiled.",
)
@click.option("--emit-bytecode", is_flag=True, help="Write MLIR bytecode.")
@click.option("--emit-portable", is_flag=True, help="Write a StableHLO portable artifact.")
@click.option(
    "--mlir-pass-pipeline-crash-reproducer",
    "reproducer",
    metavar="FILE",
    help="Where to save the module if a pass fails; a temporary file by default.",
)
@click.option("--allow-unregistered-dialect", is_flag=True, help="Read ops nobody registered.")
@click.option("--json", "as_json", is_flag=True, help="Print one object instead of the module.")
def opt_command(file: str, output: str, **flags: Any) -> None:
    """Run passes on FILE ('-' for stdin) and print what they make of it.

    Reads MLIR text, bytecode, portable artifacts, jax.export files and HLO text. Runs what it is
    told and nothing by default.

    \b
    jxc opt -O2 step.mlir
    jxc opt -p 'inline,simplify{max-num-rewrites=3},cse' step.mlir -o small.mlir
    """
    spec = chosen_pipeline(flags, default="O0")
    is_question = flags["list_passes"] or flags["help_pass"]
    data = b"" if is_question else read_input(file)
    stage = in_child(data, lambda saved: _again(saved, spec, flags))
    stage.enter(f"while reading {input_name(file)}")
    from ..pipeline import Library

    with contextlib.redirect_stdout(sys.stderr):
        library = Library.of_files(flags["load_pass"])
    if flags["list_passes"]:
        list_passes(library)
    elif flags["help_pass"]:
        help_pass(flags["help_pass"], library)
    else:
        _run(_job(file, data, output, spec, library, stage, flags))
    leave(0)


def _job(
    file: str, data: bytes, output: str, spec: str, library: Any, stage: ChildStage, flags: Any
) -> _Job:
    from ..pipeline import make_pipeline

    pipeline = make_pipeline(spec, library)
    _check(pipeline, flags)
    if flags["dump_pass_pipeline"]:
        click.echo(str(pipeline), err=True)
    return _Job(input_name(file), data, output, pipeline, pass_context_of(flags), stage, flags)


def _check(pipeline: Any, flags: dict[str, Any]) -> None:
    """Refuse flags that would have no effect."""
    names = {step.name for step in pipeline.steps}
    for flag in ("mlir_print_ir_before", "mlir_print_ir_after"):
        if unknown := [name for name in flags[flag] if name not in names]:
            spelled = flag.replace("_", "-")
            raise UsageError(f"--{spelled} {unknown[0]}: no such pass in {pipeline}")
    forms = [flag for flag in ("as_json", "emit_bytecode", "emit_portable") if flags[flag]]
    if len(forms) > 1:
        raise UsageError("give one of --json, --emit-bytecode and --emit-portable")


def pass_context_of(flags: dict[str, Any]) -> Any:
    """The `PassContext` that --target and --assume ask for."""
    from ..rewrite import PassContext, promises

    return PassContext(flags["target"].partition(":")[0], promises(flags["assume"]))


def _again(saved: Path, spec: str, flags: dict[str, Any]) -> list[str]:
    """The arguments that run the same passes on a saved input."""
    loads = [f"--load-pass={file}" for file in flags["load_pass"]]
    split = ["--split-input-file"] if flags["split_input_file"] else []
    return ["opt", str(saved), *loads, *split, "-p", spec]


def chosen_pipeline(flags: dict[str, Any], default: str) -> str:
    """The pipeline asked for by `-p`, `--pass-pipeline` or `-O`; more than one is an error."""
    texts = [t for t in (flags["passes"], flags["pass_pipeline"]) if t is not None]
    texts += [f"O{flags['level']}"] if flags["level"] is not None else []
    if len(texts) > 1:
        raise UsageError(
            "give one of -O, --passes and --pass-pipeline; levels can stand among passes: "
            "-p 'O2,annotate-cost'"
        )
    return texts[0] if texts else default


@dataclass
class _Job:
    name: str
    data: bytes
    output: str
    pipeline: Any
    pass_context: Any
    stage: ChildStage
    flags: dict[str, Any]


def _run(job: _Job) -> None:
    from ..ir import write_bytecode, write_portable

    modules, reports = [], []
    with contextlib.redirect_stdout(sys.stderr):  # what a user's pass prints is not IR
        for text in _pieces(job.data, job.flags["split_input_file"]):
            module, report = _run_one(job, text)
            modules.append(module)
            reports.append(report)
    if job.flags["as_json"]:
        result: str | bytes = _as_json(job, modules, reports)
    elif job.flags["emit_bytecode"] or job.flags["emit_portable"]:
        if len(modules) > 1:
            raise UsageError("bytecode holds one module: give --split-input-file or it, not both")
        write = write_bytecode if job.flags["emit_bytecode"] else write_portable
        result = write(modules[0])
    else:
        result = f"{_SPLIT}\n".join(_text(module, job.flags) for module in modules)
    write_output(result, job.output)
    _print_reports(job.flags, reports)


def _pieces(data: bytes, split: bool) -> Iterator[bytes]:
    """The modules in a file, each behind as many blank lines as precede it: lines count right."""
    if not split:
        yield data
        return
    line, piece = 0, b""
    for number, text in enumerate(data.splitlines(keepends=True)):
        if text.startswith(_SPLIT.encode()):
            if piece.strip():
                yield b"\n" * line + piece
            line, piece = number + 1, b""
        else:
            piece += text
    if piece.strip() or not line:
        yield b"\n" * line + piece


def _run_one(job: _Job, data: bytes) -> tuple[Any, Any]:
    from ..ir import make_context, read_module, write_text
    from ..pipeline import PassError, run_pipeline
    from ..pipeline.run import write_reproducer

    name = job.name
    context = make_context(allow_unregistered_dialects=job.flags["allow_unregistered_dialect"])
    module = read_module(data, context, name=name)
    try:
        report = run_pipeline(
            module,
            job.pipeline,
            job.pass_context,
            instruments=[job.stage, *_instruments(job.flags)],
            verify_each=job.flags["verify_each"],
            name=name,
        )
    except PassError as error:
        text = write_text(read_module(data, context, name=name))
        path = job.flags["reproducer"]
        saved = write_reproducer(text, error, Path(path) if path else None)
        error.add_note(f"reproducer: {saved}")
        if error.ours:
            error.exit_code = 4
        raise
    return module, report


def _text_options(flags: dict[str, Any]) -> dict[str, Any]:
    return {
        "debug_info": flags["mlir_print_debuginfo"],
        "generic": flags["mlir_print_op_generic"],
        "elide_larger_than": flags["elide"],
    }


def _text(module: Any, flags: dict[str, Any]) -> str:
    from ..ir import write_text

    return write_text(module, **_text_options(flags))


def _instruments(flags: dict[str, Any]) -> list[Any]:
    from ..pipeline.instruments import PrintIR

    before = frozenset(flags["mlir_print_ir_before"]) | _all(flags["mlir_print_ir_before_all"])
    after = frozenset(flags["mlir_print_ir_after"]) | _all(flags["mlir_print_ir_after_all"])
    changes = flags["mlir_print_ir_after_change"]
    if not (before or after or changes):
        return []
    return [PrintIR(_to_stderr, before, after, changes, _text_options(flags))]


def _to_stderr(text: str) -> None:
    click.echo(text, err=True, nl=False)


def _all(flag: bool) -> frozenset[str]:
    return frozenset({"*"} if flag else ())


def _print_reports(flags: dict[str, Any], reports: list[Any]) -> None:
    from ..pipeline.report import statistics_table, timing_table

    if flags["mlir_pass_statistics"]:
        click.echo(statistics_table(reports), err=True, nl=False)
    if flags["mlir_timing"]:
        click.echo(timing_table(reports), err=True, nl=False)


def _as_json(job: _Job, modules: list[Any], reports: list[Any]) -> str:
    from ..ir import count_ops

    results = [
        {
            "module": _text(module, job.flags),
            "ops": count_ops(module),
            "steps": [
                {"name": s.name, "seconds": s.seconds, "rules": [vars(r) for r in s.rules]}
                for s in report.steps
            ],
        }
        for module, report in zip(modules, reports, strict=True)
    ]
    head = {"schema_version": 1, "pipeline": str(job.pipeline), "modules": results}
    return json.dumps(head, indent=2) + "\n"

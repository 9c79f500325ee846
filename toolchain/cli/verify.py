"""`jxc verify`: whether two programs, or one before and after a pipeline, mean the same.

One verb, three checks: a program against a second module or its own result after a pipeline
(`_compare`), a program on XLA against the interpreter (`--xla-bisect`), and programs with expected
outputs (`--conformance`). All of it runs in a child process: corrupt modules crash MLIR.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from .lower import lowering_options
from .opt import chosen_pipeline, pass_context_of, pipeline_options
from .process import ChildStage, CrashError, in_child, leave, leave_out_absent_hardware

_CONFORMANCE_LEVELS = ("O1", "O2")  # beside the programs as written
_OF_FUNCTIONS = {
    "args_from": "--args",
    "static": "--static",
    "transform": "--transform",
    "device": "--device",
    "platform": "--platform",
    "host_devices": "--host-devices",
    "mesh": "--mesh",
    "in_sharding": "--in-sharding",
    "out_sharding": "--out-sharding",
    "sharding": "--sharding",
    "x64": "--x64",
}


@click.command(short_help="Check that a rewrite keeps a program's meaning.")
@click.argument("before", metavar="[A|TARGET]", required=False)
@lowering_options
@pipeline_options
@click.option(
    "--contract",
    type=click.Choice(["exact", "reassociates"]),
    help="How far B may be from A: bit for bit (default), or by rounding.",
)
@click.option("--draws", default=3, show_default=True, help="Times to draw arguments of each kind.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Stop drawing arguments after N seconds; the verdict says what was not checked.",
)
@click.option("--bisect", is_flag=True, help="Name the pass, and the rewrite, that breaks it.")
@click.option(
    "--xla-bisect", is_flag=True, help="Compare A on XLA with the interpreter; name the XLA pass."
)
@click.option("--save-inputs", metavar="FILE.npz", help="Save arguments that show a difference.")
@click.option("--conformance", metavar="DIR", help="Run programs that carry expected outputs.")
@click.option("--save-reduced", metavar="FILE.mlir", help="Save the small counterexample.")
@click.option(
    "--reduce/--no-reduce",
    default=True,
    envvar="JXC_REDUCE",
    help="Look for a small counterexample where a pipeline makes a difference (default).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def verify_command(before: str | None, specs: tuple[str, ...], **flags: Any) -> None:
    """Compare module A with module B, or a program before and after a pipeline.

    The program is a module A, or the function TARGET with arguments like SPECs as `jxc lower` takes
    them. It runs on generated arguments: random values, edge values (NaN, infinities, signed zeros,
    denormals, extremes), and small integers, whose sums are exact. Dynamic dimensions take several
    sizes. With a pipeline, each dimension is also tested with sizes 1 and 0.

    StableHLO's reference interpreter runs both programs and every bit must agree. XLA runs what the
    interpreter cannot run or would take seconds for; a difference by rounding is allowed there, and
    under the looser contracts of the rules that fired.

    Exit code 0 if all that was run agrees, 1 if there is a difference or nothing could be run.
    Where a pipeline makes a difference, a small program that shows it is printed.

    With --xla-bisect, A on the interpreter is compared with A on XLA. Where they differ, the XLA
    pass is named without which XLA is right.

    With --conformance, the programs in DIR run as written and at O1 and O2, or after the given
    pipeline. Exit code 1 if one is right as written and wrong after a pipeline.

    \b
    jxc verify before.mlir after.mlir
    jxc verify model.py:step 'f32[8,784]' -O2
    jxc verify step.mlir -p 'simplify,my-rule' --load-pass my_rules.py --bisect
    jxc verify step.mlir --xla-bisect
    jxc verify --conformance programs/
    """
    if flags["conformance"] is not None:
        _run_conformance(before, flags)
    if before is None:
        raise UsageError("expected a module A, a TARGET, or --conformance DIR; found none of them")
    is_target = before.endswith(".py") or (":" in before and not Path(before).is_file())
    after = _second_module(before, specs, flags) if not is_target else None
    _check(before, after, flags)
    data = None if is_target else read_input(before)
    again = [*([after] if after else []), *_pipeline_arguments(flags)]
    try:
        stage = in_child(data, lambda saved: ["verify", str(saved), *again])
    except CrashError as error:
        if " while reading " in str(error):
            error.exit_code = 1  # a corrupt module, not a bug of a pass
        raise
    stage.enter(f"while reading {input_name(before)}")
    module = _read(before, data) if data is not None else _lower(before, specs, flags)
    if flags["xla_bisect"]:
        _run_xla_bisect(module, flags, stage)
    _compare(module, after, flags, stage)


def _second_module(before: str, specs: tuple[str, ...], flags: dict[str, Any]) -> str | None:
    """The file of module B, which stands where a function has its first SPEC."""
    if given := [spelling for name, spelling in _OF_FUNCTIONS.items() if flags[name]]:
        raise UsageError(f"{given[0]} is about lowering a function, and {before} is a module")
    if len(specs) > 1:
        raise UsageError(f"expected at most two modules; found a third: {specs[1]}")
    return specs[0] if specs else None


def _check(before: str, after: str | None, flags: dict[str, Any]) -> None:
    """Refuse options that contradict each other or would have no effect."""
    has_pipeline = any(flags[name] is not None for name in ("passes", "pass_pipeline", "level"))
    if flags["xla_bisect"]:
        others = {"a second module": after, "--bisect": flags["bisect"], "a pipeline": has_pipeline}
        others["--seconds"] = flags["seconds"]
        if given := [name for name, value in others.items() if value]:
            raise UsageError(f"--xla-bisect looks for a pass of XLA: drop {given[0]}")
        return
    if (after is None) != has_pipeline:
        raise UsageError("give a second module, or a pipeline (-O, -p): one of the two")
    if flags["bisect"] and after is not None:
        raise UsageError("--bisect looks for a pass: give a pipeline instead of a second module")
    if flags["save_reduced"] and (after is not None or not flags["reduce"]):
        other = "a second module" if after is not None else "--no-reduce"
        raise UsageError(f"--save-reduced saves what a pipeline breaks: drop {other}")


def _pipeline_arguments(flags: dict[str, Any]) -> list[str]:
    """The options that choose the same pipeline again."""
    spec = chosen_pipeline(flags, default="")
    loads = [f"--load-pass={file}" for file in flags["load_pass"]]
    return [*loads, "-p", spec] if spec else loads


def _read(file: str, data: bytes) -> Any:
    from ..ir import make_context, read_module

    return read_module(data, make_context(), name=input_name(file))


def _lower(target: str, specs: tuple[str, ...], flags: dict[str, Any]) -> Any:
    leave_out_absent_hardware()
    from ..backend.lowered import lowered_from_request
    from ..frontend.request import LowerRequest

    options = {name: flags[name] for name in _OF_FUNCTIONS}
    request = LowerRequest(target=target, specs=specs, concrete=False, **options)
    return lowered_from_request(request)[0].module


def _compare(module: Any, after: str | None, flags: dict[str, Any], stage: ChildStage) -> None:
    """Compare, print the verdicts, and leave with the exit code."""
    from ..check.compare import Deadline
    from ..check.verify import CONTRACTS, blame, save_inputs, verify_modules, verify_pipeline
    from ..ir import read_module
    from ..pipeline import Library, make_pipeline

    context, pipeline, seeds = pass_context_of(flags), None, flags["draws"]
    if after is not None:
        stage.enter(f"while reading {input_name(after)}")
        second = read_module(read_input(after), module.context, name=input_name(after))
    else:
        library = Library.of_files(flags["load_pass"])
        pipeline = make_pipeline(chosen_pipeline(flags, default="O0"), library)
    stage.enter("while comparing")
    with _progress() as progress:
        deadline = Deadline(flags["seconds"], progress)
        if pipeline is not None:
            verdicts = verify_pipeline(
                module, pipeline, context=context, seeds=seeds, deadline=deadline
            )
        else:
            contract = CONTRACTS[flags["contract"] or "exact"]
            verdicts = verify_modules(
                module, second, contract=contract, seeds=seeds, deadline=deadline
            )
    differing = [verdict for verdict in verdicts if verdict.report.difference is not None]
    broken = next((v.program for v in verdicts if v.program is not None), module)
    culprit = None
    if flags["bisect"] and differing and pipeline is not None:
        culprit = blame(broken, pipeline, context=context, seeds=seeds)

    def small() -> Any:
        return _counterexample(broken, pipeline, differing, flags)

    _print(verdicts, culprit, small, flags)
    if flags["save_inputs"] and differing:
        save_inputs(differing[0], Path(flags["save_inputs"]))
        click.echo(f"arguments saved to {flags['save_inputs']}", err=True)
    leave(0 if all(verdict.agrees for verdict in verdicts) else 1)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, int], None] | None]:
    """A line on a terminal: the function, the sets of arguments compared, the seconds."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("preparing")
        yield lambda doing, draws: bar.update(task, description=f"{doing}: {draws} draws compared")


def _counterexample(module: Any, pipeline: Any, differing: list[Any], flags: dict[str, Any]) -> Any:
    """The first difference on a small program, saved if asked for; None where there is none."""
    if pipeline is None or not differing or not flags["reduce"]:
        return None
    from ..check.reduce import find_counterexample, module_text

    status: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if sys.stderr.isatty():
        from rich.console import Console

        status = Console(stderr=True).status("looking for a small counterexample")
    context, seeds = pass_context_of(flags), flags["draws"]
    with status:
        found = find_counterexample(module, pipeline, differing[0], context=context, seeds=seeds)
    if found is not None and flags["save_reduced"]:
        write_output(module_text(found.reduction.module), flags["save_reduced"])
        click.echo(f"counterexample saved to {flags['save_reduced']}", err=True)
    return found


def _print(
    verdicts: list[Any], culprit: Any, small: Callable[[], Any], flags: dict[str, Any]
) -> None:
    if flags["as_json"]:
        _write_json(
            {
                "functions": [_verdict_as_object(verdict) for verdict in verdicts],
                "broken_by": None if culprit is None else str(culprit),
                "reduced": _counterexample_as_object(small()),
            }
        )
        return
    for verdict in verdicts:
        click.echo(str(verdict))
    if culprit is not None:
        click.echo(f"broken by {culprit}")
    sys.stdout.flush()  # the search for a small program takes seconds
    if (found := small()) is not None:
        click.echo(str(found))


def _verdict_as_object(verdict: Any) -> dict[str, Any]:
    return {
        "function": verdict.function,
        "agrees": verdict.agrees,
        "ran": verdict.report.ran,
        "contract": str(verdict.report.contract),
        "draws": verdict.draws + verdict.elsewhere,
        "unfinished": verdict.unfinished or None,
        "runs": verdict.report.runs,
        "reasons": verdict.report.reasons,
        "difference": str(verdict.report.difference) if verdict.report.difference else None,
    }


def _counterexample_as_object(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    from ..check.reduce import module_text

    return {
        "module": module_text(found.reduction.module),
        "ops": found.reduction.after.ops,
        "difference": str(found.verdict.report.difference),
    }


def _run_xla_bisect(module: Any, flags: dict[str, Any], stage: ChildStage) -> NoReturn:
    """Compare each function on the interpreter with itself on XLA, and leave."""
    stage.enter("while comparing XLA with the interpreter")
    from ..check.xla_bisect import verify_xla

    verdicts = verify_xla(module, seeds=flags["draws"])
    if flags["as_json"]:
        _write_json({"functions": [verdict.as_object() for verdict in verdicts]})
    else:
        for verdict in verdicts:
            click.echo(str(verdict))
    leave(0 if all(verdict.report.agrees for verdict in verdicts) else 1)


def _run_conformance(before: str | None, flags: dict[str, Any]) -> NoReturn:
    """Run the programs in `--conformance DIR`, print the table, and leave."""
    others = {"a program": before, "--contract": flags["contract"], "--bisect": flags["bisect"]}
    others |= {"--save-inputs": flags["save_inputs"], "--seconds": flags["seconds"]}
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"--conformance runs the programs of a folder: drop {given[0]}")
    stage = in_child(None, lambda saved: [])
    stage.enter("while starting")
    from rich.console import Console
    from rich.progress import track

    from ..check.conformance import program_files, run_programs
    from ..pipeline import Library, make_pipeline

    files = program_files(Path(flags["conformance"]))
    library = Library.of_files(flags["load_pass"])
    asked = chosen_pipeline(flags, default="")
    names = [asked] if asked else _CONFORMANCE_LEVELS

    def shown() -> Iterator[Path]:
        quiet = not sys.stderr.isatty()
        for file in track(files, "Running", console=Console(stderr=True), disable=quiet):
            stage.enter(f"while running {file}")
            yield file

    pipelines = {name: make_pipeline(name, library) for name in names}
    summary = run_programs(shown(), pipelines, pass_context_of(flags))
    if flags["as_json"]:
        _write_json(summary.as_object())
    else:
        click.echo(str(summary))
    leave(0 if summary.holds else 1)


def _write_json(fields: dict[str, Any]) -> None:
    write_output(json.dumps({"schema_version": 1, **fields}, indent=2) + "\n", "-")

"""`jxc verify`: whether two programs, or one before and after a pipeline, mean the same.

One verb, four checks: a program against a second module or its own result after a pipeline
(`_compare`), a program on XLA against the interpreter (`--xla-bisect`), programs with expected
outputs (`--conformance`), and replacements written in JAX (`--replacement`). All of it runs in a
child process: corrupt modules crash MLIR.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from ..display.progress import progress
from ..errors import UsageError
from ..files import input_name, read_input, write_json, write_output
from ..frontend import LowerRequest
from .options import (
    SECONDS,
    PassOptions,
    flag,
    given_lowering,
    lowering_options,
    option,
    options_of,
    read_options,
)
from .process import ChildStage, in_child, leave, leave_out_absent_hardware

_CONFORMANCE_LEVELS = ("O1", "O2")  # in addition to the programs as written
_NO = ("0", "false", "no", "off")


@dataclass(frozen=True)
class VerifyOptions(PassOptions):
    """The options of `jxc verify`, under the names of their flags."""

    contract: str | None = option(
        type=click.Choice(["exact", "reassociates"]),
        help="How far B may be from A: bit for bit (default), or by rounding.",
    )
    draws: int = option(default=3, show_default=True, help="Times to draw arguments of each kind.")
    seconds: float | None = option(
        type=SECONDS,
        metavar="N",
        help="Stop drawing arguments after N seconds; the verdict says what was not checked. The "
        "interpreter may take as long; without N, 2.5 s.",
    )
    bisect: bool = flag(help="Name the pass, and the rewrite, that breaks it.")
    xla_bisect: bool = flag(help="Compare A on XLA with the interpreter; name the XLA pass.")
    save_inputs: str | None = option(
        metavar="FILE.npz", help="Save arguments that show a difference."
    )
    conformance: str | None = option(
        metavar="DIR", help="Run programs that carry expected outputs."
    )
    replacement: str | None = option(
        metavar="FILE.py[:NAME]", help="Compare replacements with what they search for."
    )
    save_reduced: str | None = option(metavar="FILE.mlir", help="Save the small counterexample.")
    as_json: bool = flag("--json", help="Print one object.")


@click.command(short_help="Check that a rewrite keeps a program's meaning.")
@click.argument("before", metavar="[A|TARGET]", required=False)
@lowering_options
@options_of(VerifyOptions)
def verify_command(before: str | None, **flags: Any) -> None:
    """Compare module A with module B, or a program before and after a pipeline.

    The program is a module A, or the function TARGET with arguments like SPECs as `jxc lower` takes
    them. It runs on generated arguments: random values, edge values (NaN, infinities, signed zeros,
    denormals, extremes), and small integers, whose sums are exact; and on the values of
    `arguments()`, --args and files of arrays. Dynamic dimensions take several sizes. With a
    pipeline, each dimension is also tested with sizes 1 and 0, and each rewrite alone on the values
    that reach it.

    StableHLO's reference interpreter runs both programs and every bit must agree. XLA runs what the
    interpreter cannot run or has no time for; a difference by rounding is allowed there, and under
    the looser contracts of the rules that fired. Edge values come first on the interpreter.

    Exit code 0 if all that was run agrees, 1 if there is a difference or nothing could be run.
    Where a pipeline makes a difference, a small program that shows it is printed, unless
    JXC_REDUCE=0 is set.

    With --xla-bisect, A on the interpreter is compared with A on XLA. Where they differ, the XLA
    pass is named without which XLA is right.

    With --conformance, the programs in DIR run as written and at O1 and O2, or after the given
    pipeline. Exit code 1 if one is right as written and wrong after a pipeline.

    With --replacement, each function that a `@jxc.replacement` in FILE.py inserts is compared with
    the one that it searches for, and their gradients, for sizes and types of its declaration.

    \b
    jxc verify before.mlir after.mlir
    jxc verify model.py:step 'f32[8,784]' -O2
    jxc verify step.mlir -p 'simplify,my-rule' --load-pass my_rules.py --bisect
    jxc verify step.mlir --xla-bisect
    jxc verify --conformance programs/
    jxc verify --replacement my_kernels.py:attention
    """
    options = read_options(VerifyOptions, flags)
    leave_out_absent_hardware()
    if options.conformance is not None:
        _run_conformance(before, options)
    if options.replacement is not None:
        _run_replacement(before, options)
    if before is None:
        raise UsageError(
            "expected a module A, a TARGET, --conformance DIR or --replacement FILE.py; found none"
        )
    request = read_options(LowerRequest, flags, target=before)
    is_target = before.endswith(".py") or (":" in before and not Path(before).is_file())
    after = None if is_target else _second_module(request)
    _check(after, options)
    data = None if is_target else read_input(before)
    if options.xla_bisect:
        again = ["--xla-bisect"]
    else:
        again = [after] if after else options.again(options.pipeline_text(default=""))
    stage = in_child(data, lambda saved: ["verify", str(saved), *again])
    stage.enter(f"while reading {input_name(before)}")
    module, given = _lower(request) if data is None else (_read(before, data), None)
    if options.xla_bisect:
        _run_xla_bisect(module, options, stage)
    _compare(module, after, options, stage, given)


def _second_module(request: LowerRequest) -> str | None:
    """The file of module B, which stands where a function has its first SPEC."""
    if given := given_lowering(request):
        raise UsageError(
            f"{given[0]} is about lowering a function, and {request.target} is a module"
        )
    if len(request.specs) > 1:
        raise UsageError(f"expected at most two modules; found a third: {request.specs[1]}")
    return request.specs[0] if request.specs else None


def _check(after: str | None, options: VerifyOptions) -> None:
    """Refuse options that contradict each other or would have no effect."""
    if options.xla_bisect:
        _refuse(
            "--xla-bisect looks for a pass of XLA",
            {
                "a second module": after,
                "--bisect": options.bisect,
                "a pipeline": options.has_pipeline,
                "--seconds": options.seconds,
            },
        )
        return
    if (after is None) != options.has_pipeline:
        raise UsageError("give a second module, or a pipeline (-O, -p): one of the two")
    if options.bisect and after is not None:
        raise UsageError("--bisect looks for a pass: give a pipeline instead of a second module")
    if options.save_reduced:
        _refuse("--save-reduced saves what a pipeline breaks", {"a second module": after})


def _refuse(why: str, others: Mapping[str, object]) -> None:
    if given := [name for name, value in others.items() if value]:
        raise UsageError(f"{why}: drop {given[0]}")


def _read(file: str, data: bytes, context: Any = None) -> Any:
    from ..ir import make_context, read_module

    return read_module(data, context or make_context(), name=input_name(file))


def _lower(request: LowerRequest) -> tuple[Any, Any]:
    """The module, and the arguments that the file gives with their values."""
    from ..backend.lowered import lowered_from_request
    from ..check.fill import operands_of

    lowered, args, kwargs = lowered_from_request(request)
    return lowered.module, operands_of(lowered, args, kwargs)


def _compare(
    module: Any, after: str | None, options: VerifyOptions, stage: ChildStage, given: Any
) -> None:
    """Compare, print the verdicts, and leave with the exit code."""
    from ..check.bisect import blame
    from ..check.compare import Deadline
    from ..check.verify import CONTRACTS, save_inputs, verify_modules, verify_pipeline

    context, pipeline, seeds = options.context(), None, options.draws
    if after is not None:
        stage.enter(f"while reading {input_name(after)}")
        second = _read(after, read_input(after), module.context)
    else:
        pipeline = options.pipeline(default="O0")
    stage.enter("while comparing")
    with progress("preparing") as show:
        deadline = Deadline(
            options.seconds, lambda doing, draws: show(f"{doing}: {draws} draws compared")
        )
        if pipeline is not None:
            verdicts = verify_pipeline(
                module, pipeline, context=context, seeds=seeds, deadline=deadline, given=given
            )
        else:
            contract = CONTRACTS[options.contract or "exact"]
            verdicts = verify_modules(
                module, second, contract=contract, seeds=seeds, deadline=deadline
            )
    differing = [verdict for verdict in verdicts if verdict.report.difference is not None]
    broken = next((v.program for v in verdicts if v.program is not None), module)
    given = given if broken is module else None
    culprit = None
    if options.bisect and differing and pipeline is not None:
        culprit = blame(broken, pipeline, context=context, seeds=seeds, given=given)

    def find_small() -> Any:
        is_wanted = options.save_reduced or os.environ.get("JXC_REDUCE", "").lower() not in _NO
        if pipeline is None or not differing or not is_wanted:
            return None
        return _counterexample(broken, pipeline, differing[0], options)

    _print(verdicts, culprit, find_small, options.as_json)
    if options.save_inputs and differing:
        save_inputs(differing[0], Path(options.save_inputs))
        click.echo(f"arguments saved to {options.save_inputs}", err=True)
    leave(0 if all(verdict.agrees for verdict in verdicts) else 1)


def _counterexample(module: Any, pipeline: Any, differing: Any, options: VerifyOptions) -> Any:
    """The difference on a small program, saved if asked for; None if none was found."""
    from ..check.reduce import find_counterexample, module_text

    with progress("looking for a small counterexample"):
        found = find_counterexample(
            module, pipeline, differing, context=options.context(), seeds=options.draws
        )
    if found is not None and options.save_reduced:
        write_output(module_text(found.reduction.module), options.save_reduced)
        click.echo(f"counterexample saved to {options.save_reduced}", err=True)
    return found


def _print(verdicts: list[Any], culprit: Any, find_small: Callable[[], Any], as_json: bool) -> None:
    if as_json:
        from ..check.reduce import module_text

        small = find_small()
        reduced = small and {
            "module": module_text(small.reduction.module),
            "ops": small.reduction.after.ops,
            "difference": str(small.verdict.report.difference),
        }
        _write_json(
            {
                "functions": [_verdict_as_object(verdict) for verdict in verdicts],
                "broken_by": None if culprit is None else str(culprit),
                "reduced": reduced,
            }
        )
        return
    for verdict in verdicts:
        click.echo(str(verdict))
    if culprit is not None:
        click.echo(f"broken by {culprit}")
    sys.stdout.flush()  # the search for a small program takes seconds
    if (small := find_small()) is not None:
        click.echo(str(small))


def _verdict_as_object(verdict: Any) -> dict[str, Any]:
    return {
        "function": verdict.function,
        "agrees": verdict.agrees,
        "ran": verdict.report.ran,
        "contract": str(verdict.report.contract),
        "draws": verdict.draws + verdict.elsewhere,
        "unfinished": verdict.unfinished or None,
        "rewrites": verdict.rewrites[1],
        "rewrites_in_place": verdict.rewrites[0],
        "wrong_rewrite": verdict.wrong or None,
        "runs": verdict.report.runs,
        "reasons": verdict.report.reasons,
        "difference": str(verdict.report.difference) if verdict.report.difference else None,
    }


def _run_xla_bisect(module: Any, options: VerifyOptions, stage: ChildStage) -> NoReturn:
    """Compare each function on the interpreter with itself on XLA, and leave."""
    stage.enter("while comparing XLA with the interpreter")
    from ..check.xla_bisect import verify_xla

    verdicts = verify_xla(module, seeds=options.draws)
    if options.as_json:
        _write_json({"functions": [verdict.as_object() for verdict in verdicts]})
    else:
        for verdict in verdicts:
            click.echo(str(verdict))
    leave(0 if all(verdict.report.agrees for verdict in verdicts) else 1)


def _run_conformance(before: str | None, options: VerifyOptions) -> NoReturn:
    """Run the programs in `--conformance DIR`, print the table, and leave."""
    _refuse(
        "--conformance runs the programs of a folder",
        {
            "a program": before,
            "--contract": options.contract,
            "--bisect": options.bisect,
            "--save-inputs": options.save_inputs,
            "--seconds": options.seconds,
        },
    )
    stage = in_child(None, lambda saved: [])
    stage.enter("while starting")
    from ..check.conformance import program_files, run_programs
    from ..pipeline import make_pipeline

    files, library = program_files(Path(options.conformance or "")), options.library()
    chosen = options.pipeline_text(default="")
    names = [chosen] if chosen else _CONFORMANCE_LEVELS
    pipelines = {name: make_pipeline(name, library) for name in names}
    with progress() as show:

        def shown() -> Iterator[Path]:
            for number, file in enumerate(files):
                stage.enter(f"while running {file}")
                show(f"running {file}, {number} of {len(files)} done")
                yield file

        summary = run_programs(shown(), pipelines, options.context())
    if options.as_json:
        _write_json(summary.as_object())
    else:
        click.echo(str(summary))
    leave(0 if summary.holds else 1)


def _run_replacement(before: str | None, options: VerifyOptions) -> NoReturn:
    """Compare the replacements in a file with their searches, and leave."""
    others = {"a program": before, "--contract": options.contract, "--bisect": options.bisect}
    _refuse("--replacement compares the functions of a file", others)
    stage = in_child(None, lambda saved: [])
    stage.enter("while loading the replacements")
    from ..check.compare import Deadline
    from ..check.replacements import verify_replacement
    from ..patterns import Replacement
    from ..pipeline.library import import_option_file

    path, _, wanted = (options.replacement or "").partition(":")
    module = import_option_file(Path(path), "--replacement")
    found = [each for each in vars(module).values() if isinstance(each, Replacement)]
    if not found:
        raise UsageError(f"{path} has no replacement: decorate a function with @jxc.replacement")
    names = [each.name for each in found]
    if wanted and wanted.replace("_", "-") not in names:
        raise UsageError(f"{path}: no replacement {wanted!r}; it has {', '.join(names)}")
    verdicts = []
    with progress("comparing"):
        deadline = Deadline(options.seconds)
        for each in found:
            if not wanted or each.name == wanted.replace("_", "-"):
                stage.enter(f"while comparing {each.name}")
                for verdict in verify_replacement(each, seeds=options.draws, deadline=deadline):
                    verdicts.append(verdict)
                    if not options.as_json:
                        click.echo(str(verdict))
    if options.as_json:
        _write_json({"replacements": [_replacement_as_object(each) for each in verdicts]})
    leave(0 if all(each.agrees for each in verdicts) else 1)


def _replacement_as_object(verdict: Any) -> dict[str, Any]:
    return {
        "replacement": verdict.name,
        "alternative": verdict.alternative,
        "search": verdict.search,
        "arguments": verdict.arguments,
        "gradient": verdict.gradient,
        "agrees": verdict.agrees,
        "reason": verdict.reason or None,
        "verdict": verdict.verdict and _verdict_as_object(verdict.verdict),
    }


def _write_json(fields: dict[str, Any]) -> None:
    write_json({"schema_version": 1, **fields}, "-")

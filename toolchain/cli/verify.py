"""`jxc verify`: whether two modules, or a module before and after a pipeline, mean the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from . import ModuleCommand
from .opt import chosen_pipeline, pass_context_of, pipeline_options
from .verify_conformance import run_conformance
from .verify_reduce import as_object, check_reduce_options, counterexample, reduce_options
from .verify_xla import run_xla_bisect


@click.command(short_help="Check that a rewrite keeps a module's meaning.", cls=ModuleCommand)
@click.argument("before", metavar="[A]", required=False)
@click.argument("after", metavar="[B]", required=False)
@pipeline_options
@click.option(
    "--contract",
    type=click.Choice(["exact", "reassociates"]),
    help="How far B may be from A: bit for bit (default), or by rounding.",
)
@click.option("--draws", default=3, show_default=True, help="Times to draw arguments of each kind.")
@click.option("--bisect", is_flag=True, help="Name the pass, and the rewrite, that breaks it.")
@click.option("--xla-bisect", is_flag=True, help="A through plain XLA: name XLA's pass that errs.")
@click.option("--save-inputs", metavar="FILE.npz", help="Where to save arguments that show it.")
@click.option("--conformance", metavar="DIR", help="Run programs that carry expected outputs.")
@reduce_options
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def verify_command(before: str | None, after: str | None, **flags: Any) -> None:
    """Run module A and module B, or A after a pipeline, on generated arguments, and compare.

    The arguments are random, edge values (NaN, infinities, signed zeros, denormals, extremes), and
    small integers, on which sums are exact. Both run on StableHLO's reference interpreter, or
    through XLA where it cannot. Dynamic extents are drawn; with a pipeline, A with an extent made 1
    or 0 is compared too. Exit code 1 if they differ, or if nothing could be run.

    Where a pipeline makes a difference, a small program on which it does so too is printed, with
    the arguments that show it.

    With --xla-bisect, A on the interpreter is compared with A through XLA, and where they differ
    the XLA pass is named without which XLA is right.

    With --conformance, the programs in DIR run as they were written and at O1 and O2, or after the
    pipeline given. Exit code 1 if one is right as it was written and not afterwards.

    \b
    jxc verify before.mlir after.mlir
    jxc verify step.mlir -O2
    jxc verify step.mlir -p 'simplify,my-rule' --load-pass my_rules.py --bisect
    jxc verify step.mlir --xla-bisect
    jxc verify --conformance programs/
    """
    if flags["conformance"] is not None:
        run_conformance(before, flags)
        return
    if before is None:
        raise UsageError("expected a module A, or --conformance DIR; found neither")
    if flags["xla_bisect"]:
        run_xla_bisect(before, after, flags)
        return
    from ..ir import make_context, read_module
    from ..pipeline import Library, make_pipeline

    asks_passes = any(flags[name] is not None for name in ("passes", "pass_pipeline", "level"))
    if (after is None) != asks_passes:
        raise UsageError("give a second module, or a pipeline (-O, -p): one of the two")
    if flags["bisect"] and after is not None:
        raise UsageError("--bisect looks for a pass: give a pipeline instead of a second module")
    check_reduce_options(after, flags)
    context = make_context()
    modules = [
        read_module(read_input(file), context, name=input_name(file))
        for file in filter(None, [before, after])
    ]
    pipeline = None
    if after is None:
        library = Library.of_files(flags["load_pass"])
        pipeline = make_pipeline(chosen_pipeline(flags, default="O0"), library)
    verdicts = _compare(modules, pipeline, flags)
    broken = next((v.program for v in verdicts if v.program is not None), modules[0])
    culprit = _culprit(broken, pipeline, verdicts, flags)
    small = partial(counterexample, broken, pipeline, verdicts, flags)
    _print(verdicts, culprit, small, flags)
    if not all(verdict.agrees for verdict in verdicts):
        sys.exit(1)


def _compare(modules: list[Any], pipeline: Any, flags: dict[str, Any]) -> list[Any]:
    from ..check.verify import CONTRACTS, verify_modules, verify_pipeline

    if pipeline is not None:
        pass_context = pass_context_of(flags)
        return verify_pipeline(modules[0], pipeline, context=pass_context, seeds=flags["draws"])
    contract = CONTRACTS[flags["contract"] or "exact"]
    return verify_modules(*modules, contract=contract, seeds=flags["draws"])


def _culprit(module: Any, pipeline: Any, verdicts: list[Any], flags: dict[str, Any]) -> Any:
    from ..check.verify import blame

    differs = any(verdict.report.difference is not None for verdict in verdicts)
    if not (flags["bisect"] and differs):
        return None
    return blame(module, pipeline, context=pass_context_of(flags), seeds=flags["draws"])


def _print(
    verdicts: list[Any], culprit: Any, small: Callable[[], Any], flags: dict[str, Any]
) -> None:
    from ..check.verify import save_inputs

    if flags["as_json"]:
        write_output(json.dumps(_as_object(verdicts, culprit, small()), indent=2) + "\n", "-")
    else:
        for verdict in verdicts:
            click.echo(str(verdict))
        if culprit is not None:
            click.echo(f"broken by {culprit}")
        if (found := small()) is not None:
            click.echo(str(found))
    differing = [verdict for verdict in verdicts if verdict.report.difference is not None]
    if flags["save_inputs"] and differing:
        save_inputs(differing[0], Path(flags["save_inputs"]))
        click.echo(f"arguments saved to {flags['save_inputs']}", err=True)


def _as_object(verdicts: list[Any], culprit: Any, small: Any) -> dict[str, Any]:
    functions = [
        {
            "function": verdict.function,
            "agrees": verdict.agrees,
            "ran": verdict.report.ran,
            "contract": str(verdict.report.contract),
            "runs": verdict.report.runs,
            "reasons": verdict.report.reasons,
            "difference": str(verdict.report.difference) if verdict.report.difference else None,
        }
        for verdict in verdicts
    ]
    named = None if culprit is None else str(culprit)
    found = {"broken_by": named, "reduced": as_object(small)}
    return {"schema_version": 1, "functions": functions, **found}

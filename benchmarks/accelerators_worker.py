"""Compile one model for one target with two pipelines, in this process.

    python benchmarks/accelerators_worker.py MODEL --target gpu:h100 [--rules=-NAME,+NAME]

The last line of its output is a JSON object. `accelerators.py` starts one such process per model,
`sharded.py` one per model and mesh. Over a mesh of CPU devices, both programs also run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from time import perf_counter
from typing import Any

import jax
from accelerators_report import name_of
from meshes import program_of, shardings_of
from models import MODELS, Program
from worker import run_alternately

import jxc
from jxc.backend._private import shardings_of as shardings_in
from jxc.backend.lowered import Lowered, lowered_of
from jxc.backend.targets import Target, find_target
from jxc.check.deviation import compare_calls
from jxc.compiled.program import Compiled
from jxc.errors import JxcError
from jxc.frontend.lowering import lower as trace
from jxc.ir import write_bytecode
from jxc.ir.shardings import parse_mesh
from jxc.pipeline import Library, Pipeline, make_pipeline, our_passes
from jxc.rewrite import Rule, rule_pass
from jxc.tools.report.report import report
from jxc.tools.tune.estimated import estimated_seconds

MOST_ROUNDS = 50


def measured(
    name: str,
    target: Target,
    level: str,
    changes: Sequence[str],
    each: bool,
    mesh: str = "",
    seconds: float = 0.0,
) -> dict:
    """The estimates for plain and a level, or for a level without and with changed rules.

    Args:
        name: the model.
        target: the target to compile for.
        level: such as "O2".
        changes: rules to switch on, "+NAME", or off, "-NAME". If there are any, the first
            contender is the unchanged level.
        each: also compile without each applied rule, one at a time.
        mesh: the devices to lower over, such as "data=4"; one device if empty.
        seconds: for how long to time the first two contenders over a mesh of CPU devices.
    """
    program = program_of(name) if mesh else MODELS[name]()
    lowered = lowered_over(mesh, name, program) if mesh else jxc.lower(program[0], *program[1])
    lowered = lowered.for_target(target.name)
    made: dict[bytes, dict[str, Any]] = {}
    before = "O0" if not changes else level
    records = [compiled(lowered, target, changed(before, ()), made) | {"name": name_of(before, ())}]
    after = compiled(lowered, target, changed(level, changes), made)
    records.append(after | {"name": name_of(level, changes)})
    for rule in sorted(after["rules"]) if each else ():
        without = [*changes, f"-{rule}"]
        found = compiled(lowered, target, changed(level, without), made)
        records.append(found | {"name": name_of(level, without)})
    if mesh and target.kind == "cpu":
        both = (changed(before, ()), changed(level, changes))
        here = lowered_over(mesh, name, program, "cpu")
        calls = [here.opt(each).compile() for each in both]
        records[1] |= deviation(calls, program[1])
        if seconds:
            for record, spent in zip(records, times_of(calls, program[1], seconds), strict=False):
                record["run_seconds"] = spent
    return {"model": name, "target": target.name, "contenders": records}


def lowered_over(mesh: str, name: str, program: Program, here: str = "") -> Lowered:
    """A model lowered over absent devices, or over those of a platform of this machine."""
    axes, (function, args) = parse_mesh(mesh), program
    split = shardings_of(name, set(axes), program)
    options: dict[str, Any] = {"mesh": axes, "in_shardings": split, "concrete": bool(here)}
    return lowered_of(trace(function, args, platform=here or "tpu", **options))


def deviation(calls: Sequence[Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """How far the results of two executables lie apart, on the devices of this machine."""
    plain, optimised = calls
    found = compare_calls(plain, optimised, args, {})
    return {"agrees": found.agrees, "error": found.error, "sensitivity": found.sensitivity}


def times_of(calls: Sequence[Any], args: tuple[Any, ...], seconds: float) -> list[list[float]]:
    """Seconds per call of each executable, run alternately, one measurement per round."""
    by_name = {str(at): each.compiled for at, each in enumerate(calls)}
    placed = jax.device_put(args, calls[0].compiled.input_shardings[0])
    return list(run_alternately(by_name, placed, MOST_ROUNDS, seconds, Random(0)).values())


def changed(level: str, changes: Sequence[str]) -> Pipeline:
    """A level with rules switched on for every target, or removed.

    Raises:
        SystemExit: a rule does not exist.
    """
    known = {rule.name for found in our_passes() for rule in found.rules}
    if unknown := [each for each in changes if each[0] not in "+-" or each[1:] not in known]:
        raise SystemExit(f"--rules: expected +RULE or -RULE, found {unknown[0]!r}")
    passes = {
        found.name: rule_pass(found.name, found.doc, _chosen(found.rules, changes))
        for found in our_passes()
        if any(each[1:] in {rule.name for rule in found.rules} for each in changes)
    }
    return make_pipeline(level, Library(passes))


def _chosen(rules: Sequence[Rule], changes: Sequence[str]) -> list[Rule]:
    kept = [rule for rule in rules if f"-{rule.name}" not in changes]
    return [replace(rule, targets=None) if f"+{rule.name}" in changes else rule for rule in kept]


def compiled(
    lowered: Lowered, target: Target, pipeline: Pipeline, made: dict[bytes, dict[str, Any]]
) -> dict[str, Any]:
    """The metrics of one pipeline. Identical modules are compiled once."""
    start = perf_counter()
    optimised = lowered.opt(pipeline, target=target.name)
    passes = perf_counter() - start
    key = write_bytecode(optimised.module)
    if key not in made:
        made[key] = metrics(optimised, target)
    rules = optimised.report.hits if optimised.report else {}
    return made[key] | {"rules": rules, "passes_seconds": passes}


def metrics(lowered: Lowered, target: Target) -> dict[str, Any]:
    """The metrics of the executable of a module, without further passes."""
    try:
        found = report(lowered, target, "O0", with_plain=False).optimised
    except JxcError as error:  # the compiler crashed
        return {"failed": _first_line(error)}
    if not isinstance(found, Compiled):
        return {"ops": found.ops, "failed": _first_line(found.message)}
    cycles, without = estimated_cycles(found)
    arguments, results = shardings_in(found.build.hlo_proto)
    return {
        "ops": found.ops,
        "xla_seconds": found.build.seconds,
        "cycles": cycles,
        "without_estimate": without,
        "seconds": estimated_seconds(found),
        "roofline_seconds": found.roofline_seconds,
        "kernels": found.totals.launches,
        "bytes": found.totals.bytes_in + found.totals.bytes_out,
        "main_bytes": found.totals.main_bytes,
        "flops": found.totals.flops,
        "assumed_trip_counts": found.totals.assumed,
        "unknown": dict(found.totals.unknown),
        "temporaries": found.memory.temporaries,
        "peak": found.memory.peak,
        "collectives": sum(each.times for each in found.collectives),
        "collective_bytes": sum(each.payload * each.times for each in found.collectives),
        "arguments": arguments,
        "results": results,
    }


def estimated_cycles(found: Compiled) -> tuple[float, dict[str, float]]:
    """The estimated cycles of a run, and the number of runs of each opcode without an estimate.

    Asynchronous kernels (copies to and from on-chip memory) are in neither.
    """
    cycles, without = 0.0, Counter[str]()
    for kernel in found.kernels:
        if kernel.cycles is not None:
            cycles += kernel.cycles * kernel.times
        elif not kernel.is_asynchronous:
            without[kernel.instruction.opcode] += kernel.times
    return cycles, dict(without)


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--target", required=True)
    parser.add_argument("--mesh", default="")
    parser.add_argument("--level", default="O2")
    parser.add_argument("--rules", default="")
    parser.add_argument("--each-rule", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.0)
    given = parser.parse_args()
    changes = [each for each in given.rules.split(",") if each]
    try:
        target = find_target(given.target)
        records = measured(
            given.model,
            target,
            given.level,
            changes,
            given.each_rule,
            given.mesh,
            given.seconds,
        )
    except ImportError as error:
        lines = str(error).strip().splitlines()
        about = {"model": given.model, "target": given.target}
        records = about | {"skipped": f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]}
    print(json.dumps(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())

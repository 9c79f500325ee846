"""One model for one target, in a process of its own: what its compiler makes of two pipelines.

    python benchmarks/accelerators_worker.py MODEL --target gpu:h100 [--rules=-NAME,+NAME]

Prints one JSON object on its last line. `accelerators.py` starts it, again and again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from accelerators_report import name_of
from models import MODELS

import jxc
from jxc.backend.lowered import Lowered
from jxc.backend.targets import Target, find_target
from jxc.errors import JxcError
from jxc.ir import write_bytecode
from jxc.pipeline import Library, Pipeline, make_pipeline, our_passes
from jxc.rewrite import Rule, rule_pass
from jxc.tools.report.report import Compiled, report


def measured(name: str, target: Target, level: str, changes: Sequence[str], each: bool) -> dict:
    """What a model becomes before and after: plain and the level, or the level and changed rules.

    Args:
        name: the model's.
        target: what for.
        level: such as "O2".
        changes: rules to switch on, "+NAME", or off, "-NAME"; with any, the level is what is
            compared with.
        each: compare the level also with itself without each rule that fired, in turn.
    """
    function, args = MODELS[name]()
    lowered = jxc.lower(function, *args).for_target(target.name)
    made: dict[bytes, dict[str, Any]] = {}
    before = "O0" if not changes else level
    told = [compiled(lowered, target, changed(before, ()), made) | {"name": name_of(before, ())}]
    after = compiled(lowered, target, changed(level, changes), made)
    told.append(after | {"name": name_of(level, changes)})
    for rule in sorted(after["rules"]) if each else ():
        without = [*changes, f"-{rule}"]
        found = compiled(lowered, target, changed(level, without), made)
        told.append(found | {"name": name_of(level, without)})
    return {"model": name, "target": target.name, "contenders": told}


def changed(level: str, changes: Sequence[str]) -> Pipeline:
    """A level with rules switched on, whatever targets they are for, or left out.

    Raises:
        SystemExit: there is no such rule.
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
    """The figures of one pipeline; modules that are alike are compiled once."""
    start = perf_counter()
    optimised = lowered.opt(pipeline, target=target.name)
    passes = perf_counter() - start
    key = write_bytecode(optimised.module)
    if key not in made:
        made[key] = figures(optimised, target)
    rules = optimised.report.hits if optimised.report else {}
    return made[key] | {"rules": rules, "passes_seconds": passes}


def figures(lowered: Lowered, target: Target) -> dict[str, Any]:
    """What the compiler made of a module as it stands."""
    try:
        found = report(lowered, target, "O0", with_plain=False).optimised
    except JxcError as error:  # the compiler died
        return {"failed": _first_line(error)}
    if not isinstance(found, Compiled):
        return {"ops": found.ops, "failed": _first_line(found.message)}
    cycles, without = estimated_cycles(found)
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
    }


def estimated_cycles(found: Compiled) -> tuple[float, dict[str, float]]:
    """The compiler's cycles of a run, and what runs without an estimate, by opcode and how often.

    What runs beside other kernels (copies to and from memory on the chip) is in neither.
    """
    cycles, without = 0.0, Counter[str]()
    for kernel in found.kernels:
        if kernel.cycles is not None:
            cycles += kernel.cycles * kernel.times
        elif not kernel.is_asynchronous:
            without[kernel.instruction.opcode] += kernel.times
    return cycles, dict(without)


def estimated_seconds(found: Compiled) -> float:
    """The seconds of a run: the compiler's estimate, and the least time of what it has none for.

    Where the compiler estimates nothing, as on GPU, that is the roofline, launches included.
    """
    device = found.build.target.device
    if found.estimated_seconds is None:
        return found.roofline_seconds
    return sum(
        kernel.times * (kernel.compiler_seconds(device) or kernel.roofline(device).seconds)
        for kernel in found.kernels
        if kernel.cycles is not None or not kernel.is_asynchronous
    )


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--target", required=True)
    parser.add_argument("--level", default="O2")
    parser.add_argument("--rules", default="")
    parser.add_argument("--each-rule", action="store_true")
    given = parser.parse_args()
    changes = [each for each in given.rules.split(",") if each]
    try:
        target = find_target(given.target)
        told = measured(given.model, target, given.level, changes, given.each_rule)
    except ImportError as error:
        lines = str(error).strip().splitlines()
        about = {"model": given.model, "target": given.target}
        told = about | {"skipped": f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())

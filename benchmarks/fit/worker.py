"""Measure variants of one program in this process; a JSON line for each.

    python -m fit.worker PROGRAM VARIANT[,VARIANT ...] --target tpu:v5e [--budget BYTES]

For absent hardware the target's compiler gives the numbers. On the CPU the variants also run, in
alternation. `run.py` starts such processes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

import jax
import numpy as np

import jxc
from fit.programs import PROGRAMS, Program
from fit.registry import values_of
from jxc.backend.targets import Target, find_target
from jxc.backend.timing import interleave
from jxc.compiled.memory import peak_bytes
from jxc.compiled.program import Refused, compile_lowered, read_optimised
from jxc.errors import JxcError
from jxc.units import show_bytes

FITTED = "fitted"
"""The name of the variant that jxc plans for all memory; on the CPU, for half of plain's peak."""

EQUAL = "fitted:equal"
"""The variant that jxc plans for the memory of the fastest variant by hand that fits."""

ROUNDS = 9


def fitted(step: Callable[..., Any], args: Sequence[Any], target: Target, budget: int) -> Any:
    """What `jxc.fit` finds for the plain step and a memory budget in bytes.

    No other passes run, as the variants are compiled without passes too. On the CPU it runs the
    versions that fit, and chooses by their times.

    Raises:
        JxcError: no plan fits.
    """
    options = {"pipeline": "O0", "seconds": 900, "measure": target.kind == "cpu"}
    found = jxc.fit(step, *args, target=target.name, max_memory=budget, **options)
    if not found.fits:
        raise JxcError(f"no plan fits: the least is {show_bytes(found.smallest.needed)}")
    return found


def planned(step: Callable[..., Any], args: Sequence[Any], target: Target, budget: int) -> Any:
    """The plain step under the plan that `jxc.fit` finds."""
    found = fitted(step, args, target, budget)
    if found.plan is None:
        return step
    path = Path(mkdtemp()) / "plan.toml"
    found.save(path)
    return jxc.jit(step, pipeline=str(path), strict=True)


def search_record(step: Any, args: Any, target: Target, budget: int) -> dict[str, Any]:
    """The record of the plan on absent hardware, as the search measured it."""
    start = perf_counter()
    found = fitted(step, args, target, budget)
    assert found.chosen is not None
    return {
        "budget": budget,
        "peak": found.chosen.needed,
        "fits": True,
        "seconds": found.chosen.seconds,
        "compile_seconds": found.chosen.compile_seconds,
        "compilations": 1 + len(found.trials),
        "search_seconds": perf_counter() - start,
        "checked": found.checked,
        "found": found.as_json(),
    }


def fastest_by_hand(records: Mapping[str, Mapping[str, Any]], most: int) -> str | None:
    """The fastest variant by hand that needs at most so many bytes; None if there is none.

    Args:
        records: of one program by variant; those without a peak or a time do not count.
        most: bytes.
    """
    fit = [
        name
        for name, each in records.items()
        if name not in (FITTED, EQUAL) and "seconds" in each and each["peak"] <= most
    ]
    return min(fit, key=lambda name: records[name]["seconds"], default=None)


def reason(error: Exception) -> dict[str, Any]:
    """The record of a variant that cannot be made."""
    return {"failed": str(error).strip().splitlines()[0][:300]}


def step_of(program: Program, variant: str, target: Target, budget: int) -> tuple[Any, Any]:
    """The training step of a variant for a target, and the shapes of its arguments."""
    sizes = program.sizes(0 if target.kind == "cpu" else target.device.memory_bytes)
    is_planned = variant in (FITTED, EQUAL)
    step, args = program.step("plain" if is_planned else variant, sizes)
    return (planned(step, args, target, budget) if is_planned else step), args


def estimated(program: Program, variant: str, target: Target, budget: int) -> dict[str, Any]:
    """What the target's compiler says: bytes at the peak, and seconds of the step if it fits."""
    start = perf_counter()
    if variant in (FITTED, EQUAL):
        return search_record(*step_of(program, "plain", target, budget), target, budget)
    step, args = step_of(program, variant, target, budget)
    lowered = jxc.lower(step, *args).for_target(target.name)
    traced = perf_counter()
    found = compile_lowered(lowered, target, "O0")
    record = {"trace_seconds": traced - start, "compile_seconds": perf_counter() - traced}
    if isinstance(found, Refused):
        if found.fit is None:
            return record | {"failed": found.message.strip().splitlines()[0][:300]}
        return record | {"peak": found.fit.needed, "fits": False, "refused": True}
    peak = found.memory.needed
    record |= {"peak": peak, "fits": peak <= target.device.memory_bytes}
    return record | {"arguments": found.memory.arguments, "seconds": found.step.seconds}


def measured(
    program: Program, variants: Sequence[str], target: Target, budget: int
) -> dict[str, dict[str, Any]]:
    """The peak and the time of each variant on this machine, and how far its results lie apart.

    Without a budget, it is half of plain's peak; plain is the first variant. `EQUAL` comes after
    the variants by hand.
    *error* is the largest difference of a result from plain's, relative to the largest value of
    that result. Dropout over parts of a batch draws other numbers.
    """
    records: dict[str, dict[str, Any]] = {}
    calls: dict[str, Callable[[], Any]] = {}
    for variant in variants:
        given = _equal_budget(records, calls, budget) if variant == EQUAL else budget
        try:
            step, args = step_of(program, variant, target, given)
        except JxcError as error:
            records[variant] = reason(error)
            continue
        start = perf_counter()
        jitted = step if hasattr(step, "lower") else jax.jit(step)
        made = jitted.lower(*args).compile()
        memory = made.memory_analysis()
        sizes = [getattr(memory, f"{name}_size_in_bytes") for name in ("argument", "output")]
        peak = peak_bytes(*sizes, memory.temp_size_in_bytes, memory.alias_size_in_bytes)
        budget = budget or peak // 2
        record = {"peak": peak, "arguments": sizes[0], "compile_seconds": perf_counter() - start}
        record |= {"budget": given, "fits": peak <= budget}
        scratch = read_optimised(made.as_text(), target).scratch_bytes
        records[variant] = record | {"temporaries": memory.temp_size_in_bytes, "scratch": scratch}
        calls[variant] = partial(made, *jax.device_put(values_of(args)))
    first = next(iter(calls.values()))()
    for variant, call in calls.items():
        records[variant]["error"] = _distance(first, call())
    for variant, spent in interleave(calls, ROUNDS).items():
        records[variant]["seconds"] = statistics.median(spent)
    return records


def _equal_budget(
    records: dict[str, dict[str, Any]], calls: dict[str, Callable[[], Any]], budget: int
) -> int:
    """What `jxc.fit` counts of the fastest variant by hand within the budget, with what libraries
    take; the budget if there is none."""
    spent = interleave(calls, ROUNDS)
    timed = {name: records[name] | {"seconds": statistics.median(spent[name])} for name in calls}
    fastest = fastest_by_hand(timed, budget)
    return int(timed[fastest]["peak"] + timed[fastest]["scratch"]) if fastest else budget


def _distance(one: Any, other: Any) -> float:
    """The largest relative difference of two pytrees of arrays."""

    def of(a: Any, b: Any) -> float:
        scale = float(np.abs(a).max(initial=0.0)) or 1.0
        return float(np.abs(a - b).max(initial=0.0)) / scale

    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(of(np.asarray(a), np.asarray(b)) for a, b in pairs if a.dtype.kind == "f")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", choices=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("variants", metavar="VARIANT[,VARIANT ...]")
    parser.add_argument("--target", required=True)
    parser.add_argument("--budget", type=int, default=0, help="bytes for the fitted plan")
    given = parser.parse_args()
    program, target = PROGRAMS[given.program], find_target(given.target)
    variants = given.variants.split(",")
    if target.kind == "cpu":
        for variant, record in measured(program, variants, target, given.budget).items():
            print(json.dumps({"variant": variant} | record), flush=True)
        return 0
    for variant in variants:
        try:
            budget = given.budget or target.device.memory_bytes
            record = estimated(program, variant, target, budget)
        except JxcError as error:
            record = reason(error)
        print(json.dumps({"variant": variant} | record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

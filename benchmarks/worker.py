"""Measure one model in this process: compile it with each contender, compare, and time it.

    python benchmarks/worker.py MODEL --contenders plain,O1,O2,enzyme [--rotation N] [--seconds S]

The last line of its output is a JSON object. `run.py` starts one such process per model and round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import jax
from compiling import compile_program
from jax.experimental.compilation_cache import compilation_cache
from models import MODELS, Program

from jxc.check.deviation import compare_calls

CACHE = Path(__file__).parent.parent / "build" / "bench-cache"
COMPILE_ROUNDS, COMPILE_SECONDS = 3, 4.0
LEAST_ROUNDS, ROUND_SECONDS = 5, 0.02


def build(name: str) -> Program:
    """Build a model. A persistent cache serves only the small programs that draw random weights."""
    settings = {
        "jax_compilation_cache_dir": str(CACHE),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for setting, value in settings.items():
        jax.config.update(setting, value)
    function, args = MODELS[name]()
    args = jax.block_until_ready(jax.device_put(args))
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    return function, args


def measured(name: str, contenders: list[str], rotation: int, rounds: int, seconds: float) -> dict:
    """The record of this process: all measurements of a model, per contender."""
    function, args = build(name)
    compile_alternately(
        contenders, rotation, lambda x: x + 1, (1.0,)
    )  # warm-up: imports, first use of XLA
    calls, records = compile_alternately(contenders, rotation, function, args)
    for contender in calls.keys() - {"plain"}:
        found = compare_calls(calls["plain"], calls[contender], args, {})
        records[contender] |= {"error": found.error, "sensitivity": found.sensitivity}
        records[contender]["agrees"] = found.agrees
    order = random.Random(rotation)
    for contender, spent in run_alternately(calls, args, rounds, seconds, order).items():
        records[contender]["seconds"] = spent
    return {"model": name, "contenders": records}


def compile_alternately(
    contenders: list[str], rotation: int, function: Any, args: tuple[Any, ...]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Compile with each contender. Return the executables and the compile times per round.

    There are at most `COMPILE_ROUNDS` rounds, and none begins after `COMPILE_SECONDS`.

    Raises:
        Exception: plain `jax.jit` cannot compile the function.
    """
    calls: dict[str, Any] = {}
    records: dict[str, dict[str, Any]] = {contender: {} for contender in contenders}
    start = perf_counter()
    for count in range(COMPILE_ROUNDS):
        if count and perf_counter() - start > COMPILE_SECONDS:
            break
        for contender in _rotated(contenders, rotation + count):
            if "failed" not in records[contender]:
                call = _compiled(contender, function, args, records[contender])
                calls |= {contender: call} if call else {}
    return {name: call for name, call in calls.items() if "failed" not in records[name]}, records


def _compiled(contender: str, function: Any, args: tuple[Any, ...], records: dict[str, Any]) -> Any:
    """The executable, or None if the contender fails. Adds the measurements to `records`."""
    try:
        compiled = compile_program(contender, function, args)
    except Exception as error:
        if contender == "plain":
            raise
        records["failed"] = _reason(error)
        return None
    records |= {name: getattr(compiled, name) for name in ("ops", "temporaries", "rules")}
    for name in ("lower", "passes", "xla"):
        records.setdefault(name, []).append(getattr(compiled, name))
    if compiled.choice:
        records["choice"] = compiled.choice
        records.setdefault("tuning", compiled.tuning)
    return compiled.call


def _rotated(items: list[str], rotation: int) -> list[str]:
    rotation %= len(items)
    return items[rotation:] + items[:rotation]


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def run_alternately(
    calls: dict[str, Any],
    args: tuple[Any, ...],
    rounds: int,
    seconds: float,
    order: random.Random,
) -> dict[str, list[float]]:
    """Seconds per call of each executable, one measurement per round.

    Each round runs all executables in a new order, each repeatedly for about `ROUND_SECONDS`.

    Args:
        calls: the executables by name.
        args: their arguments.
        rounds: the maximum number of rounds.
        seconds: no round begins after this time, except for the first `LEAST_ROUNDS`.
        order: draws the order of each round.
    """
    for call in calls.values():
        _seconds(call, args, 1)
    once = {name: _seconds(call, args, 1) for name, call in calls.items()}
    repeats = {name: max(1, int(ROUND_SECONDS / spent)) for name, spent in once.items()}
    spent: dict[str, list[float]] = {name: [] for name in calls}
    start = perf_counter()
    for count in range(rounds):
        if count >= LEAST_ROUNDS and perf_counter() - start > seconds:
            break
        for name in order.sample(list(calls), len(calls)):
            spent[name].append(_seconds(calls[name], args, repeats[name]))
    return spent


def _seconds(call: Any, args: tuple[Any, ...], times: int) -> float:
    start = perf_counter()
    for _ in range(times):
        result = call(*args)
    jax.block_until_ready(result)
    return (perf_counter() - start) / times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=list(MODELS), metavar="MODEL")
    parser.add_argument("--contenders", default="plain,O1,O2")
    parser.add_argument(
        "--rotation", type=int, default=0, help="index of the contender that runs first"
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=8.0, help="approximate run time")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["JXC_CACHE_DIR"] = folder  # each process tunes O3 anew
        print(json.dumps(records_of(given)))
    return 0


def records_of(given: argparse.Namespace) -> dict:
    """The record of a command line; the reason if a package of the model is missing."""
    contenders = given.contenders.split(",")
    try:
        return measured(given.model, contenders, given.rotation, given.rounds, given.seconds)
    except ImportError as error:
        return {"model": given.model, "skipped": _reason(error)}


if __name__ == "__main__":
    sys.exit(main())

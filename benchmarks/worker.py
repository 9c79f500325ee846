"""One model in a process of its own: compiled by each contender, compared, and run in turn.

    python benchmarks/worker.py MODEL --contenders plain,O1,O2,enzyme [--turn N] [--seconds S]

Prints one JSON object on its last line. `run.py` starts it, again and again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
from compiling import compile_program
from jax.experimental.compilation_cache import compilation_cache
from models import MODELS, Program

from jxc.check.sensitivity import compare

CACHE = Path(__file__).parent.parent / "build" / "bench-cache"
COMPILE_ROUNDS, COMPILE_SECONDS = 3, 4.0
LEAST_ROUNDS, TURN_SECONDS = 5, 0.02


def build(name: str) -> Program:
    """A model, its many small programs of random weights from a cache that is off afterwards."""
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


def measured(name: str, contenders: list[str], turn: int, rounds: int, seconds: float) -> dict:
    """Everything that this process can tell about a model, for each contender."""
    function, args = build(name)
    compile_in_turn(contenders, turn, lambda x: x + 1, (1.0,))  # imports, XLA's own first steps
    calls, told = compile_in_turn(contenders, turn, function, args)
    for contender in calls.keys() - {"plain"}:
        found = compare(calls["plain"], calls[contender], args, {})
        told[contender] |= {"error": found.error, "sensitivity": found.sensitivity}
        told[contender]["agrees"] = found.agrees
    order = random.Random(turn)
    for contender, spent in run_in_turn(calls, args, rounds, seconds, order).items():
        told[contender]["seconds"] = spent
    return {"model": name, "contenders": told}


def compile_in_turn(
    contenders: list[str], turn: int, function: Any, args: tuple[Any, ...]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Each contender's executable, and what compiling took, a figure a round.

    There are up to `COMPILE_ROUNDS`; none begins after `COMPILE_SECONDS`.

    Raises:
        Exception: plain `jax.jit` cannot compile the function.
    """
    calls: dict[str, Any] = {}
    told: dict[str, dict[str, Any]] = {contender: {} for contender in contenders}
    start = perf_counter()
    for count in range(COMPILE_ROUNDS):
        if count and perf_counter() - start > COMPILE_SECONDS:
            break
        for contender in _turned(contenders, turn + count):
            if "failed" not in told[contender]:
                call = _compiled(contender, function, args, told[contender])
                calls |= {contender: call} if call else {}
    return {name: call for name, call in calls.items() if "failed" not in told[name]}, told


def _compiled(contender: str, function: Any, args: tuple[Any, ...], told: dict[str, Any]) -> Any:
    """The executable, its figures added to what was told; None where the contender fails."""
    try:
        compiled = compile_program(contender, function, args)
    except Exception as error:
        if contender == "plain":
            raise
        told["failed"] = _reason(error)
        return None
    told |= {name: getattr(compiled, name) for name in ("ops", "temporaries", "rules")}
    for name in ("lower", "passes", "xla"):
        told.setdefault(name, []).append(getattr(compiled, name))
    return compiled.call


def _turned(items: list[str], turn: int) -> list[str]:
    turn %= len(items)
    return items[turn:] + items[:turn]


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def run_in_turn(
    calls: dict[str, Any],
    args: tuple[Any, ...],
    rounds: int,
    seconds: float,
    order: random.Random,
) -> dict[str, list[float]]:
    """Seconds a call of each, one figure a round.

    Each round runs all of them, in another order, and each as often as takes `TURN_SECONDS`.

    Args:
        calls: executables by name.
        args: what to call them with.
        rounds: how many rounds at most.
        seconds: after how long no further round is begun, once there were `LEAST_ROUNDS`.
        order: draws the order of each round.
    """
    for call in calls.values():
        _seconds(call, args, 1)
    once = {name: _seconds(call, args, 1) for name, call in calls.items()}
    repeats = {name: max(1, int(TURN_SECONDS / spent)) for name, spent in once.items()}
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
    parser.add_argument("--turn", type=int, default=0, help="which contender is the first")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=8.0, help="of running, about")
    given = parser.parse_args()
    contenders = given.contenders.split(",")
    try:
        told = measured(given.model, contenders, given.turn, given.rounds, given.seconds)
    except ImportError as error:
        told = {"model": given.model, "skipped": _reason(error)}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Time MobileNetV2 of Keras through jxc and through plain jax.jit.

Random weights, 160x160 images, batch 8, on this machine's CPU. Both programs run in this process in
interleaved rounds. Other processes only make rounds longer, so the fastest round of each program
counts, and there are more rounds until the fastest ones have settled.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import jax
import keras
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import jxc
from jxc.backend.timing import show_milliseconds, timing_rounds
from jxc.check.deviation import Deviation, compare_calls
from jxc.ir import count_ops

BATCH, SIZE = 8, 160
ROUNDS, SECONDS = 12, 60.0  # the fewest rounds, and when no more begin
SETTLED = 0.02  # the change of both fastest times in the last half of the rounds, relative


def forward_pass() -> tuple[Any, tuple[Any, ...]]:
    """The network as a function of its weights and images, and arguments for it.

    The last softmax is left out: with random weights, it makes every class 0.001.
    """
    model = keras.applications.MobileNetV2(
        weights=None, input_shape=(SIZE, SIZE, 3), classifier_activation=None
    )
    weights = [v.value for v in model.trainable_variables]
    state = [v.value for v in model.non_trainable_variables]

    def forward(weights: Any, state: Any, images: Any) -> Any:
        outputs, _ = model.stateless_call(weights, state, images, training=False)
        return outputs

    images = np.random.default_rng(0).standard_normal((BATCH, SIZE, SIZE, 3), np.float32)
    return forward, (weights, state, jax.numpy.asarray(images))


def timed(call: Any) -> tuple[Any, float]:
    start = perf_counter()
    return call(), perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="fewest interleaved rounds")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="limit of more rounds on a busy machine"
    )
    parser.add_argument(
        "--least", type=float, default=0.0, help="exit code 1 if the ratio is below this"
    )
    options = parser.parse_args()
    console = Console(highlight=False)
    console.print(
        f"keras {keras.__version__} MobileNetV2, batch {BATCH}, {SIZE}x{SIZE}, f32, "
        f"jax {jax.__version__}, {os.cpu_count()} cores"
    )

    forward, args = forward_pass()
    lowered, lower_seconds = timed(lambda: jxc.lower(forward, *args))
    optimised, pass_seconds = timed(lambda: lowered.opt("O2"))
    ours, our_xla_seconds = timed(optimised.compile)
    plain, plain_xla_seconds = timed(lambda: jax.jit(forward).lower(*args).compile())

    difference = compare_calls(plain, ours, args, {})
    calls = {"plain": lambda: plain(*args), "jxc": lambda: ours(*args)}
    seconds = settled_rounds(calls, options.rounds, options.seconds)
    speedup = min(seconds["plain"]) / min(seconds["jxc"])

    table = Table("", "jax.jit", "jxc -O2", box=box.SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    table.add_row("ops", str(count_ops(lowered.module)), str(count_ops(optimised.module)))
    table.add_row("trace and lower", "", f"{lower_seconds:.2f} s")
    table.add_row("passes", "-", f"{pass_seconds:.2f} s")
    table.add_row("XLA compile", f"{plain_xla_seconds:.2f} s", f"{our_xla_seconds:.2f} s")
    table.add_row("run, fastest", *(f"{min(each) * 1e3:.4g} ms" for each in seconds.values()))
    table.add_row("run, median (quartiles)", *map(show_milliseconds, seconds.values()))
    console.print(table)
    console.print("rewrites: " + (rewrites(optimised) or "none fired"))
    console.print(verdict(difference))
    console.print(
        f"[bold]jxc runs {speedup:.2f} times as fast as jax.jit[/bold] "
        f"(ratio of the fastest of {len(seconds['plain'])} interleaved rounds)"
    )
    return 0 if difference.agrees and speedup >= options.least else 1


def settled_rounds(
    calls: Mapping[str, Callable[[], object]], fewest: int, limit: float
) -> dict[str, list[float]]:
    """Seconds of each program in interleaved rounds, until its fastest one has settled.

    Args:
        calls: by name.
        fewest: number of rounds.
        limit: seconds after which no round begins, apart from the fewest.
    """
    start = perf_counter()
    found: dict[str, list[float]] = {name: [] for name in calls}
    for number, timed in enumerate(timing_rounds(calls), 1):
        for name, seconds in timed.items():
            found[name].append(seconds)
        is_late = perf_counter() - start > limit
        if number >= fewest and (is_late or all(map(has_settled, found.values()))):
            break
    return found


def has_settled(seconds: list[float]) -> bool:
    """Whether the fastest round of the first half is as fast as that of all."""
    return min(seconds[: len(seconds) // 2]) <= (1 + SETTLED) * min(seconds)


def rewrites(optimised: jxc.Lowered) -> str:
    hits = optimised.report.hits if optimised.report else {}
    return ", ".join(f"{name} {count}" for name, count in sorted(hits.items(), key=by_count))


def by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def verdict(difference: Deviation) -> str:
    word = "agree" if difference.agrees else "[bold red]DIFFER[/bold red]"
    return (
        f"results {word}: {difference.error:.1e} relative at most; plain jax.jit itself moves by "
        f"{difference.sensitivity:.1e} when its inputs change by one ulp"
    )


if __name__ == "__main__":
    sys.exit(main())

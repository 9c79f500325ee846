"""Time MobileNetV2 of Keras through jxc and through plain jax.jit.

Random weights, 160x160 images, batch 8, on this machine's CPU. Both programs run in this process in
interleaved rounds; `jxc.backend.timing` says how the numbers are estimated.
"""

from __future__ import annotations

import argparse
import os
import sys
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
from jxc.backend.timing import TimeRatio, interleave, show_milliseconds, time_ratio
from jxc.check.deviation import Deviation, compare_calls
from jxc.ir import count_ops

BATCH, SIZE, ROUNDS = 8, 160, 20


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
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of interleaved rounds")
    parser.add_argument(
        "--least",
        type=float,
        default=0.0,
        help="exit code 1 if the ratio is below this, by its interval",
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
    seconds = interleave(calls, options.rounds)
    speedup = time_ratio(seconds["plain"], seconds["jxc"])

    table = Table("", "jax.jit", "jxc -O2", box=box.SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    table.add_row("ops", str(count_ops(lowered.module)), str(count_ops(optimised.module)))
    table.add_row("trace and lower", "", f"{lower_seconds:.2f} s")
    table.add_row("passes", "-", f"{pass_seconds:.2f} s")
    table.add_row("XLA compile", f"{plain_xla_seconds:.2f} s", f"{our_xla_seconds:.2f} s")
    table.add_row("run, median", *map(show_milliseconds, seconds.values()))
    console.print(table)
    console.print("rewrites: " + (rewrites(optimised) or "none fired"))
    console.print(verdict(difference))
    console.print(f"[bold]{comparison(speedup)}[/bold] ({options.rounds} interleaved rounds)")
    return 0 if difference.agrees and speedup.high >= options.least else 1


def comparison(speedup: TimeRatio) -> str:
    interval = f"{speedup.low:.2f} to {speedup.high:.2f}"
    if speedup.is_undecided:
        return f"too noisy to tell which is faster, 95 % interval {interval}: use an idle machine"
    if speedup.is_wide:
        return f"jxc runs {interval} times as fast as jax.jit: too noisy for one number"
    return f"jxc runs {speedup.ratio:.2f} times as fast as jax.jit, 95 % interval {interval}"


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

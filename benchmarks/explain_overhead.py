"""What `jxc explain` costs a program that compiles nothing new, and one that does.

    python benchmarks/explain_overhead.py [--json]

Each case runs with a recording open and without, in turn; what is printed is the median of the
ratios of neighbouring rounds, and how far the middle half of them lies apart. The rounds without
are measured against each other in the same way: what differs there is noise. It is processor time
that is measured, of all threads, so that other programs on the machine matter little.

- a step under `jax.jit`: the C++ path;
- the same under `jax.grad`, outside of jit: JAX's Python path at each call;
- operations outside of jit;
- functions that are new each time: tracing, lowering and XLA, recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
from collections.abc import Callable
from time import process_time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

import jxc

ROUNDS = 41
CALLS = {"jit": 4000, "grad": 40, "eager": 1000, "compile": 1}


def cases() -> dict[str, Callable[[], object]]:
    """What is called, by name; nothing in it is compiled anew but in "compile"."""
    x = jnp.linspace(0.0, 1.0, 64)
    weight = jnp.eye(64)

    @jax.jit
    def step(weight, x):
        return jnp.tanh(weight @ x).sum()

    gradient = jax.grad(step)

    def eager():
        return jnp.sin(x) * 2 + x

    def compile_anew():
        return jax.jit(lambda weight: jnp.tanh(weight @ x).sum())(weight)

    return {
        "jit": lambda: step(weight, x),
        "grad": lambda: gradient(weight, x),
        "eager": eager,
        "compile": compile_anew,
    }


def seconds(call: Callable[[], object], times: int, *, recorded: bool) -> float:
    """Of so many calls, one warm-up left out."""
    context = jxc.explain() if recorded else contextlib.nullcontext()
    with context:
        call()
        start = process_time()
        for _ in range(times):
            result = call()
        jax.block_until_ready(result)
        return process_time() - start


def ratios(call: Callable[[], object], times: int, rounds: int) -> dict[str, list[float]]:
    """Recorded over plain, and plain over plain, for each round."""
    found: dict[str, list[float]] = {"recorded": [], "noise": []}
    for round_ in range(rounds):
        order = ("plain", "recorded", "again") if round_ % 2 else ("again", "recorded", "plain")
        took = {name: seconds(call, times, recorded=name == "recorded") for name in order}
        base = (took["plain"] + took["again"]) / 2
        found["recorded"].append(took["recorded"] / base)
        found["noise"].append(took["plain"] / took["again"])
    return found


def summary(values: list[float]) -> dict[str, float]:
    """The median, and the quartiles around it."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": middle, "low": low, "high": high}


def main() -> None:
    parser = argparse.ArgumentParser(description="What `jxc explain` costs.")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each case")
    options = parser.parse_args()
    figures = {}
    for name, call in cases().items():
        measured = ratios(call, CALLS[name], options.rounds)
        figures[name] = {kind: summary(values) for kind, values in measured.items()}
    if options.json:
        print(json.dumps({"schema_version": 1, "rounds": options.rounds, "ratios": figures}))
        return
    for name, kinds in figures.items():
        words = [
            f"{kind} {s['median']:.3f} ({s['low']:.3f}-{s['high']:.3f})"
            for kind, s in kinds.items()
        ]
        print(f"{name:8}  {'   '.join(words)}")


if __name__ == "__main__":
    main()

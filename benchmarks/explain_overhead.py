"""The overhead of `jxc explain`, for programs that compile nothing new and for one that does.

    python benchmarks/explain_overhead.py [--json]

Each case alternates between a recorded and an unrecorded run. The script prints the median ratio of
adjacent rounds and its interquartile range. It compares the unrecorded runs with each other in the
same way, which shows the noise. It measures processor time of all threads, so that other programs
on the machine have little influence.

- jit: a step under `jax.jit`, dispatched in C++;
- grad: the same step under `jax.grad` outside of jit, dispatched in Python at each call;
- eager: operations outside of jit;
- compile: a new function each time, so that tracing, lowering and XLA run and are recorded.
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
    """The functions to call, by name. Only "compile" compiles at each call."""
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
    """Processor seconds of `times` calls, after one warm-up call."""
    context = jxc.explain() if recorded else contextlib.nullcontext()
    with context:
        call()
        start = process_time()
        for _ in range(times):
            result = call()
        jax.block_until_ready(result)
        return process_time() - start


def ratios(call: Callable[[], object], times: int, rounds: int) -> dict[str, list[float]]:
    """The ratios of recorded to plain time and of plain to plain time, per round."""
    found: dict[str, list[float]] = {"recorded": [], "noise": []}
    for round_ in range(rounds):
        order = ("plain", "recorded", "again") if round_ % 2 else ("again", "recorded", "plain")
        took = {name: seconds(call, times, recorded=name == "recorded") for name in order}
        base = (took["plain"] + took["again"]) / 2
        found["recorded"].append(took["recorded"] / base)
        found["noise"].append(took["plain"] / took["again"])
    return found


def summary(values: list[float]) -> dict[str, float]:
    """The median and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": middle, "low": low, "high": high}


def main() -> None:
    parser = argparse.ArgumentParser(description="The overhead of `jxc explain`.")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each case")
    options = parser.parse_args()
    metrics = {}
    for name, call in cases().items():
        measured = ratios(call, CALLS[name], options.rounds)
        metrics[name] = {kind: summary(values) for kind, values in measured.items()}
    if options.json:
        print(json.dumps({"schema_version": 1, "rounds": options.rounds, "ratios": metrics}))
        return
    for name, kinds in metrics.items():
        parts = [
            f"{kind} {s['median']:.3f} ({s['low']:.3f}-{s['high']:.3f})"
            for kind, s in kinds.items()
        ]
        print(f"{name:8}  {'   '.join(parts)}")


if __name__ == "__main__":
    main()

"""The overhead of jxc per call, per process and per op.

    python benchmarks/overhead.py [--json]

- microseconds per call that `jxc.jit`, or `jax.jit` inside `jxc.use`, adds to `jax.jit`;
- seconds that `jxc opt` on a small file adds to `python -c 'import jaxlib.mlir.ir'`;
- microseconds per op of `opt("O1")` on a long chain of elementwise ops.

Each pair is measured alternately. The script prints the median of the differences.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

import jxc
from jxc.ir import count_ops

CALLS, ROUNDS, STARTS, CHAIN = 5000, 21, 15, 500


def seconds(call: Callable[[], object], times: int = 1) -> float:
    start = perf_counter()
    for _ in range(times):
        call()
    return (perf_counter() - start) / times


def added_seconds(
    base: Callable[[], object], other: Callable[[], object], rounds: int, times: int
) -> float:
    """Seconds that a call of `other` takes longer than one of `base`: a median over rounds."""
    base(), other()
    return statistics.median(seconds(other, times) - seconds(base, times) for _ in range(rounds))


def per_call() -> dict[str, float]:
    def f(x):
        return x + 1

    x = jnp.ones(8)
    plain, ours = jax.jit(f), jxc.jit(f)

    def inside() -> float:
        with jxc.use("O2"):
            plain(x)
            return seconds(lambda: plain(x), CALLS)

    used = statistics.median(inside() - seconds(lambda: plain(x), CALLS) for _ in range(ROUNDS))
    return {
        "jxc.jit, added to jax.jit, us per call": 1e6
        * added_seconds(lambda: plain(x), lambda: ours(x), ROUNDS, CALLS),
        "jax.jit inside jxc.use, added to jax.jit, us per call": 1e6 * used,
    }


def per_process() -> dict[str, float]:
    bin_dir = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "small.mlir"
        module.write_text(jxc.lower(lambda x: jnp.tanh(x) * 2, jnp.ones(4)).as_text())
        metrics = {}
        for passes in ("cse", "O2"):
            base = [sys.executable, "-c", "import jaxlib.mlir.ir"]
            ours = [str(bin_dir / "jxc"), "opt", str(module), "-p", passes]
            gap = added_seconds(lambda c=base: run(c), lambda c=ours: run(c), STARTS, 1)
            metrics[f"jxc opt -p {passes}, added to importing MLIR, s"] = gap
    return metrics


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def per_op() -> dict[str, float]:
    def chain(x):
        for i in range(CHAIN):
            x = jnp.tanh(x) * 1.5 + i
        return x

    low = jxc.lower(chain, jnp.ones(8))
    low.opt("O1")
    each = statistics.median(seconds(lambda: low.opt("O1")) for _ in range(5))
    return {"opt O1, us per op": 1e6 * each / count_ops(low.module)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one object")
    as_json = parser.parse_args().json
    metrics = {**per_call(), **per_process(), **per_op()}
    if as_json:
        print(json.dumps({"schema_version": 1, "jax": jax.__version__, **metrics}, indent=2))
        return
    print(f"jax {jax.__version__}, {os.cpu_count()} cores")
    for name, value in metrics.items():
        print(f"{value:10.3f}  {name}")


if __name__ == "__main__":
    main()

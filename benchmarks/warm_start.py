"""Process start with a warm persistent compilation cache: plain JAX and jxc.

    python benchmarks/warm_start.py [--json] [--models NAME,..] [--runs N]

Each model is built, compiled and called once in a fresh process, by plain JAX, with
`JXC_PIPELINE=O2`, and with `jxc.jit`. Each contender has a cache folder of its own, which two runs
fill before the measured ones. The contenders alternate. The tables list medians of the wall time of
the whole process (imports and the initialisation of the weights included) and of the first call
(trace, lower, passes, and load), and the medians of the ratios to plain in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

MODELS_MEASURED = ("keras-mobilenetv2-training", "hf-bert-training", "mjx-humanoid")
CONTENDERS = ("plain", "O2", "jxc.jit")
FILLING_RUNS, RUNS = 2, 7
TITLE = "Process start with a warm cache"
EXPLAINED = """\
A fresh process builds a model, compiles it and calls it once, with JAX's persistent compilation
cache on and filled. *process* is its wall time, *first call* the part after the model is built.
Medians over {} rounds, and medians of the ratios to plain in the same round."""


def first_call(name: str, contender: str) -> float:
    """Build a model and call it once in this process; the seconds of the call."""
    import jax
    from models import MODELS

    jit = jax.jit
    if contender == "jxc.jit":
        import jxc

        jit = jxc.jit
    function, args = MODELS[name]()
    args = jax.block_until_ready(jax.device_put(args))
    start = perf_counter()
    jax.block_until_ready(jit(function)(*args))
    return perf_counter() - start


def run_process(name: str, contender: str, cache: Path) -> dict[str, float]:
    """Seconds of a fresh process and of the first call in it."""
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PLATFORMS": "cpu",
        "KERAS_BACKEND": "jax",
    }
    if contender == "O2":
        variables["JXC_PIPELINE"] = "O2"
    command = [sys.executable, __file__, "--process", name, contender]
    start = perf_counter()
    done = subprocess.run(
        command, env=os.environ | variables, check=True, capture_output=True, text=True
    )
    seconds = perf_counter() - start
    return {"process": seconds, "first call": float(done.stdout.splitlines()[-1])}


def measured(name: str, runs: int, folder: Path) -> dict[str, Any]:
    """The seconds of each contender, and its ratios to plain, as medians over `runs` rounds."""
    rounds: dict[str, list[dict[str, float]]] = {each: [] for each in CONTENDERS}
    for number in range(FILLING_RUNS + runs):
        for contender in CONTENDERS:
            found = run_process(name, contender, folder / name / contender)
            if number >= FILLING_RUNS:
                rounds[contender].append(found)
    return {"model": name} | {contender: _medians(rounds, contender) for contender in CONTENDERS}


def _medians(rounds: dict[str, list[dict[str, float]]], contender: str) -> dict[str, float]:
    own, plain = rounds[contender], rounds["plain"]
    medians = {}
    for key in own[0]:
        medians[key] = statistics.median(each[key] for each in own)
        ratios = [mine[key] / other[key] for mine, other in zip(own, plain, strict=True)]
        medians[f"{key}, ratio"] = statistics.median(ratios)
    return medians


def table(rows: list[dict[str, Any]]) -> str:
    """The measurements as lines of text."""
    lines = [f"{'model':28} {'contender':9} {'process':>10} {'ratio':>6} {'call':>10} {'ratio':>6}"]
    for row in rows:
        for contender in CONTENDERS:
            seconds, ratio, call, call_ratio = row[contender].values()
            lines.append(
                f"{row['model']:28} {contender:9} {seconds:8.2f} s {ratio:6.2f} {call:8.3f} s "
                f"{call_ratio:6.2f}"
            )
    return "\n".join(lines)


def markdown(rows: list[dict[str, Any]], runs: int) -> str:
    """The measurements as a Markdown section without its title."""
    lines = ["| model | contender | process, s | ratio | first call, s | ratio |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        for contender in CONTENDERS:
            cells = [f"{value:.2f}" for value in row[contender].values()]
            lines.append(f"| {' | '.join([row['model'], contender, *cells])} |")
    return f"{EXPLAINED.format(runs)}\n\n" + "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS_MEASURED), help="separated by commas")
    parser.add_argument("--runs", type=int, default=RUNS, help="measured rounds of each model")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--results", type=Path, help="add a section to this Markdown file")
    parser.add_argument("--process", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.process:
        print(first_call(*options.process))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(name, options.runs, Path(folder)) for name in options.models.split(",")]
    if options.json:
        print(json.dumps({"schema_version": 1, "runs": options.runs, "models": rows}, indent=2))
    else:
        print(table(rows))
    if options.results:
        from results_file import write_section  # the measured processes must not import it

        write_section(options.results, TITLE, markdown(rows, options.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())

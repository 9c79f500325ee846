"""Compare the roofline of `jxc report` with times that `jxc profile` measures, by class of kernel.

    python benchmarks/rooflines.py --results benchmarks

Each model of the benchmark runs in a process of its own on this machine's CPU. `roofline.py`
compares whole programs.
"""

from __future__ import annotations

import argparse
import bisect
import json
import math
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODELS_BY_DEFAULT = (
    "keras-mobilenetv2,keras-resnet50-training,flax-convolutional-training,hf-bert-training,"
    "residual-training,transformer-training,lstm-training,graph-attention-training,"
    "word2vec-training,signal,navier-stokes,monte-carlo,k-means,numpyro-potential"
)
CALLS = 20
_SECONDS = 900  # for one model
_CLASSES = (  # by the first that a kernel has an op of
    ("convolution", {"convolution"}),
    ("dot", {"dot_general", "dot"}),
    ("sort", {"sort"}),
    ("gather, scatter", {"gather", "scatter", "select_and_scatter"}),
    ("reduction", {"reduce", "reduce_window"}),
)
_MOVES = {"copy", "transpose", "concatenate", "slice", "pad", "broadcast_in_dim", "broadcast"}
_MOVES |= {"reshape", "reverse", "dynamic_slice", "dynamic_update_slice", "iota", "constant"}
_BUCKETS = ((1e-6, "below 1 µs"), (1e-5, "1 to 10 µs"), (1e-4, "10 to 100 µs"))

METHOD = f"""\
Each model is compiled by plain `jax.jit` for this machine's CPU and called {CALLS} times under
`jxc profile`. *Predicted* is a kernel's roofline without its launch: the least time by its flops
and bytes at the rates of the machine. *Measured* is its time in the call in which it took the
least; a kernel that runs at the same time as another has only a part of the cores. A ratio of 1
means that the kernel takes as long as the roofline says. *Ratio* is the geometric mean over kernels
of measured / predicted, with quartiles. *Of the sums* is the ratio of the summed times, which
weighs kernels by their time. *Time* is the share of all measured time. A kernel with a product and
other ops counts as a product. The load is that of the machine while the table was made; a busy
machine makes ratios larger."""


# One model


def kernels_of_model(name: str) -> list[dict[str, Any]]:
    """The kernels of a model that have a roofline: class, predicted and measured seconds."""
    import jax
    from models import MODELS

    from jxc.tools.profile.recording import record_calls

    function, args = MODELS[name]()
    call = jax.jit(function)
    jax.block_until_ready(call(*args))  # compiles
    return list(_kernels(record_calls(lambda: jax.block_until_ready(call(*args)), CALLS)))


def _kernels(profile: Any) -> Iterator[dict[str, Any]]:
    ops, fastest = _ops_by_kernel(profile), _fastest_runs(profile)
    runs = {each.name: each.runs for each in profile.programs}
    kernels = {
        (piece.program, piece.kernel.name): piece
        for piece in profile.pieces
        if piece.kernel is not None and piece.kernel.least_seconds and piece.calls
    }
    for key, piece in kernels.items():
        times = piece.calls / runs[piece.program]  # in one run of the program
        yield {
            "class": _class_of(piece.kernel.kind, ops.get(key, ())),
            "predicted": piece.kernel.least_seconds,
            "measured": fastest[key] / times,
            "calls": piece.calls,
        }


def _fastest_runs(profile: Any) -> dict[tuple[str, str], float]:
    """The seconds of each kernel in the run of its program in which it took the least."""
    starts: dict[str, list[int]] = defaultdict(list)
    for run in sorted(profile.trace.runs, key=lambda run: run.start):
        starts[run.program].append(run.start)
    sums: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for op in profile.trace.ops:
        number = bisect.bisect_right(starts[op.program], op.start)
        sums[op.program, op.op][number] += op.end - op.start
    return {key: min(found.values()) * 1e-9 for key, found in sums.items()}


def _ops_by_kernel(profile: Any) -> dict[tuple[str, str], Iterable[str]]:
    from jxc.compiled.kernels import kernels_of
    from jxc.events._private import hlo_text
    from jxc.hlo import parse_hlo

    programs = {piece.program for piece in profile.pieces if piece.kernel}
    return {
        (program, kernel.name): kernel.ops
        for program in programs & profile.trace.modules.keys()
        for kernel in kernels_of(parse_hlo(hlo_text(profile.trace.modules[program])))
    }


def _class_of(kind: str, ops: Iterable[str]) -> str:
    names = {each.removeprefix("stablehlo.") for each in ops}
    if not names:  # the kernels inside are not recorded
        return "loop, call"
    for name, members in _CLASSES:
        if names & members:
            return name
    if kind == "copy" or names <= _MOVES:
        return "copy, transpose"
    return "library call" if kind in ("library", "call") else "elementwise"


# All models


def table(kernels: list[dict[str, Any]], by: str) -> Iterator[str]:
    """A Markdown table of predicted and measured times; rows are the values of the key `by`."""
    yield f"| {by} | kernels | ratio | quartiles | of the sums | time |"
    yield "|---|---:|---:|---:|---:|---:|"
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in kernels:
        groups[each[by]].append(each)
    whole = _sum(kernels, "measured")
    ordered = sorted(groups.items(), key=lambda item: -_sum(item[1], "measured"))
    for name, found in [*ordered, ("all", kernels)]:
        yield _row(name, found, whole)


def _sum(kernels: list[dict[str, Any]], key: str) -> float:
    return sum(each[key] * each["calls"] for each in kernels)


def _row(name: str, kernels: list[dict[str, Any]], whole: float) -> str:
    ratios = [each["measured"] / each["predicted"] for each in kernels]
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    total, least = _sum(kernels, "measured"), _sum(kernels, "predicted")
    quartiles = (
        ""
        if len(ratios) < 4
        else "{:.2f}, {:.2f}, {:.2f}".format(*statistics.quantiles(ratios, method="inclusive"))
    )
    share = 100 * total / whole
    return (
        f"| {name} | {len(ratios)} | {mean:.2f} | {quartiles} | {total / least:.2f} "
        f"| {share:.1f}% |"
    )


def bucket(seconds: float) -> str:
    """The range of predicted times that a kernel is in."""
    return next((name for limit, name in _BUCKETS if seconds < limit), "100 µs and more")


def document(kernels: list[dict[str, Any]], skipped: dict[str, str]) -> str:
    """The text of ROOFLINES.md."""
    from machine import circumstances

    found = circumstances()
    kernels = [each | {"predicted time": bucket(each["predicted"])} for each in kernels]
    models = len({each["model"] for each in kernels})
    lines = [
        "# The roofline and measured time",
        "",
        "Written by benchmarks/rooflines.py. Do not edit.",
        "",
        f"- {found['date']}, commit {found['commit']}, load {found['load']}",
        f"- {found['machine']}; rates: {found['rates']}",
        f"- jax {found['versions'].get('jax', '')}, {models} models, {CALLS} calls of each",
        "",
        METHOD,
        "",
    ]
    for by in ("class", "predicted time", "model"):
        lines += [*table(kernels, by), ""]
    lines += [f"- {name}: skipped, {why}" for name, why in skipped.items()]
    return "\n".join(lines).rstrip() + "\n"


def measure(models: list[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The kernels of all models, and why models are left out."""
    kernels: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for name in models:
        command = [sys.executable, __file__, "--model", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            skipped[name] = f"no result after {_SECONDS} s"
            continue
        if done.returncode:
            skipped[name] = (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        kernels += [each | {"model": name} for each in found]
        print(f"{name}: {len(found)} kernels", file=sys.stderr)
    return kernels, skipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS_BY_DEFAULT, help="names, separated by commas")
    parser.add_argument("--results", type=Path, help="folder of ROOFLINES.md; default: print it")
    parser.add_argument("--model", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.model:
        print(json.dumps(kernels_of_model(given.model)))
        return
    kernels, skipped = measure(given.models.split(","))
    if not kernels:
        sys.exit(f"no model could be measured: {skipped}")
    text = document(kernels, skipped)
    if given.results:
        (given.results / "ROOFLINES.md").write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()

"""Seconds per epoch of Keras `model.fit`, with and without JXC_PIPELINE=O2 in the environment.

    python benchmarks/keras_fit.py [--network MobileNetV2] [--size 96] [--results FILE]

The program is unchanged; only the environment differs. Fresh processes alternate between the two
settings. Times are medians over the epochs after the first, which compiles. Images and labels are
random.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from intervals import Interval, median_interval
from results_file import write_section

TITLE = "Keras model.fit"


def train(given: argparse.Namespace) -> dict[str, Any]:
    """Train a network of keras.applications in this process; return its times and losses."""
    import keras
    import numpy as np

    keras.utils.set_random_seed(0)
    shape, count = (given.size, given.size, 3), given.batch * given.steps
    model = getattr(keras.applications, given.network)(weights=None, input_shape=shape, classes=10)
    model.compile("sgd", "sparse_categorical_crossentropy")
    random = np.random.default_rng(0)
    images = random.standard_normal((count, *shape), np.float32)
    if given.near:
        images = np.nextafter(images, np.float32(np.inf))
    labels = random.integers(0, 10, count)
    seconds: list[float] = []
    losses: list[float] = []

    class Clock(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.start = perf_counter()

        def on_epoch_end(self, epoch, logs=None):
            seconds.append(perf_counter() - self.start)

        def on_train_batch_end(self, batch, logs=None):
            losses.append(logs["loss"])

    compilations = _compilation_log()
    options = {"batch_size": given.batch, "epochs": given.epochs, "callbacks": [Clock()]}
    model.fit(images, labels, verbose=0, **options)
    hits = dict(compilations.hits) if compilations else {}
    return {"first": seconds[0], "seconds": seconds[1:], "losses": losses, "hits": hits}


def _compilation_log() -> Any:
    """A log of the programs that jxc rewrites; None in a process without a pipeline."""
    if not os.environ.get("JXC_PIPELINE"):
        return None
    from jxc.backend import hook

    return hook.start_log()


def in_process(pipeline: str, given: argparse.Namespace, *flags: str) -> dict[str, Any]:
    """The result of training in a fresh process, with a pipeline in its environment or without."""
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "1", "JXC_PIPELINE": pipeline}
    command = [sys.executable, "-W", "ignore", __file__, "--child", *flags]
    for name in ("network", "size", "batch", "steps", "epochs"):
        command += [f"--{name}", str(getattr(given, name))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"training in a process with JXC_PIPELINE={pipeline!r}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(given: argparse.Namespace) -> dict[str, Any]:
    """The measurements of both settings, ready for JSON."""
    runs: dict[str, list[dict[str, Any]]] = {"": [], "O2": []}
    for turn in range(given.processes):
        for pipeline in ("", "O2") if turn % 2 == 0 else ("O2", ""):
            runs[pipeline].append(in_process(pipeline, given))
    near = in_process("", given, "--near")
    losses = {"plain": runs[""][0]["losses"], "O2": runs["O2"][0]["losses"]}
    pairs = zip(runs[""], runs["O2"], strict=True)
    ratios = [[p / o for p, o in zip(a["seconds"], b["seconds"], strict=True)] for a, b in pairs]
    epochs = {name: [s for run in each for s in run["seconds"]] for name, each in runs.items()}
    return {
        "network": f"{given.network}, batch {given.batch}, {given.size}x{given.size}",
        "plain": statistics.median(epochs[""]),
        "O2": statistics.median(epochs["O2"]),
        "first": {name or "plain": each[0]["first"] for name, each in runs.items()},
        "ratio": vars(median_interval(ratios)),
        "losses": {**losses, "plain on images one ulp away": near["losses"]},
        "rules": runs["O2"][0]["hits"],
    }


def lines(measured: dict[str, Any]) -> list[str]:
    """The measurements as text, one fact per line."""
    ratio, first, losses = Interval(**measured["ratio"]), measured["first"], measured["losses"]
    ends = ", ".join(f"{name} {each[0]:.6f} to {each[-1]:.3f}" for name, each in losses.items())
    return [
        f"{measured['network']}: an epoch takes {measured['plain']:.2f} s, with JXC_PIPELINE=O2 "
        f"{measured['O2']:.2f} s: {ratio.median:.2f} times as fast "
        f"[{ratio.low:.2f}, {ratio.high:.2f}]",
        f"the first epoch, which compiles: {first['plain']:.1f} s and {first['O2']:.1f} s",
        f"loss from the first batch to the last: {ends}",
        f"rewrites: {sum(measured['rules'].values())}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--network", default="MobileNetV2", help="one of keras.applications")
    add("--size", type=int, default=96, help="height and width of the images")
    add("--batch", type=int, default=8)
    add("--steps", type=int, default=8, help="batches in an epoch")
    add("--epochs", type=int, default=4)
    add("--processes", type=int, default=2, help="number of processes per setting")
    add("--json", action="store_true", help="print one object")
    add("--results", type=Path, help="add a section to this Markdown file")
    add("--child", action="store_true", help=argparse.SUPPRESS)
    add("--near", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(train(given)))
        return 0
    measured = compare(given)
    if given.json:
        print(json.dumps({"schema_version": 1, **measured}, indent=2))
    else:
        print("\n".join(lines(measured)))
    if given.results:
        write_section(given.results, TITLE, "\n".join(f"- {x}" for x in lines(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

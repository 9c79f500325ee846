"""Time training steps on a CPU split into devices, and compare jxc's gain with that on one device.

    python benchmarks/data_parallel.py keras-mobilenetv2-training --devices 1,2,4

Images or texts are split over the devices and weights are replicated, as in `meshes.py`; the batch
of all devices together is the same. All programs run alternately in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from accelerators_worker import changed, lowered_over
from intervals import Interval, median_interval
from meshes import program_of
from worker import run_alternately

from jxc.frontend.mesh import environment_of_host

MODELS = ("keras-mobilenetv2-training", "keras-convnexttiny-training", "keras-resnet50-training")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("models", nargs="*", default=MODELS, help="names in meshes.py")
    add("--devices", default="1,2,4", help="numbers of devices, of which the first is the basis")
    add("--level", default="O2", help="the level to compare with plain")
    add("--rounds", type=int, default=15)
    add("--seconds", type=float, default=60.0, help="no round begins after this time")
    add("--raw", type=Path, help="append the times of each model to this file, as JSON lines")
    given = parser.parse_args()
    given.devices = [int(count) for count in given.devices.split(",")]
    return given


def calls_of(name: str, counts: list[int], level: str) -> dict[str, Callable[[], Any]]:
    """A call without arguments for plain and the level on each number of devices."""
    import jax

    program = program_of(name)
    calls: dict[str, Callable[[], Any]] = {}
    for count in counts:
        lowered = lowered_over(f"data={count}", name, program, "cpu")
        for contender in ("plain", level):
            pipeline = changed("O0" if contender == "plain" else contender, ())
            compiled = lowered.opt(pipeline).compile().compiled
            args = jax.device_put(program[1], compiled.input_shardings[0])
            calls[f"{contender} on {count}"] = partial(compiled, *args)
    return calls


def gain(spent: dict[str, list[float]], level: str, count: int) -> Interval:
    """The median of plain's time divided by the level's, over the rounds."""
    pairs = zip(spent[f"plain on {count}"], spent[f"{level} on {count}"], strict=True)
    return median_interval([[plain / ours for plain, ours in pairs]])


def lines_of(name: str, spent: dict[str, list[float]], level: str, counts: list[int]) -> list[str]:
    """The times and gains of a model, one line for each number of devices."""
    gains = {count: gain(spent, level, count) for count in counts}
    times = {each: 1e3 * median_interval([found]).median for each, found in spent.items()}
    return [
        f"{name}: {count} devices: {times[f'plain on {count}']:.4g} -> "
        f"{times[f'{level} on {count}']:.4g} ms, gain {each.median:.3f} "
        f"({each.low:.3f} to {each.high:.3f}), {each.median / gains[counts[0]].median:.3f} of that "
        f"on {counts[0]}"
        for count, each in gains.items()
    ]


def main() -> int:
    given = options()
    os.environ |= environment_of_host(max(given.devices)) | {"JAX_PLATFORMS": "cpu"}
    for name in given.models:
        calls = calls_of(name, given.devices, given.level)
        spent = run_alternately(calls, (), given.rounds, given.seconds, random.Random(0))
        print(*lines_of(name, spent, given.level, given.devices), sep="\n", flush=True)
        if given.raw:
            with given.raw.open("a") as file:
                file.write(json.dumps({"model": name, "spent": spent}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

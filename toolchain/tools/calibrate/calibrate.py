"""Measuring the rates of this machine with probes, and writing them to the user's rates file."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
from jaxlib.version import __version__

from ...backend import hook
from ...cost.rates import read_rates_file
from ...errors import MissingTargetError
from ...files import require_folder, write_json
from .probes import PROBES, Probe

LEAST_ROUNDS = 5
"""The least number of rounds, however little time there is; a round runs every probe once."""

_CALLS_SECONDS = 0.01  # how long to call each probe in a round, at least

Progress = Callable[[str, int, int], None]
"""Called with the current activity, the number of steps done, and the number of steps."""


def calibrate(
    target: str = "cpu",
    *,
    seconds: float = 60.0,
    probes: Sequence[Probe] | None = None,
    progress: Progress = lambda doing, done, of: None,
) -> dict[str, float]:
    """Measure rates on this machine, without passes of jxc.

    Each round runs every probe once, so that other load on the machine affects all of them alike.
    A rate is the median over the rounds.

    Args:
        target: "cpu", or the kind of another device that is present.
        seconds: about how long to measure; compiling the probes and five rounds are not limited.
        probes: the probes to run; all by default.
        progress: called between steps.

    Returns:
        Numbers by the name of the rate, in the unit of the rate's `doc`.

    Raises:
        MissingTargetError: JAX has no such device here.
    """
    chosen = list(PROBES if probes is None else probes)
    device = _device(target)
    ends = perf_counter() + seconds
    with hook.use(None), jax.default_device(device):
        calls = [_compiled(probe, i, len(chosen), progress) for i, probe in enumerate(chosen)]
        rounds: list[list[float]] = []
        while len(rounds) < LEAST_ROUNDS or perf_counter() < ends:
            progress("measuring", len(rounds), max(LEAST_ROUNDS, _rounds_until(ends, rounds)))
            rounds.append([_nanoseconds(*call) for call in calls])
    return {
        probe.rate.name: statistics.median(each) / probe.units
        for probe, each in zip(chosen, zip(*rounds, strict=True), strict=True)
    }


def _device(target: str) -> Any:
    try:
        return jax.devices(target)[0]
    except RuntimeError as error:
        raise MissingTargetError(f"target {target!r}: JAX finds none here ({error})") from None


def _compiled(
    probe: Probe, number: int, of: int, progress: Progress
) -> tuple[Callable[[], Any], int]:
    """A probe as a function of no arguments, and how often to call it in a round."""
    progress(f"compiling {probe.rate.name}", number, of)
    function, args = probe.program()
    executable = jax.jit(function).lower(*args).compile()

    def call() -> Any:
        return executable(*args)

    jax.block_until_ready(call())
    once = max(_nanoseconds(call, 1), 1.0) / 1e9
    return call, max(1, min(10_000, int(_CALLS_SECONDS / once)))


def _nanoseconds(call: Callable[[], Any], times: int) -> float:
    start = perf_counter()
    for _ in range(times):
        result = call()
    jax.block_until_ready(result)
    return (perf_counter() - start) / times * 1e9


def _rounds_until(ends: float, rounds: Sequence[Sequence[float]]) -> int:
    """About how many rounds there will be, if each takes `_CALLS_SECONDS` for every probe."""
    left = max(0.0, ends - perf_counter())
    each = _CALLS_SECONDS * (len(rounds[0]) if rounds else 1)
    return len(rounds) + int(left / each) + 1


def save_rates(file: Path, target: str, rates: Mapping[str, float]) -> None:
    """Write the rates of one target to the rates file; those of other targets in it stay.

    Raises:
        UsageError: the file cannot be written, or is not a rates file.
    """
    content = read_rates_file(file)
    content["targets"][target] = dict(sorted(rates.items()))
    content["measured"][target] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "jaxlib": __version__,
        "device": jax.devices(target)[0].device_kind,
    }
    require_folder(str(file.parent))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(content, str(file))

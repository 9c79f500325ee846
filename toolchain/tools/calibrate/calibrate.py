"""Measuring how fast this machine is: every probe in turn, and the file that keeps the figures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
from jaxlib.version import __version__

from ...backend import hook
from ...cost.rates import figures_in
from ...errors import MissingTargetError, UsageError
from .probes import Probe, all_probes

LEAST_ROUNDS = 5
"""Rounds in which every probe is measured once, however little time there is."""

_CALLS_SECONDS = 0.01  # a probe is called for at least so long in a round

Progress = Callable[[str, int, int], None]
"""Told what is being done, how many steps are done, and how many there are."""


def calibrate(
    target: str = "cpu",
    *,
    seconds: float = 60.0,
    probes: Sequence[Probe] | None = None,
    progress: Progress = lambda doing, done, of: None,
) -> dict[str, float]:
    """Measure every rate on this machine, with nothing of jxc's between JAX and XLA.

    The probes run in turn, round after round, so that what else the machine does falls on all of
    them alike; the median over the rounds counts.

    Args:
        target: "cpu", or the kind of another device that is present.
        seconds: about how long to take; compiling the probes and five rounds are done anyway.
        probes: those to run; all of jxc's by default.
        progress: called between steps.

    Returns:
        Figures by the name of the rate, in the unit that the rate's `doc` says.

    Raises:
        MissingTargetError: JAX has no such device here.
    """
    chosen = list(all_probes() if probes is None else probes)
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
    """About how many rounds there will be; a round takes `_CALLS_SECONDS` a probe or more."""
    left = max(0.0, ends - perf_counter())
    each = _CALLS_SECONDS * (len(rounds[0]) if rounds else 1)
    return len(rounds) + int(left / each) + 1


def save_rates(file: Path, target: str, figures: Mapping[str, float]) -> None:
    """Keep the figures of one target; those of others that the file has stay in it.

    Raises:
        UsageError: the file cannot be written, or is not one of ours.
    """
    told = figures_in(file)
    told["targets"][target] = dict(sorted(figures.items()))
    told["measured"][target] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "jaxlib": __version__,
        "device": jax.devices(target)[0].device_kind,
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(told, indent=2) + "\n")
        partial.replace(file)
    except OSError as error:
        raise UsageError(f"{file}: cannot write: {error.strerror}") from None

"""Measuring the rates of this machine with probes, and writing them to the user's rates file."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jaxlib.version import __version__

from ...backend import hook
from ...backend.timing import timing_rounds
from ...cost import cpu
from ...cost.rates import read_rates_file
from ...errors import MissingTargetError
from ...files import require_folder, write_json
from .probes import PROBES, Probe

LEAST_ROUNDS = 5
"""The least number of rounds, however little time there is; a round runs every probe once."""

_KERNELS = 12  # of the program that is compiled

_CALLS_SECONDS = 0.01  # the minimum time for which a round calls each probe

Progress = Callable[[str, int, int], None]
"""Called with the current activity, the number of steps done, and the number of steps."""


def calibrate(
    target: str = "cpu",
    *,
    seconds: float = 45.0,
    probes: Sequence[Probe] | None = None,
    progress: Progress = lambda doing, done, of: None,
) -> dict[str, float]:
    """Measure rates on this machine, without passes of jxc.

    Each round runs every probe once, so that other load on the machine affects all of them alike.
    A rate is the lower quartile of the rounds: what disturbs a run only makes it longer.

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
    try:
        device = jax.devices(target)[0]
    except RuntimeError as error:
        raise MissingTargetError(f"target {target!r}: JAX finds none here ({error})") from None
    ends = perf_counter() + seconds
    calls: dict[str, Callable[[], Any]] = {}
    measured: list[dict[str, float]] = []
    with hook.use(None), jax.default_device(device):
        for number, probe in enumerate(chosen):
            progress(f"compiling {probe.rate.name}", number, len(chosen))
            function, args = probe.program()
            calls[probe.rate.name] = partial(jax.jit(function).lower(*args).compile(), *args)
        for each in timing_rounds(calls, _CALLS_SECONDS):
            measured.append(each)
            left = ends - perf_counter()
            if len(measured) >= LEAST_ROUNDS and left <= 0:
                break
            more = int(max(0.0, left) / (_CALLS_SECONDS * len(calls))) + 1
            progress("measuring", len(measured), max(LEAST_ROUNDS, len(measured) + more))
        compiling = {} if probes is not None else {cpu.COMPILE_KERNEL.name: _compiling_ns()}
    return compiling | {
        (name := probe.rate.name): _low(each[name] for each in measured) * 1e9 / probe.units
        for probe in chosen
    }


def _low(seconds: Iterable[float]) -> float:
    return statistics.quantiles(seconds, n=4)[0]


def _compiling_ns() -> float:
    """The time of compiling one more elementwise kernel: one behind each product of a chain."""

    def compiled(is_scaled: bool) -> float:
        def program(x: Any, w: Any) -> Any:
            for number in range(_KERNELS):
                x = x @ w
                x = x * (number + 1.5) + 0.25 if is_scaled else x
            return x

        lowered = jax.jit(program).lower(*[jnp.ones((64, 64), jnp.float32)] * 2)
        start = perf_counter()
        lowered.compile()
        return perf_counter() - start

    each = [compiled(True) - compiled(False) for _ in range(LEAST_ROUNDS)]
    return _low(each) * 1e9 / _KERNELS


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

"""The CPU of this machine, split into as many devices as a program is for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from ...cost import roofline
from ...cost.rates import rates_of
from ...errors import UsageError
from .device import Device
from .target import Offer, Target


def find(rest: str) -> Target:
    """The target "cpu"."""
    if rest:
        raise UsageError(f"--target cpu:{rest}: expected cpu; --mesh says how many devices")
    environment = {"JAX_PLATFORMS": "cpu"}
    return Target("cpu", "cpu", "cpu", _device(), None, True, "", MappingProxyType(environment))


def offers() -> Sequence[Offer]:
    """This machine's own."""
    return [Offer("cpu", f"this machine's, {os.cpu_count()} cores", "present")]


def devices(target: Target, count: int) -> Sequence[Any]:
    """The first so many of the devices that the CPU was split into."""
    import jax

    return jax.devices("cpu")[:count]


def _device() -> Device:
    """This machine by what `jxc calibrate` measured here, or by shipped figures."""
    rates = rates_of("cpu")
    return Device(
        name="cpu",
        kind="cpu",
        device_kind="cpu",
        memory_bytes=_memory(),
        bandwidth=roofline.bandwidth(rates),
        peak_flops=MappingProxyType(roofline.peak_flops(rates)),
        clock_hz=None,
        launch_seconds=roofline.LAUNCH_SECONDS,
        source=rates.source or "shipped figures: `jxc calibrate` measures this machine",
        settings=MappingProxyType({}),
    )


def _memory() -> int:
    """Of the machine, or of what this process may use of it."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            limit = file.read().strip()
    except OSError:
        return whole
    return min(whole, int(limit)) if limit.isdecimal() else whole

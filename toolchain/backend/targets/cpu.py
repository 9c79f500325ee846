"""The CPU of this machine, which XLA splits into as many devices as a program needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...cost import roofline
from ...cost.network import Network
from ...cost.rates import rates_of
from ...errors import UsageError
from .target import Device, Offer, Target


def find(rest: str) -> Target:
    """The target "cpu"."""
    if rest:
        raise UsageError(f"--target cpu:{rest}: expected cpu; --mesh says how many devices")
    environment = {"JAX_PLATFORMS": "cpu"}
    return Target("cpu", "cpu", "cpu", _device(), None, True, "", environment)


def offers() -> Sequence[Offer]:
    """This machine's own."""
    return [Offer("cpu", f"this machine's, {os.cpu_count()} cores", "present")]


def devices(target: Target, count: int) -> Sequence[Any]:
    """The first `count` devices of the CPU."""
    import jax

    return list(jax.devices("cpu")[:count])


def _device() -> Device:
    """This machine, by the rates that `jxc calibrate` measured here, or by the shipped ones."""
    rates = rates_of("cpu")
    bandwidth = roofline.bandwidth(rates)
    return Device(
        name="cpu",
        kind="cpu",
        device_kind="cpu",
        memory_bytes=_memory(),
        bandwidth=bandwidth,
        peak_flops=roofline.peak_flops(rates),
        launch_seconds=roofline.launch_seconds(rates),
        source=rates.source or "shipped rates: `jxc calibrate` measures this machine",
        cache_bytes=_cache_bytes(),
        cache_bandwidth=roofline.cache_bandwidth(rates),
        network=Network("memory", bandwidth, "devices of one process share main memory"),
    )


def _cache_bytes() -> int:
    """Bytes of the largest cache that Linux lists for a core; 8 MiB if it lists none."""
    found = []
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        with contextlib.suppress(OSError, ValueError):
            found.append(int(file.read_text().strip().removesuffix("K")) * 1024)
    return max(found, default=8 * 1024**2)


def _memory() -> int:
    """Bytes of main memory that this process may use."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            limit = file.read().strip()
    except OSError:
        return whole
    return min(whole, int(limit)) if limit.isdecimal() else whole

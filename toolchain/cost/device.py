"""What hardware is: one description per device.

The numbers of each accelerator are in a data file, `devices/NAME.toml`, with their source. Those of
the CPU are rates.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import JxcError
from . import roofline
from .network import Network
from .rates import Rates


@dataclass(frozen=True)
class HostLink:
    """The link between one device and the machine that hosts it.

    Attributes:
        bandwidth: bytes per second in one direction.
        source: where the number is from.
    """

    bandwidth: float
    source: str

    def __post_init__(self) -> None:
        if not (self.bandwidth > 0 and self.source):
            raise ValueError("host: expected a bandwidth above 0 and its source")


@dataclass(frozen=True)
class Device:
    """One device as JAX counts them: a GPU, or what JAX calls a TPU device.

    Attributes:
        name: as a target names it, such as "h100" or "v5e".
        kind: "cpu", "gpu" or "tpu".
        device_kind: the beginning of the `device_kind` that JAX gives it.
        memory_bytes: of main memory, what a program may use.
        bandwidth: of main memory, bytes per second.
        peak_flops: operations per second by the rates of `hlo.work.Flops.by_type`, a multiply-add
            counting as two.
        launch_seconds: the cost of starting a kernel.
        source: where the numbers are from.
        clock_hz: of the compiler's cycle estimates; None if it makes none or it is unknown.
        settings: what only its compiler needs.
        cache_bytes: size of the last cache before main memory; 0 without one.
        cache_bandwidth: of that cache, bytes per second; 0.0 if it is not published: reports then
            count all traffic for main memory.
        network: how it reaches other devices; None if that is not known.
        host: how it reaches the memory of its host; None if that is not known, and for a CPU.
        rates: the values of rates on this device, by the name of the `Rate`.
    """

    name: str
    kind: str
    device_kind: str
    memory_bytes: int
    bandwidth: float
    peak_flops: Mapping[str, float] = field(hash=False)
    launch_seconds: float
    source: str
    clock_hz: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    cache_bytes: int = 0
    cache_bandwidth: float = 0.0
    network: Network | None = None
    host: HostLink | None = None
    rates: Mapping[str, float] = field(default_factory=dict, hash=False, repr=False)


@cache
def known_devices(kind: str) -> dict[str, Device]:
    """The devices of a kind that have a data file, in order of their names; not of CPUs."""
    import tomllib  # many processes have no accelerator
    from importlib.resources import files

    folder = files(__package__) / "devices"
    read = {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text())
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }
    return {name: _device(name, read[name]) for name in sorted(read) if read[name]["kind"] == kind}


def _device(name: str, table: dict[str, Any]) -> Device:
    """The device in a data file.

    Raises:
        JxcError: the file lacks a number, or has an unknown or impossible one.
    """
    try:
        network = Network(**table["network"]) if "network" in table else None
        host = HostLink(**table["host"]) if "host" in table else None
        return Device(name, **{**table, "network": network, "host": host})
    except (TypeError, ValueError) as error:
        raise JxcError(f"devices/{name}.toml: {error}") from error


_USUAL = {"gpu": "h100", "tpu": "v5e"}


def device_of(kind: str, name: str, rates: Rates) -> Device:
    """The device of a kind: this machine's CPU, or the accelerator called `name`.

    Without a device of that name, an H100 or a TPU v5e.
    """
    if kind == "cpu":
        return this_cpu(rates)
    known = known_devices(kind)
    return known.get(name) or known[_USUAL[kind]]


def device_named(kind: str, device_kind: str) -> Device | None:
    """The device of a kind to which JAX gives the name `device_kind`; None without a data file.

    JAX has two names for some TPUs: "TPU v5 lite" is "TPU v5e", and "TPU v5" is "TPU v5p".
    """
    fitting = [
        each
        for each in known_devices(kind).values()
        if any(_begins_with(device_kind, name) for name in (each.device_kind, f"TPU {each.name}"))
    ]
    return max(fitting, key=lambda each: len(each.device_kind), default=None)


def is_same_device(kind: str, device_kind: str, other: str) -> bool:
    """Whether two of JAX's names are of one device; without data files, whether both are equal."""
    known = device_named(kind, other)
    return device_kind == other if known is None else device_named(kind, device_kind) == known


def _begins_with(device_kind: str, words: str) -> bool:
    """Whether JAX's name of a device begins with these whole words: an L40S is not an L4.

    A TPU v4 lite is no v4, and the GPU of a laptop is not that of a desktop.
    """
    other = r"(?!\w| (?:lite|Laptop|D)\b)"
    return re.match(re.escape(words) + other, device_kind) is not None


@cache
def this_cpu(rates: Rates) -> Device:
    """This machine's CPU, by the rates that `jxc calibrate` measured here, or by shipped ones."""
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

"""The least time that a device takes for a kernel: the roofline model, with a cache and launches.

Williams, Waterman and Patterson (2009): a kernel takes at least as long as its flops at the
device's peak, and at least as long as its traffic at the bandwidth of memory. Here bytes that the
cache still holds (`jxc.hlo.work.reuse`) count at the cache's bandwidth, and the time to launch the
kernel is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ...hlo.work import Access

if TYPE_CHECKING:
    from ...backend.targets.target import Device

_NEAREST = {"f16": ("bf16",), "bf16": ("f16",), "u8": ("s8",), "s4": ("s8",), "u4": ("s8",)}


@dataclass(frozen=True)
class Roofline:
    """The least time that a device needs for one run of a kernel.

    Attributes:
        compute_seconds: its flops at the device's peak.
        memory_seconds: its traffic with main memory at that memory's bandwidth.
        cache_seconds: its traffic with the cache at the cache's bandwidth.
        launch_seconds: the launch.
    """

    compute_seconds: float
    memory_seconds: float
    cache_seconds: float
    launch_seconds: float

    @property
    def work_seconds(self) -> float:
        """The time without the launch. Arithmetic and traffic overlap."""
        return max(self.compute_seconds, self.memory_seconds + self.cache_seconds)

    @property
    def seconds(self) -> float:
        """The time with the launch."""
        return self.work_seconds + self.launch_seconds

    @property
    def bound(self) -> str:
        """The largest part of the time: "compute", "memory", "cache" or "launch"."""
        if self.launch_seconds > self.work_seconds:
            return "launch"
        if self.compute_seconds > self.memory_seconds + self.cache_seconds:
            return "compute"
        return "cache" if self.cache_seconds > self.memory_seconds else "memory"

    def as_json(self) -> dict[str, object]:
        """As an object for `--json`."""
        return {"seconds": self.seconds, "bound": self.bound, **asdict(self)}


def roofline(
    flops: Mapping[str, int],
    accesses: Sequence[Access],
    device: Device,
    *,
    is_launched: bool = True,
) -> Roofline:
    """The roofline of one run of a kernel.

    Args:
        flops: by rate, see `jxc.hlo.work.Flops.by_type`.
        accesses: to main memory; those that the device's cache serves count for the cache.
        device: its peaks, bandwidths and cost of a launch.
        is_launched: whether the kernel is launched separately.
    """
    rates = ((amount, peak_of(device, kind)) for kind, amount in flops.items())
    compute = sum(amount / rate for amount, rate in rates if rate)
    cached = cached_bytes(accesses, device)
    main = sum(each.bytes for each in accesses) - cached
    return Roofline(
        compute,
        main / device.bandwidth if device.bandwidth else 0.0,
        cached / device.cache_bandwidth if device.cache_bandwidth else 0.0,
        device.launch_seconds if is_launched else 0.0,
    )


def cached_bytes(accesses: Sequence[Access], device: Device) -> int:
    """The bytes that the device's cache serves; 0 for a device whose cache is not modelled."""
    size = device.cache_bytes if device.cache_bandwidth else 0
    return sum(each.bytes for each in accesses if each.distance <= size)


def peak_of(device: Device, kind: str) -> float:
    """The flops per second of a device at a rate of `Flops.by_type`.

    For a rate that the device does not list, that of the element type, of the nearest type, or of
    f32; 0.0 where no rate is known.
    """
    peaks = device.peak_flops
    element = kind.rpartition("-")[2]
    near = _NEAREST.get(element, ("f8e4m3fn", "bf16") if element.startswith("f8") else ())
    known = [peaks[name] for name in (kind, element, *near, "f32") if name in peaks]
    return known[0] if known else max(peaks.values(), default=0.0)

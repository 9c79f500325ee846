"""How fast a kernel can be at best: the roofline of Williams, Waterman and Patterson (2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....backend.targets.device import Device

_INSTEAD = {
    "f16": ("bf16",),
    "bf16": ("f16",),
    "u8": ("s8",),
    "s4": ("s8",),
    "u4": ("s8",),
}


@dataclass(frozen=True)
class Roofline:
    """The least time that a device needs for a kernel.

    Attributes:
        compute_seconds: for its flops at the device's peak.
        memory_seconds: for its traffic with main memory at the device's bandwidth.
        launch_seconds: for starting it.
    """

    compute_seconds: float
    memory_seconds: float
    launch_seconds: float

    @property
    def seconds(self) -> float:
        """The longer of the two, and the start."""
        return max(self.compute_seconds, self.memory_seconds) + self.launch_seconds

    @property
    def bound(self) -> str:
        """What bounds it: "compute" or "memory"."""
        return "compute" if self.compute_seconds > self.memory_seconds else "memory"

    def as_json(self) -> dict[str, object]:
        """As an object for `--json`."""
        return {
            "seconds": self.seconds,
            "bound": self.bound,
            "compute_seconds": self.compute_seconds,
            "memory_seconds": self.memory_seconds,
            "launch_seconds": self.launch_seconds,
        }


def roofline(flops: Mapping[str, int], main_bytes: float, device: Device) -> Roofline:
    """The roofline of one run.

    Args:
        flops: by the rate that they run at, as `jxc.hlo.work.Flops.by_type` has them.
        main_bytes: what is moved between the device and its main memory.
        device: its peaks, bandwidth and cost of a start.
    """
    rates = ((amount, peak_of(device, kind)) for kind, amount in flops.items())
    compute = sum(amount / rate for amount, rate in rates if rate)
    memory = main_bytes / device.bandwidth if device.bandwidth else 0.0
    return Roofline(compute, memory, device.launch_seconds)


def peak_of(device: Device, kind: str) -> float:
    """The flops per second that a device has for a type; for one that it does not list, those of
    the nearest type, or f32's. 0.0 where nothing is known.
    """
    peaks = device.peak_flops
    near = _INSTEAD.get(kind, ("f8e4m3fn", "bf16") if kind.startswith("f8") else ())
    for name in (kind, *near, "f32"):
        if name in peaks:
            return peaks[name]
    return max(peaks.values(), default=0.0)

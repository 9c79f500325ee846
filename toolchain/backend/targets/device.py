"""What is known of a piece of hardware: figures from a data file, one file each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Device:
    """One device as JAX counts them: a GPU, or what JAX calls a TPU device.

    Attributes:
        name: as a target names it, such as "h100" or "v5e".
        kind: "cpu", "gpu" or "tpu".
        device_kind: how the name begins that JAX gives it.
        memory_bytes: of main memory, what a program may use.
        bandwidth: of main memory, bytes per second.
        peak_flops: operations per second by HLO element type, a multiply-add counting as two.
        clock_hz: of the compiler's cycle estimates; None where it makes none, or nobody knows.
        launch_seconds: what starting a kernel costs.
        cache_bytes: of the last cache before main memory; 0 where there is none.
        cache_bandwidth: of that cache, bytes per second; 0.0 where it is not published: then
            reports count all traffic for main memory.
        source: where the figures are from.
        settings: what only its compiler needs.
    """

    name: str
    kind: str
    device_kind: str
    memory_bytes: int
    bandwidth: float
    peak_flops: Mapping[str, float] = field(hash=False)
    clock_hz: float | None
    launch_seconds: float
    source: str
    settings: Mapping[str, Any] = field(hash=False, repr=False)
    cache_bytes: int = 0
    cache_bandwidth: float = 0.0


def device_names(kind: str) -> list[str]:
    """The devices of a kind that there is a data file for, in order of their names."""
    return sorted(name for name, told in _files().items() if told["kind"] == kind)


def known_device(kind: str, name: str) -> Device | None:
    """The device of that kind and name, if there is a data file for it."""
    told = _files().get(name)
    if told is None or told["kind"] != kind:
        return None
    return Device(
        name,
        kind,
        told["device_kind"],
        int(told["memory_bytes"]),
        float(told["bandwidth"]),
        MappingProxyType({key: float(value) for key, value in told["peak_flops"].items()}),
        told.get("clock_hz"),
        float(told["launch_seconds"]),
        told["source"],
        MappingProxyType(told.get("settings", {})),
        int(told.get("cache_bytes", 0)),
        float(told.get("cache_bandwidth", 0.0)),
    )


@cache
def _files() -> dict[str, dict[str, Any]]:
    folder = files(__package__) / "devices"
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text())
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }

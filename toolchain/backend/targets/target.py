"""What a target is: the device, the numbers known of it, and how a family of targets is defined.

The numbers of each accelerator are in a data file, `devices/NAME.toml`, with their source. An
accelerator of this machine is inspected in a process of its own, so that this process does not
occupy it.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Protocol

from ...errors import MissingTargetError

_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
        clock_hz: of the compiler's cycle estimates; None where it makes none or it is unknown.
        launch_seconds: the cost of starting a kernel.
        cache_bytes: size of the last cache before main memory; 0 without one.
        cache_bandwidth: of that cache, bytes per second; 0.0 where it is not published: reports
            then count all traffic for main memory.
        source: where the numbers are from.
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
    """The devices of a kind that have a data file, in order of their names."""
    return sorted(name for name, data in _data_files().items() if data["kind"] == kind)


def known_device(kind: str, name: str) -> Device | None:
    """The device of that kind and name; None without a data file for it."""
    data = _data_files().get(name)
    if data is None or data["kind"] != kind:
        return None
    return Device(
        name,
        kind,
        data["device_kind"],
        int(data["memory_bytes"]),
        float(data["bandwidth"]),
        MappingProxyType({key: float(value) for key, value in data["peak_flops"].items()}),
        data.get("clock_hz"),
        float(data["launch_seconds"]),
        data["source"],
        MappingProxyType(data.get("settings", {})),
        int(data.get("cache_bytes", 0)),
        float(data.get("cache_bandwidth", 0.0)),
    )


@cache
def _data_files() -> dict[str, dict[str, Any]]:
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text())
        for file in (files(__package__) / "devices").iterdir()
        if file.name.endswith(".toml")
    }


@dataclass(frozen=True, repr=False)
class Target:
    """Hardware to compile for, present or not.

    Attributes:
        name: as the user wrote it: "cpu", "gpu:h100", "tpu:v5e:2x2".
        kind: the name that rules use: "cpu", "gpu" or "tpu".
        platform: what JAX lowers for: "cpu", "cuda", "rocm" or "tpu".
        device: one of its devices.
        most_devices: how many devices it has; None where it has as many as a program needs.
        is_present: whether this machine can run what is compiled for it.
        missing: how to install its compiler, a command; empty where it is installed.
        environment: variables to set before jax is imported in the process that compiles.
        topology: the arguments of the compiler's description of the hardware.
    """

    name: str
    kind: str
    platform: str
    device: Device
    most_devices: int | None = 1
    is_present: bool = False
    missing: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    topology: Mapping[str, Any] = field(default_factory=lambda: _NOTHING, hash=False)

    def __repr__(self) -> str:
        state = "present" if self.is_present else self.missing or "compiles"
        count = "" if self.most_devices in (1, None) else f", {self.most_devices} devices"
        return f"<jxc target {self.name}: {self.device.name}{count}, {state}>"


@dataclass(frozen=True)
class Offer:
    """A line of `jxc targets`.

    Attributes:
        name: what to give to `--target`; in capitals what is to be filled in.
        what: the hardware in words.
        state: "present", "compiles" (for hardware that is not here), or what to install.
    """

    name: str
    what: str
    state: str


class Family(Protocol):
    """A kind of targets: what an entry point of the group `jxc.targets` loads."""

    def find(self, rest: str) -> Target:
        """The target named `FAMILY:rest`; `rest` is empty for `FAMILY` alone.

        Raises:
            UsageError: there is no such target; the message lists those there are.
        """
        ...

    def offers(self) -> Sequence[Offer]:
        """The targets to compile for; must not import jax."""
        ...

    def devices(self, target: Target, count: int) -> Sequence[Any]:
        """The devices to compile for. Called in a process with `target.environment` set.

        Args:
            target: one of this family's.
            count: how many devices the program is for.
        """
        ...


_QUESTION = "import jax; d = jax.devices({kind!r}); print('jxc:', len(d), d[0].device_kind)"
_SECONDS = 120  # for jax to start on an accelerator


def present_target(kind: str, platform: str, hint: str) -> Target:
    """The accelerator of a kind that this machine has.

    Args:
        kind: "gpu" or "tpu".
        platform: what JAX lowers for.
        hint: what the user can do instead, for messages.

    Raises:
        MissingTargetError: JAX reaches none, or there is no data file for it.
    """
    found = _devices_here(kind)
    if found is None:
        raise MissingTargetError(f"--target {kind}: JAX finds no {kind.upper()} here. {hint}")
    count, device_kind = found
    known = filter(None, (known_device(kind, name) for name in device_names(kind)))
    fitting = [device for device in known if device_kind.startswith(device.device_kind)]
    if not fitting:
        raise MissingTargetError(
            f"--target {kind}: jxc has no data on this machine's {device_kind}, only on "
            f"{', '.join(device_names(kind))}. {hint}"
        )
    device = max(fitting, key=lambda each: len(each.device_kind))
    environment = MappingProxyType({"JAX_PLATFORMS": f"{platform},cpu"})
    return Target(kind, kind, platform, device, count, True, "", environment)


@cache
def _devices_here(kind: str) -> tuple[int, str] | None:
    """How many devices of a kind JAX finds, and the name it gives them."""
    command = [sys.executable, "-c", _QUESTION.format(kind=kind)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    answers = [line for line in done.stdout.splitlines() if line.startswith("jxc: ")]
    if not answers:
        return None
    _, count, name = answers[0].split(" ", 2)
    return int(count), name

"""Targets as values, and the interface of a family of targets.

An accelerator of this machine is queried in a separate process: this one does not occupy it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from ...cost.device import Device, device_named, known_devices
from ...errors import MissingTargetError, UsageError, did_you_mean


def find_device(kind: str, name: str, target: str, more: str = "") -> Device:
    """The device of a kind and name.

    Args:
        kind: "gpu" or "tpu".
        name: the device's name.
        target: as the user wrote it, for messages.
        more: what the user can name besides known devices, for messages.

    Raises:
        UsageError: there is no data file for it.
    """
    known = known_devices(kind)
    if name in known:
        return known[name]
    raise UsageError(
        f"--target {target}: no {kind.upper()} {name!r} is known; known are {', '.join(known)}"
        f"{more}.{did_you_mean(name, list(known))}"
    )


@dataclass(frozen=True, repr=False)
class Target:
    """Hardware to compile for, present or not.

    Attributes:
        name: as the user wrote it: "cpu", "gpu:h100", "tpu:v5e:2x2".
        kind: the name that rules use: "cpu", "gpu" or "tpu".
        platform: what JAX lowers for: "cpu", "cuda", "rocm" or "tpu".
        device: one of its devices.
        most_devices: how many devices it has; None if it has as many as a program needs.
        is_present: whether this machine can run what is compiled for it.
        missing: the command that installs its compiler; empty if it is installed.
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
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    topology: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        state = "present" if self.is_present else self.missing or "compiles"
        count = "" if self.most_devices in (1, None) else f", {self.most_devices} devices"
        return f"<jxc target {self.name}: {self.device.name}{count}, {state}>"


@dataclass(frozen=True)
class Offer:
    """A line of `jxc targets`.

    Attributes:
        name: the value for `--target`, with placeholders in capitals.
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
    device = device_named(kind, device_kind)
    if device is None:
        raise MissingTargetError(
            f"--target {kind}: jxc has no data on this machine's {device_kind}, only on "
            f"{', '.join(known_devices(kind))}. {hint}"
        )
    environment = {"JAX_PLATFORMS": f"{platform},cpu"}
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

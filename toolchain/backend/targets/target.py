"""What a program can be compiled for, and how a kind of targets describes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from .device import Device


@dataclass(frozen=True)
class Target:
    """Hardware to compile for, present or not.

    Attributes:
        name: as the user wrote it: "cpu", "gpu:h100", "tpu:v5e:2x2".
        kind: what rules know it as: "cpu", "gpu" or "tpu".
        platform: what JAX lowers for: "cpu", "cuda", "rocm" or "tpu".
        device: one of its devices.
        most_devices: how many there are; None where there are as many as are asked for.
        is_present: whether what is compiled for it runs on this machine.
        missing: what must be installed before it can be compiled for, a sentence; empty if nothing.
        environment: variables that must be set before jax is imported, where it is compiled.
        topology: what the compiler's description of the hardware is made of.
    """

    name: str
    kind: str
    platform: str
    device: Device
    most_devices: int | None = 1
    is_present: bool = False
    missing: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    topology: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)


@dataclass(frozen=True)
class Offer:
    """A line of `jxc targets`.

    Attributes:
        name: what to give to `--target`; in capitals what is to be filled in.
        what: the hardware in words.
        state: "present", "compiles" (for hardware that is not there), or what to install.
    """

    name: str
    what: str
    state: str


class Family(Protocol):
    """A kind of targets: what an entry point of the group `jxc.targets` is."""

    def find(self, rest: str) -> Target:
        """The target named `FAMILY:rest`; `rest` is empty for `FAMILY` alone.

        Raises:
            UsageError: there is no such one; the message says which there are.
        """
        ...

    def offers(self) -> Sequence[Offer]:
        """What can be compiled for, without importing jax."""
        ...

    def devices(self, target: Target, count: int) -> Sequence[Any]:
        """The devices to compile for: called where `target.environment` is set.

        Args:
            target: one of this family's.
            count: how many the program is for.
        """
        ...

"""The CPU of this machine, which XLA splits into as many devices as a program needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...cost.device import this_cpu
from ...cost.rates import rates_of
from ...errors import UsageError
from .target import Offer, Target


def find(rest: str) -> Target:
    """The target "cpu"."""
    if rest:
        raise UsageError(f"--target cpu:{rest}: expected cpu; --mesh says how many devices")
    environment = {"JAX_PLATFORMS": "cpu"}
    return Target("cpu", "cpu", "cpu", this_cpu(rates_of("cpu")), None, True, "", environment)


def offers() -> Sequence[Offer]:
    """This machine's own."""
    return [Offer("cpu", f"this machine's, {os.cpu_count()} cores", "present")]


def devices(target: Target, count: int) -> Sequence[Any]:
    """The first `count` devices of the CPU."""
    import jax

    return list(jax.devices("cpu")[:count])

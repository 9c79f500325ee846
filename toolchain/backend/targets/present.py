"""Accelerators of this machine, asked for in a process of their own: they stay free for others."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from types import MappingProxyType

from ...errors import MissingTargetError
from .device import Device, device_names, known_device
from .target import Target

_QUESTION = "import jax; d = jax.devices({kind!r}); print('jxc:', len(d), d[0].device_kind)"
_SECONDS = 120


def present_target(kind: str, platform: str, hint: str) -> Target:
    """The accelerator of a kind that this machine has.

    Raises:
        MissingTargetError: it has none that JAX can reach, or one that there are no figures for.
    """
    found = _ask(kind)
    if found is None:
        raise MissingTargetError(f"--target {kind}: JAX finds no {kind.upper()} here. {hint}")
    count, device_kind = found
    device = _of_kind(kind, device_kind)
    if device is None:
        raise MissingTargetError(
            f"--target {kind}: there are no figures for this machine's {device_kind}; there are "
            f"for {', '.join(device_names(kind))}. {hint}"
        )
    environment = MappingProxyType({"JAX_PLATFORMS": f"{platform},cpu"})
    return Target(kind, kind, platform, device, count, True, "", environment)


def _of_kind(kind: str, device_kind: str) -> Device | None:
    known = [known_device(kind, name) for name in device_names(kind)]
    fitting = [d for d in known if d and device_kind.startswith(d.device_kind)]
    return max(fitting, key=lambda d: len(d.device_kind), default=None)


@cache
def _ask(kind: str) -> tuple[int, str] | None:
    """How many there are, and what JAX calls them."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _QUESTION.format(kind=kind)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    told = [line for line in done.stdout.splitlines() if line.startswith("jxc: ")]
    if not told:
        return None
    _, count, name = told[0].split(" ", 2)
    return int(count), name

"""Targets by name: `find_target("tpu:v5e:2x2")`, and what each can be compiled with.

cpu, gpu and tpu are modules here; other packages bring families of targets by entry points of the
group `jxc.targets`. Importing this package imports neither jax nor MLIR.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import cast

from ...cost.device import Device
from ...errors import MissingTargetError, UsageError, did_you_mean
from .target import Family, Offer, Target

__all__ = [
    "Device",
    "Family",
    "Offer",
    "Target",
    "all_offers",
    "find_family",
    "find_target",
    "find_targets",
    "require",
]

ENTRY_POINTS = "jxc.targets"

_OURS = ("cpu", "gpu", "tpu")


def find_target(name: str) -> Target:
    """The target of a name such as "cpu", "gpu:h100", "tpu:v5e:2x2".

    Raises:
        UsageError: there is no such target.
        MissingTargetError: it names hardware of this machine that is not here.
    """
    family, _, rest = name.partition(":")
    return find_family(family).find(rest)


def find_targets(names: str) -> list[Target]:
    """The targets in `names`, which are separated by commas; each once."""
    each = [name.strip() for name in names.split(",")]
    if not all(each):
        raise UsageError(f"--target {names}: expected names separated by commas")
    return [find_target(name) for name in dict.fromkeys(each)]


def require(target: Target) -> None:
    """Check that the compiler of `target` is installed.

    Raises:
        MissingTargetError: it is not; the message says what to install.
    """
    if target.missing:
        raise MissingTargetError(
            f"--target {target.name}: its compiler is not installed here: {target.missing}"
        )


def find_family(name: str) -> Family:
    """The family of targets that a target's name begins with."""
    if name in _OURS:
        return cast(Family, importlib.import_module(f".{name}", __package__))
    others = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name in others:
        return cast(Family, others[name].load())
    known = [*_OURS, *others]
    raise UsageError(
        f"--target {name}: expected {', '.join(known)}, or one of `jxc targets`."
        f"{did_you_mean(name, known)}"
    )


def all_offers() -> Sequence[Offer]:
    """Everything that `--target` accepts here, jxc's own families first."""
    names = [*_OURS, *(point.name for point in entry_points(group=ENTRY_POINTS))]
    return [offer for name in names for offer in find_family(name).offers()]

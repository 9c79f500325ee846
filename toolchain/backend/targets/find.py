"""Targets by name: ours, and those of other packages by the entry-point group `jxc.targets`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import cast

from ...errors import MissingTargetError, UsageError, did_you_mean
from .target import Family, Offer, Target

ENTRY_POINTS = "jxc.targets"

_OURS = ("cpu", "gpu", "tpu")


def find_target(name: str) -> Target:
    """The target of a name such as "cpu", "gpu:h100", "tpu:v5e:2x2".

    Raises:
        UsageError: there is no such target.
        MissingTargetError: it is for hardware that should be here and is not.
    """
    family, _, rest = name.partition(":")
    return find_family(family).find(rest)


def find_targets(names: str) -> list[Target]:
    """The targets in `names`, which are separated by commas; each once."""
    words = [word.strip() for word in names.split(",")]
    if not all(words):
        raise UsageError(f"--target {names}: expected names separated by commas")
    return [find_target(word) for word in dict.fromkeys(words)]


def require(target: Target) -> None:
    """See that a target can be compiled for here.

    Raises:
        MissingTargetError: something must be installed; the message says what.
    """
    if target.missing:
        raise MissingTargetError(
            f"--target {target.name}: its compiler is not installed here: {target.missing}"
        )


def find_family(name: str) -> Family:
    """The kind of targets that a name begins with."""
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
    """Everything that `--target` takes here, ours first."""
    names = [*_OURS, *(point.name for point in entry_points(group=ENTRY_POINTS))]
    return [offer for name in names for offer in find_family(name).offers()]

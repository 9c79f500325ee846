"""What can be compiled for: `find_target("tpu:v5e:2x2")`, and `build` compiles a module for it."""

from __future__ import annotations

from .build import Build, BuildError, build
from .device import Device
from .find import all_offers, find_target, find_targets
from .target import Family, Offer, Target

__all__ = [
    "Build",
    "BuildError",
    "Device",
    "Family",
    "Offer",
    "Target",
    "all_offers",
    "build",
    "find_target",
    "find_targets",
]

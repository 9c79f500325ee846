"""What can be compiled for: `find_target("tpu:v5e:2x2")`; `.build` compiles a module for it.

Importing this imports neither jax nor MLIR.
"""

from __future__ import annotations

from .device import Device
from .find import all_offers, find_target, find_targets, require
from .target import Family, Offer, Target

__all__ = [
    "Device",
    "Family",
    "Offer",
    "Target",
    "all_offers",
    "find_target",
    "find_targets",
    "require",
]

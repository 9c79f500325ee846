"""The rates that `jxc calibrate` measures: those that the decisions of passes read."""

from __future__ import annotations

import importlib
import pkgutil

from ... import passes
from ...cost import roofline
from ...cost.rates import Rate


def all_rates() -> dict[str, Rate]:
    """Every rate by name: of each pass family's `cost` module, and of the roofline."""
    families = sorted(info.name for info in pkgutil.iter_modules(passes.__path__) if info.ispkg)
    modules = [roofline]
    for family in families:
        package = importlib.import_module(f"{passes.__name__}.{family}")
        if any(info.name == "cost" for info in pkgutil.iter_modules(package.__path__)):
            modules.append(importlib.import_module(f"{package.__name__}.cost"))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rate)]
    return {rate.name: rate for rate in found}

"""`jxc calibrate`: measuring the rates by which passes decide.

Each rate is declared in `cost.cpu` or `cost.roofline`, or in the `cost` module of the pass family
that reads it.
Importing this does not import jax.
"""

from __future__ import annotations

import importlib
import pkgutil

from ... import passes
from ...cost import cpu, roofline
from ...cost.rates import Rate


def all_rates() -> dict[str, Rate]:
    """Every rate by name: of each pass family's `cost` module, of ops and the roofline."""
    modules = [roofline, cpu]
    for info in sorted(pkgutil.iter_modules(passes.__path__), key=lambda info: info.name):
        package = importlib.import_module(f"{passes.__name__}.{info.name}")
        if any(
            part.name == "cost" for part in pkgutil.iter_modules(getattr(package, "__path__", ()))
        ):
            modules.append(importlib.import_module(f"{package.__name__}.cost"))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rate)]
    return {rate.name: rate for rate in found}

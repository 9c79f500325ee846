"""Small programs whose run time gives the rates that rewrites are decided by; a file per family."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....cost.rates import Rate


@dataclass(frozen=True)
class Probe:
    """How one rate is measured.

    Attributes:
        rate: what it measures.
        program: gives a function to jit, as XLA gets it without passes, and its arguments.
        units: how many units of the rate's `doc` one call makes: its value is ns a call over this.
    """

    rate: Rate
    program: Callable[[], tuple[Callable[..., Any], Sequence[Any]]]
    units: float


def all_probes() -> list[Probe]:
    """Every probe of this package: the `PROBES` of its modules, in order of their names."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [probe for module in modules for probe in module.PROBES]

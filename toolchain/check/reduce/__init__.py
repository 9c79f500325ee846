"""Test-case reduction: the smallest module that still fails, from one that does."""

from __future__ import annotations

from .counterexample import find_counterexample
from .reducer import reduce_module
from .search import NotFailing, Reduction, Size, module_text

__all__ = [
    "NotFailing",
    "Reduction",
    "Size",
    "find_counterexample",
    "module_text",
    "reduce_module",
]

"""Assertions about compiled programs for tests; `plugin.py` offers them to pytest.

Importing this package imports neither jax nor MLIR.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .budgets import check_budget
    from .lit_suite import configure_lit
    from .texts import check_text

__all__ = ["check_budget", "check_text", "configure_lit"]

_HOME = {"check_budget": "budgets", "check_text": "texts", "configure_lit": "lit_suite"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jxc.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)

"""Checks that a rewrite keeps a program's meaning: draw arguments, run twice, compare."""

from __future__ import annotations

from .compare import Comparison, Mismatch, compare_modules
from .inputs import CannotRun
from .run import Interpreter

__all__ = ["CannotRun", "Comparison", "Interpreter", "Mismatch", "compare_modules"]

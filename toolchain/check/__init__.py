"""Checking that a rewrite keeps the meaning: arguments, two runs, a comparison."""

from __future__ import annotations

from .compare import Difference, Report, compare_modules
from .inputs import CannotRun
from .run import Interpreter

__all__ = ["CannotRun", "Difference", "Interpreter", "Report", "compare_modules"]

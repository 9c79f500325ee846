"""A linter of programs: what costs, at which line, and what to do about it."""

from .finding import Cost, Finding
from .program import Program, program_of
from .registry import Check, all_checks, check, choose_checks, compiled_check
from .run import Examination, doctor, examine

__all__ = [
    "Check",
    "Cost",
    "Examination",
    "Finding",
    "Program",
    "all_checks",
    "check",
    "choose_checks",
    "compiled_check",
    "doctor",
    "examine",
    "program_of",
]

"""A linter for programs: what costs time or memory, at which line, and what to do about it."""

from .finding import DoctorCheck, Finding, FindingCost, check, compiled_check
from .program import ExaminedProgram, program_of
from .run import DoctorResult, all_checks, choose_checks, doctor, examine

__all__ = [
    "DoctorCheck",
    "DoctorResult",
    "ExaminedProgram",
    "Finding",
    "FindingCost",
    "all_checks",
    "check",
    "choose_checks",
    "compiled_check",
    "doctor",
    "examine",
    "program_of",
]

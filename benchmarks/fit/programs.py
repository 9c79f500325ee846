"""All programs of the benchmark by name."""

from fit import loops, networks, transformers
from fit.registry import PROGRAMS, Program

__all__ = ["PROGRAMS", "Program", "loops", "networks", "transformers"]

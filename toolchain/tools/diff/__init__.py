"""`jxc diff`: the differences of two programs, by op and line, and in their optimized HLO."""

from .compare import compare
from .difference import DifferenceGroup, GraphDifference
from .output import ComparedProgram, Metric, ProgramComparison

__all__ = [
    "ComparedProgram",
    "DifferenceGroup",
    "GraphDifference",
    "Metric",
    "ProgramComparison",
    "compare",
]

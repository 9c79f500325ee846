"""`jxc diff`: the differences of two programs, by op and line, and in their optimized HLO."""

from .compare import ComparedProgram, Metric, ProgramComparison, compare
from .difference import DifferenceGroup, GraphDifference

__all__ = [
    "ComparedProgram",
    "DifferenceGroup",
    "GraphDifference",
    "Metric",
    "ProgramComparison",
    "compare",
]

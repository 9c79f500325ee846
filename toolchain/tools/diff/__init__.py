"""`jxc diff`: how two programs differ, by op and line, and in what a compiler makes of them."""

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

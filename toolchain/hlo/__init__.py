"""The text of optimized HLO, as XLA's compilers print it, read into Python objects."""

from ..source import SourceLine as SourceLine
from .parse import parse_hlo as parse_hlo
from .values import (
    Computation as Computation,
    Instruction as Instruction,
    Module as Module,
    Shape as Shape,
)

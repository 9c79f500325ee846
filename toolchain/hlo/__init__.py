"""XLA's HLO text, as its compilers print it, read into values."""

from ..source import SourceLine
from .parse import parse_hlo
from .values import Computation, Instruction, Module, Shape

__all__ = ["Computation", "Instruction", "Module", "Shape", "SourceLine", "parse_hlo"]

"""XLA's HLO text, as its compilers print it, read into values."""

from ..source.lines import Place
from .parse import parse_hlo
from .values import Computation, Instruction, Module, Shape

__all__ = ["Computation", "Instruction", "Module", "Place", "Shape", "parse_hlo"]

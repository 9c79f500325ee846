"""What two programs differ in: ops by structure and line, and what a compiler made of them."""

from .compare import Comparison, Program, compare
from .difference import Difference, Group
from .figures import Figure

__all__ = ["Comparison", "Difference", "Figure", "Group", "Program", "compare"]

"""The kernels of a compiled program, the least time that each takes, and what did not fuse."""

from .kernel import Kernel, kernels_of, least_seconds
from .neighbours import Neighbours, unfused_neighbours
from .roofline import Roofline

__all__ = ["Kernel", "Neighbours", "Roofline", "kernels_of", "least_seconds", "unfused_neighbours"]

"""From Python to a module: finding the function, reading its arguments, tracing and lowering.

Importing this package imports neither jax nor MLIR.
"""

from __future__ import annotations

from .request import LoweredTarget, LowerRequest, run_request
from .specs import parse_argument
from .target import resolve_target
from .transform import parse_transform

__all__ = [
    "LowerRequest",
    "LoweredTarget",
    "parse_argument",
    "parse_transform",
    "resolve_target",
    "run_request",
]

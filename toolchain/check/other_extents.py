"""A program at extents that nobody thinks of: 1 and 0."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from jaxlib.mlir import ir

from ..ir import clone_module, walk
from ..pipeline.native import run_native
from .entries import main_type
from .extents import is_dynamic
from .variants import NotValid, Plan, Program, rebuild

_MOST_OPS, _MOST_EXTENTS = 400, 4  # what is small enough to be built again, and how often


def at_other_extents(module: ir.Module) -> Iterator[ir.Module]:
    """The program of a module of one function, @main, with an extent of its arguments made 1, or 0.

    Each extent in turn, wherever it occurs, the largest first; what is no valid program then is
    left out, and so are programs of many ops.
    """
    program = Program.of(_inlined(module))
    if is_dynamic(module) or sum(1 for _ in walk(module.operation)) > _MOST_OPS:
        return
    kinds = [k for k in main_type(module).inputs if isinstance(k, ir.RankedTensorType)]
    extents = sorted({size for kind in kinds for size in kind.shape if size > 1}, reverse=True)
    for extent, other in product(extents[:_MOST_EXTENTS], (1, 0)):
        try:
            yield rebuild(program, Plan(Random(0), extents={extent: other}))
        except NotValid:
            continue


def _inlined(module: ir.Module) -> ir.Module:
    copy = clone_module(module)
    run_native("inline{default-pipeline=},symbol-dce", copy)
    return copy

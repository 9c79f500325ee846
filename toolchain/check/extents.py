"""Programs of dynamic extents, made static so that they can be run."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from ..ir import clone_module
from ..pipeline.native import run_native
from .entries import main_type
from .inputs import CannotRun

EXTENTS = (3, 1, 0)
"""What every dynamic extent of the arguments is taken to be, in turn."""

_PASSES = (
    "inline,symbol-dce,stablehlo-refine-arguments{{types={types}}},stablehlo-refine-shapes,"
    "func.func(stablehlo-canonicalize-dynamism,stablehlo-check-shape-assertions)"
)


def is_dynamic(module: ir.Module) -> bool:
    """Whether an argument of @main has a dynamic extent."""
    kinds = [k for k in main_type(module).inputs if isinstance(k, ir.RankedTensorType)]
    return not all(kind.has_static_shape for kind in kinds)


def static_pairs(before: ir.Module, after: ir.Module) -> Iterator[tuple[ir.Module, ir.Module]]:
    """Both modules at each of `EXTENTS` at which the first is a valid program; or as they are.

    Raises:
        CannotRun: the first is not valid at any of them, or the second not where the first is.
    """
    if not is_dynamic(before):
        yield before, after
        return
    refusals = []
    for extent in EXTENTS:
        try:
            static = at_extent(before, extent)
        except CannotRun as error:
            refusals.append(str(error))
            continue
        yield static, at_extent(after, extent)
    if len(refusals) == len(EXTENTS):
        raise CannotRun(f"dynamic extents: {refusals[0]}")


def at_extent(module: ir.Module, extent: int) -> ir.Module:
    """A copy of a module of one function, @main, whose dynamic extents are all `extent`.

    Raises:
        CannotRun: the program is not valid so.
    """
    copy = clone_module(module)
    with copy.context, ir.Location.unknown():
        types = ",".join(str(_static(kind, extent)) for kind in main_type(copy).inputs)
        try:
            run_native(_PASSES.format(types=types), copy)
        except ir.MLIRError as error:
            raise CannotRun(f"not valid at extent {extent}: {str(error).splitlines()[0]}") from None
    if any(not _has_static_shape(kind) for kind in main_type(copy).results):
        raise CannotRun(f"at extent {extent} its results are still dynamic")
    return copy


def _static(kind: ir.Type, extent: int) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [extent if size == dynamic else size for size in kind.shape]
    return ir.RankedTensorType.get(shape, kind.element_type)


def _has_static_shape(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape

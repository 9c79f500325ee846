"""Strategies on shapes: smaller extents, everywhere or along one argument's dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jaxlib.mlir import ir

from ...ir import walk
from ...ir.values import shape_of
from ..edit import body, entry
from ..rebuild import rebuild
from ..rebuild_types import Change
from .search import Edit, Search

_SMALL = (1, 2, 3)


def shrink_all_extents(search: Search) -> None:
    """All extents at once: to 1, 2 or 3, or halved until that no longer fails."""
    for target in _SMALL:
        if search.attempt(lambda m, t=target: resized(m, _capped(_extents(m), t))):  # type: ignore[misc]
            return
    while search.attempt(lambda m: resized(m, {n: -(-n // 2) for n in _extents(m)})):
        pass


def shrink_extents(search: Search) -> None:
    """One extent after the other, wherever it occurs: to 1, 2, 3 or half."""
    for extent in sorted(_extents(search.module), reverse=True):
        for target in _targets(extent):
            if search.attempt(lambda m, e=extent, t=target: resized(m, {e: t})):  # type: ignore[misc]
                break


def shrink_arguments(search: Search) -> None:
    """One dimension of one argument: to 1, 2, 3 or half."""
    for index in range(len(body(entry(search.module)).arguments)):
        argument = body(entry(search.module)).arguments[index]
        if not isinstance(argument.type, ir.RankedTensorType):
            continue
        for dimension, extent in enumerate(shape_of(argument)):
            for target in _targets(extent):
                if search.attempt(_resized(index, dimension, target)):
                    break


def resized(
    module: ir.Module,
    sizes: Mapping[int, int],
    arguments: Mapping[int, Sequence[int]] | None = None,
) -> ir.Module:
    """The module with other sizes, and the types and attributes that follow from them.

    Args:
        module: is left as it is.
        sizes: new sizes by old; the others stay.
        arguments: whole shapes for some arguments of @main, by index.

    Raises:
        NotValid: there is no such module.
    """
    return rebuild(module, Change(extents=sizes, arguments=arguments or {}))


def _resized(index: int, dimension: int, extent: int) -> Edit:
    def edit(module: ir.Module) -> ir.Module:
        shape = list(shape_of(body(entry(module)).arguments[index]))
        shape[dimension] = extent
        return resized(module, {}, {index: shape})

    return edit


def _targets(extent: int) -> list[int]:
    """What to try for an extent, the smallest first."""
    if extent <= 1:
        return []
    return [n for n in (*_SMALL, extent // 2) if n < extent]


def _capped(extents: Iterable[int], most: int) -> dict[int, int]:
    return {extent: min(extent, most) for extent in extents}


def _extents(module: ir.Module) -> set[int]:
    """Every static extent above 1 of a value's type."""
    kinds = [
        value.type
        for op in walk(module.operation)
        for value in (*op.results, *_block_arguments(op))
        if isinstance(value.type, ir.RankedTensorType)
    ]
    return {n for kind in kinds for n in ir.RankedTensorType(kind).shape if n > 1}


def _block_arguments(op: ir.OpView) -> list[ir.Value]:
    return [a for region in op.regions for block in region.blocks for a in block.arguments]

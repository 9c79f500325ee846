"""Operands of sorts and reductions whose results nobody uses, and sorts of at most one element."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ReduceOp, SortOp

from jxc.ir.values import is_used, static_shape
from jxc.rewrite import exact, rule

from .._shared.region import (
    copy_regions,
    drop_arguments,
    end_of,
    has_placeholder,
    needed_arguments,
    return_only,
    spread,
)


@rule(exact)
def sort_of_one(op: SortOp) -> Sequence[ir.Value] | None:
    """sort(x) -> x, along an extent of 0 or 1."""
    shape = static_shape(*op.inputs, *op.results)
    if shape is None or op.dimension is None or shape[op.dimension.value] > 1:
        return None
    return list(op.inputs)


@rule(exact)
def sort_unused(op: SortOp) -> Sequence[ir.Value] | None:
    """sort(x, y) -> sort(x), where the sorted y is not used, and the comparator ignores it."""
    used = _used(op)
    if used is None:
        return None
    block = op.comparator.blocks[0]
    asked = needed_arguments(block, end_of(op.comparator).operands)
    kept = sorted(used | {index // 2 for index in asked})
    if not _can_drop(op, kept, list(block.arguments)):
        return None
    made = SortOp(
        [op.results[i].type for i in kept],
        [op.inputs[i] for i in kept],
        dimension=op.dimension,
        is_stable=op.is_stable,
    )
    copy_regions(op, made)
    left = [i for i in range(len(op.inputs)) if i not in kept]
    both = [argument for i in left for argument in (2 * i, 2 * i + 1)]
    drop_arguments(made.comparator.blocks[0], dict.fromkeys(both))
    return spread(op, dict(zip(kept, made.results, strict=True)))


@rule(exact)
def reduce_unused(op: ReduceOp) -> Sequence[ir.Value] | None:
    """reduce(x, y) -> reduce(x), where the second result is not used, not by the first either."""
    used = _used(op)
    if used is None:
        return None
    kept, block, count = _closed(op, used), op.body.blocks[0], len(op.inputs)
    if not _can_drop(op, kept, list(block.arguments)):
        return None
    made = ReduceOp(
        [op.results[i].type for i in kept],
        [op.inputs[i] for i in kept],
        [op.init_values[i] for i in kept],
        op.dimensions,
    )
    copy_regions(op, made)
    left = [i for i in range(count) if i not in kept]
    body = made.body.blocks[0]
    return_only(body, kept)
    drop_arguments(body, dict.fromkeys([*left, *(count + i for i in left)]))
    return spread(op, dict(zip(kept, made.results, strict=True)))


def _used(op: SortOp | ReduceOp) -> set[int] | None:
    """Which results are used; None where all are, or none."""
    count = len(op.inputs)
    if count == 1:
        return None
    used = {index for index, result in enumerate(op.results) if is_used(result)}
    return used if 0 < len(used) < count else None


def _closed(op: ReduceOp, used: set[int]) -> list[int]:
    """The results that the used ones are computed from, themselves included."""
    block, ends, count = op.body.blocks[0], end_of(op.body).operands, len(op.inputs)
    kept, before = set(used), -1
    while len(kept) > before:
        before = len(kept)
        kept |= {index % count for index in needed_arguments(block, [ends[i] for i in kept])}
    return sorted(kept)


def _can_drop(op: SortOp | ReduceOp, kept: list[int], arguments: list[ir.Value]) -> bool:
    return len(kept) < len(op.inputs) and all(map(has_placeholder, [*op.results, *arguments]))

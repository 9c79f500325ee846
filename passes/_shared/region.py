"""Ops with regions: what their blocks need, and copies of them with fewer operands.

A copy is made in one go and changed afterwards. The regions of the op itself are left alone: the
driver may still have to visit what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import build, has_regions, walk
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.effects import is_pure
from jxc.ir.values import element_type, is_used


def has_effects(op: ir.OpView) -> bool:
    """Whether an op, or one in its regions, does something besides computing results, or may."""
    return not is_pure(op) or (has_regions(op) and not all(map(is_pure, walk(op))))


def effect_operands(block: ir.Block) -> Iterator[ir.Value]:
    """All values that the ops of a block that have effects depend on, also within their regions."""
    for op in block.operations:
        if has_effects(op):
            for each in (op, *walk(op)):
                yield from each.operands


def end_of(region: ir.Region) -> ir.OpView:
    """What ends the one block of a region."""
    block = region.blocks[0]
    return block.operations[len(block.operations) - 1]


def needed_arguments(
    block: ir.Block, values: Sequence[ir.Value], following: Sequence[ir.Value] = ()
) -> set[int]:
    """Which of the block's arguments `values` are computed from, by index.

    Args:
        block: the block.
        values: of the block, or from outside it.
        following: what each argument is in the next turn of a loop, if the block is its body: what
            that is computed from is needed too.
    """
    arguments = {argument: index for index, argument in enumerate(block.arguments)}
    makers = {result: op for op in block.operations for result in op.results}
    found, seen, pending = set(), set(), list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in arguments:
            found.add(arguments[value])
            pending += following[arguments[value] : arguments[value] + 1]
        elif value in makers:
            op = makers[value]
            pending += op.operands
            if has_regions(op):
                pending += [operand for inner in walk(op) for operand in inner.operands]
    return found


def copy_regions(op: ir.OpView, made: ir.OpView) -> None:
    """Give `made`, whose regions are empty, copies of the blocks of `op`."""
    copy = op.operation.clone()
    for source, target in zip(copy.regions, made.operation.regions, strict=True):
        source.blocks[0].append_to(target)
    copy.erase()


def drop_arguments(block: ir.Block, instead: Mapping[int, ir.Value | None]) -> None:
    """Take arguments away, by index; another value comes where they were used, zeros for None."""
    for index in sorted(instead, reverse=True):
        argument, other = block.arguments[index], instead[index]
        if other is None and is_used(argument):
            with ir.InsertionPoint.at_block_begin(block):
                other = placeholder(argument.type)
        if other is not None:
            argument.replace_all_uses_with(other)
        block.erase_argument(index)


def return_only(block: ir.Block, kept: Sequence[int]) -> None:
    """Return these of the values that a block returns; erase what was done for the others only."""
    *ops, end = block.operations
    with ir.InsertionPoint(end):
        stablehlo.return_([end.operands[index] for index in kept])
    end.operation.erase()
    for op in reversed(ops):
        if not any(map(is_used, op.results)) and not has_effects(op):
            op.operation.erase()


def inline_block(op: ir.OpView, region: int, arguments: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """A copy of what one region of `op` does, in place of `op`; what it returns."""
    copy = op.operation.clone()
    block = copy.regions[region].blocks[0]
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *ops, end = block.operations
    for each in ops:
        each.operation.move_before(copy)
    values = list(end.operands)
    copy.erase()
    return values


def placeholder(kind: ir.Type) -> ir.Value:
    """Zeros, for a value that does not matter; see `has_placeholder`."""
    dtype = numpy_dtype(ir.RankedTensorType(kind).element_type)
    assert dtype is not None
    return build.dense(np.zeros((), dtype), kind)


def has_placeholder(value: ir.Value) -> bool:
    """Whether there are zeros of the type of `value`: not of tokens, or of dynamic extents."""
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    kind = ir.RankedTensorType(value.type)
    is_plain = kind.has_static_shape and kind.encoding is None
    return is_plain and numpy_dtype(element_type(value)) is not None


def spread(op: ir.OpView, known: Mapping[int, ir.Value]) -> list[ir.Value]:
    """A value for each result of `op`: the known ones, by index, and zeros where nobody asks."""
    return [
        known[index] if index in known else placeholder(result.type)
        for index, result in enumerate(op.results)
    ]

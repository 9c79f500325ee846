"""Ops with regions: what their blocks use, and copies of them with fewer operands and results.

A copy is made whole and edited afterwards. The regions of the original op stay as they are: the
driver may still visit the ops in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build, has_regions, walk
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.module import is_pure, terminator
from jxc.ir.values import element_type, is_used


def has_effects(op: ir.OpView) -> bool:
    """Whether an op, or an op in its regions, may have an effect besides computing its results."""
    return not is_pure(op) or (has_regions(op) and not all(map(is_pure, walk(op))))


def effect_operands(block: ir.Block) -> Iterator[ir.Value]:
    """The operands of the ops in a block that have effects, and of the ops in their regions."""
    for op in block.operations:
        if has_effects(op):
            for each in (op, *walk(op)):
                yield from each.operands


def end_of(region: ir.Region) -> ir.OpView:
    """The terminator of the one block of a region."""
    return terminator(region.blocks[0])


def needed_arguments(
    block: ir.Block, values: Sequence[ir.Value], following: Sequence[ir.Value] = ()
) -> set[int]:
    """The indices of the block's arguments from which `values` are computed.

    Args:
        block: the block.
        values: values of the block, or from outside of it.
        following: if the block is the body of a loop, the value of each argument in the next
            iteration: the arguments from which that is computed are needed too.
    """
    arguments = {argument: index for index, argument in enumerate(block.arguments)}
    makers = {result: op for op in block.operations for result in op.results}
    found, seen, pending = set(), set(), list(values)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        if value in arguments:
            seen.add(value)
            found.add(arguments[value])
            pending += following[arguments[value] : arguments[value] + 1]
        elif value in makers:
            op = makers[value]
            seen.update(op.results)  # an op is inspected once, not once for each of its results
            pending += op.operands
            if has_regions(op):
                pending += [operand for inner in walk(op) for operand in inner.operands]
    return found


def copy_regions(op: ir.OpView, made: ir.OpView) -> None:
    """Copy the blocks of `op` into `made`, whose regions are empty."""
    copy = op.operation.clone()
    for source, target in zip(copy.regions, made.operation.regions, strict=True):
        source.blocks[0].append_to(target)
    copy.erase()


def drop_arguments(block: ir.Block, instead: Mapping[int, ir.Value | None]) -> None:
    """Remove arguments by index, and replace their uses by the given value; by zeros for None."""
    for index in sorted(instead, reverse=True):
        argument, other = block.arguments[index], instead[index]
        if other is None and is_used(argument):
            with ir.InsertionPoint.at_block_begin(block):
                other = build.constant(0, argument)
        if other is not None:
            argument.replace_all_uses_with(other)
        block.erase_argument(index)


def return_only(block: ir.Block, kept: Sequence[int]) -> None:
    """Let a block return only the values at `kept`, and erase the ops that become dead."""
    *ops, end = block.operations
    with ir.InsertionPoint(end):
        hlo.return_([end.operands[index] for index in kept])
    end.operation.erase()
    for op in reversed(ops):
        if not any(map(is_used, op.results)) and not has_effects(op):
            op.operation.erase()


def inline_block(op: ir.OpView, region: int, arguments: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """Copy the ops of one region of `op` before `op`; return the values that the region returns."""
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


def has_placeholder(value: ir.Value) -> bool:
    """Whether a constant can have the type of `value`: tokens and dynamic shapes have none."""
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    kind = ir.RankedTensorType(value.type)
    is_plain = kind.has_static_shape and kind.encoding is None
    return is_plain and numpy_dtype(element_type(value)) is not None


def with_placeholders(op: ir.OpView, known: Mapping[int, ir.Value]) -> list[ir.Value]:
    """A value for each result of `op`: those in `known` by index, zeros for the unused others."""
    return [
        known[index] if index in known else build.constant(0, result)
        for index, result in enumerate(op.results)
    ]

"""Copies of counted loops that read values of the body from outside, or write them for later use.

The regions of the original loop stay as they are: the driver may still visit the ops in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.materialize import materialize
from jxc.ir.module import terminator
from jxc.ir.values import element_type, is_used, shape_of

from .._shared.elementwise import with_shape
from .._shared.region import copy_regions, drop_arguments, has_effects
from .counted import CountedLoop


def reading(
    loop: CountedLoop,
    rows: Mapping[ir.Value, ir.Value],
    *,
    is_reverse: bool,
    is_copied: bool,
) -> list[ir.Value]:
    """The results of a copy of `loop` that reads some values of its body instead of computing them.

    Args:
        loop: the loop.
        rows: values of the body, and their rows outside of the loop.
        is_reverse: whether the row of the last iteration comes first.
        is_copied: whether to copy each row before it is used.
    """
    made = hlo.WhileOp([each.type for each in loop.op.results], list(loop.op.operand))
    copy_regions(loop.op, made)
    block = made.body.blocks[0]
    same = counterparts(loop, block)
    for value, tensor in rows.items():
        copy = same(value)
        with ir.InsertionPoint(copy.owner), copy.location:
            starts = build.starts_along(tensor, {0: _position(loop, block, is_reverse)})
            row = hlo.dynamic_slice(tensor, starts, [1, *shape_of(value)])
            if is_copied:
                row = materialize(row)
            copy.replace_all_uses_with(build.reshape(row, shape_of(value)))
    erase_unused(block)
    return list(made.results)


def writing(
    loop: CountedLoop, values: Sequence[ir.Value], left: Collection[int], *, is_reverse: bool
) -> tuple[dict[int, ir.Value], list[ir.Value]]:
    """The results of a copy of `loop` that writes a row of each of `values` in each iteration.

    Args:
        loop: the loop.
        values: of its body.
        left: the carried values that the copy does not have; nothing else is computed from them.
        is_reverse: whether the row of the last iteration is written first.

    Returns:
        The results for the other carried values, by number, and the rows of each of `values`.
    """
    kept = [index for index in range(len(loop.ends)) if index not in left]
    stacks = [build.constant(0, with_shape(each, [loop.trips, *shape_of(each)])) for each in values]
    given = [*(loop.op.operand[index] for index in kept), *stacks]
    made = hlo.WhileOp([each.type for each in given], given)
    copy_regions(loop.op, made)
    for region in made.regions:
        for stack in stacks:
            region.blocks[0].add_argument(stack.type, stack.location)
    block = made.body.blocks[0]
    same, end = counterparts(loop, block), terminator(block)
    with ir.InsertionPoint(end):
        arguments = list(block.arguments)[len(loop.ends) :]
        written = [
            _written(argument, same(value), _position(loop, block, is_reverse))
            for argument, value in zip(arguments, values, strict=True)
        ]
        hlo.return_([*(end.operands[index] for index in kept), *written])
    end.operation.erase()
    erase_unused(block)
    for region in made.regions:
        drop_arguments(region.blocks[0], dict.fromkeys(left))
    results = list(made.results)
    return dict(zip(kept, results, strict=False)), results[len(kept) :]


def _written(stack: ir.Value, value: ir.Value, position: ir.Value) -> ir.Value:
    row = build.reshape(value, [1, *shape_of(value)])
    return hlo.dynamic_update_slice(stack, row, build.starts_along(stack, {0: position}))


def counterparts(loop: CountedLoop, block: ir.Block) -> Callable[[ir.Value], ir.Value]:
    """A function from values of the loop's body to those of its copy `block`."""
    ops = list(block.operations)

    def same(value: ir.Value) -> ir.Value:
        if value in loop.arguments:
            return block.arguments[loop.arguments[value]]
        if value in loop.position:
            return ops[loop.position[value]].results[ir.OpResult(value).result_number]
        return value

    return same


def _position(loop: CountedLoop, block: ir.Block, is_reverse: bool) -> ir.Value:
    """The number of the row that an iteration of a copy of the loop reads or writes."""
    carry, index = loop.counter
    counter = block.arguments[carry]
    first, last = index.first, index.last(loop.trips)
    if (index.step > 0) != is_reverse:
        lowest = min(first, last)
        kind = element_type(counter)
        return hlo.subtract(counter, build.scalar(lowest, kind)) if lowest else counter
    return hlo.subtract(build.scalar(max(first, last), element_type(counter)), counter)


def erase_unused(block: ir.Block) -> None:
    """Erase the ops of a block that have no effects and whose results have no uses."""
    *ops, _ = block.operations
    for op in reversed(ops):
        if not any(map(is_used, op.results)) and not has_effects(op):
            op.operation.erase()

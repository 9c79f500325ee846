"""Adds carried values to loops, and removes unused ones, in place."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.extra_results import add_loop_values
from jxc.ir.module import ops_of, terminator
from jxc.ir.values import is_used, shape_of

from .._shared.elementwise import with_shape
from .._shared.region import (
    drop_arguments,
    effect_operands,
    end_of,
    needed_arguments,
    return_only,
)
from ..loops.copies import erase_unused
from .copies import write_row

_SHARDINGS = ("sdy.sharding", "mhlo.sharding")  # one entry for each of the old results


def add_stacks(
    op: hlo.WhileOp, values: Sequence[ir.Value], position: ir.Value, rows: int
) -> tuple[hlo.WhileOp, list[ir.Value]]:
    """Let a loop write `values` into a row of stacks in each iteration.

    Args:
        op: the loop, erased.
        values: values of its body.
        position: the row, in its body.
        rows: the number of rows of each stack.

    Returns:
        The new loop, and its results that are the stacks: rows first.
    """
    body = op.body.blocks[0]
    with ir.InsertionPoint(op), op.location:
        stacks = [build.constant(0, with_shape(v, [rows, *shape_of(v)])) for v in values]
    with ir.InsertionPoint(terminator(body)), op.location:
        written = [
            write_row(body.add_argument(stack.type, op.location), value, position)
            for stack, value in zip(stacks, values, strict=True)
        ]
    made = add_loop_values(op, stacks, written)
    return made, list(made.results)[len(made.results) - len(stacks) :]


def drop_unused(op: hlo.WhileOp) -> hlo.WhileOp:
    """Remove the carried values from which nothing that is used is computed, in inner loops too.

    Returns:
        The loop that replaces `op`, or `op` if all of its carried values are needed.
    """
    erase_unused(op.body.blocks[0])
    needed = _needed(op)
    made = op if len(needed) == len(op.results) else keeping(op, sorted(needed))
    body = made.body.blocks[0]
    for inner in reversed(ops_of(body)):
        if isinstance(inner, hlo.WhileOp) and not all(map(is_used, inner.results)):
            drop_unused(inner)
    erase_unused(body)
    return made


def _needed(op: hlo.WhileOp) -> set[int]:
    """The numbers of the carried values that are needed, and of all that are no tensors."""
    test, body, ends = op.cond.blocks[0], op.body.blocks[0], list(end_of(op.body).operands)
    needed = {index for index, result in enumerate(op.results) if is_used(result)}
    needed |= needed_arguments(test, [*end_of(op.cond).operands, *effect_operands(test)])
    needed |= {index for index, value in enumerate(op.operand) if not _is_tensor(value)}
    made_from = [*(ends[index] for index in needed), *effect_operands(body)]
    return needed | needed_arguments(body, made_from, ends)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def keeping(op: hlo.WhileOp, kept: Sequence[int]) -> hlo.WhileOp:
    """The loop that replaces `op`, with some of its carried values; nothing reads the others.

    Args:
        op: the loop.
        kept: the numbers of the values, in order.
    """
    with ir.InsertionPoint(op), op.location:
        made = hlo.WhileOp([op.results[i].type for i in kept], [op.operand[i] for i in kept])
    for name, attribute in op.attributes.items():
        if name not in _SHARDINGS:
            made.attributes[name] = attribute
    left = [index for index in range(len(op.results)) if index not in kept]
    for source, target in zip(op.regions, made.regions, strict=True):
        source.blocks[0].append_to(target)
    with op.location:
        return_only(made.body.blocks[0], kept)
        for region in made.regions:
            drop_arguments(region.blocks[0], dict.fromkeys(left))
    for index, result in zip(kept, made.results, strict=True):
        op.results[index].replace_all_uses_with(result)
    op.operation.erase()
    return made

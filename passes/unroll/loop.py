"""Loops with a constant number of iterations, whose body is repeated."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import step_of
from jxc.ir.module import terminator
from jxc.passes.loops.counted import CountedLoop
from jxc.passes.unroll import cost as cost
from jxc.rewrite import PassContext, exact, rule

from .._shared.region import copy_regions, has_effects, inline_block


@rule(exact, targets=("gpu", "tpu"), partitioned=False)
def unroll_loop(op: hlo.WhileOp, context: PassContext) -> Sequence[ir.Value] | None:
    """while(i < n, f) -> while(i < n, f(f(x))) for even n; for odd n, f is applied once before."""
    if (loop := CountedLoop.of(op)) is None:
        return None
    tested = next(i for i in range(len(loop.ends)) if loop.is_tested(i))
    if step_of(op, tested) != 1:  # such as an unrolled one
        return None
    if not all(isinstance(value.type, ir.RankedTensorType) for value in op.operand):
        return None
    values = list(op.operand)
    if [value.type for value in values] != [result.type for result in op.results]:
        return None
    copies = cost.copies(context.target, loop.trips, loop.ops)
    if copies < 2 or has_effects(op):
        return None
    for _ in range(loop.trips % copies):
        values = inline_block(op, 1, values)
    if copies > loop.trips // 2:
        for _ in range(copies):
            values = inline_block(op, 1, values)
        return values
    made = hlo.WhileOp([value.type for value in values], values)
    copy_regions(op, made)
    _repeat(op, made, copies, tested)
    return list(made.results)


def _repeat(op: hlo.WhileOp, made: hlo.WhileOp, copies: int, tested: int) -> None:
    """Let the body of `made`, a copy of `op`, do `copies` iterations, counted by `tested`."""
    block = made.body.blocks[0]
    end, counter = terminator(block), block.arguments[tested]
    values = list(end.operands)
    with ir.InsertionPoint(end):
        for _ in range(copies - 1):
            values = inline_block(op, 1, values)
        values[tested] = hlo.add(counter, build.splat(copies, counter.type))
        hlo.return_(values)
    end.operation.erase()

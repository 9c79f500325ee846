"""Loops with a constant number of iterations, whose body is repeated."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import step_of
from jxc.ir.module import terminator
from jxc.ir.values import is_integer, shape_of
from jxc.rewrite import PassContext, exact, rule

from .._shared.region import copy_regions, has_effects, inline_block
from ..loops.counted import CountedLoop
from . import cost


@rule(exact, targets=("gpu", "tpu"))
def unroll_loop(op: hlo.WhileOp, context: PassContext) -> Sequence[ir.Value] | None:
    """while(i < n, f) -> while(i < n, f(f(x))) for even n; for odd n, f is applied once before."""
    if (loop := CountedLoop.of(op)) is None:
        return None
    if not all(isinstance(value.type, ir.RankedTensorType) for value in op.operand):
        return None
    tested = next(i for i in range(len(loop.ends)) if loop.is_tested(i))
    steps = [_step(op, i) for i in range(len(loop.ends))]
    if steps[tested] != 1 or any(abs(step) > 1 for step in steps):  # such as an unrolled one
        return None
    values = list(op.operand)
    if [value.type for value in values] != [result.type for result in op.results]:
        return None
    copies = cost.copies(loop, context)
    if copies < 2 or has_effects(op):
        return None
    for _ in range(loop.trips % copies):
        values = inline_block(op, 1, values)
    if copies > loop.trips // 2:
        for _ in range(copies):
            values = inline_block(op, 1, values)
        return values
    counters = [build.splat(0, op.operands[tested].type)] if sum(map(abs, steps)) > 1 else []
    made = hlo.WhileOp([value.type for value in (*values, *counters)], [*values, *counters])
    copy_regions(op, made)
    _repeat(op, made, copies, steps)
    if counters:
        _count(made, loop.trips // copies)
    return list(made.results)[: len(values)]


def _step(op: hlo.WhileOp, index: int) -> int:
    """The number that each iteration adds to a carried scalar; 0 if it does something else."""
    value = op.operands[index]
    is_counter = is_integer(value) and shape_of(value) == ()
    return (step_of(op, index) or 0) if is_counter else 0


def _repeat(op: hlo.WhileOp, made: hlo.WhileOp, copies: int, steps: Sequence[int]) -> None:
    """Let the body of `made`, a copy of `op`, do `copies` iterations.

    Args:
        op: the loop.
        made: its copy.
        copies: the number of iterations.
        steps: 1 and -1 for carried values that count up and down, 0 for others.
    """
    block = made.body.blocks[0]
    end = terminator(block)
    values = list(end.operands)
    with ir.InsertionPoint(end):
        for _ in range(copies - 1):
            values = inline_block(op, 1, values)
        for i, step in enumerate(steps):
            if step:
                counter = block.arguments[i]
                values[i] = hlo.add(counter, build.splat(copies * step, counter.type))
        hlo.return_(values)
    end.operation.erase()


def _count(made: hlo.WhileOp, trips: int) -> None:
    """Let a loop count its iterations with its last carried value, from 0 up.

    XLA replaces several counters by one and computes the others from it. If the tested counter does
    not count from 0 by 1, it is among these others. XLA then does not know the trip count, and the
    GPU waits for each test.
    """
    kind = made.operands[-1].type
    test, body = made.cond.blocks[0], made.body.blocks[0]
    counter = test.add_argument(kind, made.location)
    *ops, end = test.operations
    with ir.InsertionPoint(end):
        hlo.return_([build.compare("LT", counter, build.splat(trips, kind))])
    for each in (end, *reversed(ops)):
        each.operation.erase()
    counter, end = body.add_argument(kind, made.location), terminator(body)
    with ir.InsertionPoint(end):
        hlo.return_([*end.operands, hlo.add(counter, build.splat(1, kind))])
    end.operation.erase()

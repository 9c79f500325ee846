"""A loop of integer arithmetic as its turns, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    AndOp,
    BroadcastInDimOp,
    CompareOp,
    ConstantOp,
    ConvertOp,
    NotOp,
    OrOp,
    ReshapeOp,
    ReturnOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SliceOp,
    SubtractOp,
    WhileOp,
    XorOp,
)

from jxc.ir.bounds import trip_count
from jxc.ir.values import is_integer, shape_of
from jxc.passes.threefry import cost as cost
from jxc.rewrite import exact, rule

from .iterations import Turns
from .uses import kernels_with

_ARITHMETIC = (
    *(AddOp, AndOp, NotOp, OrOp, SubtractOp, XorOp),
    *(ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp),
)
_MOVING = (BroadcastInDimOp, ConstantOp, ConvertOp, ReshapeOp, SliceOp)


@rule(exact, targets=("cpu",))
def unroll_integer_loop(op: WhileOp) -> Sequence[ir.Value] | None:
    """while(x, i < 3, f) -> f(f(f(x))), f only adding, shifting and masking integers."""
    turns, body = trip_count(op), op.body.blocks[0]
    if turns is None or not cost.may_unroll(turns):
        return None
    *work, _ = body.operations
    if not all(map(_is_integer_work, work)) or not _only_counts(op):
        return None
    if not cost.is_enough_work(sum(isinstance(each, _ARITHMETIC) for each in work)):
        return None
    values = list(op.operand)
    if [value.type for value in values] != [result.type for result in op.results]:
        return None
    if any(not isinstance(value.type, ir.RankedTensorType) for value in values):
        return None  # a token
    if not cost.unrolling_pays(_elements(op), lambda most: kernels_with(op, most)):
        return None
    made = Turns(op)
    for _ in range(turns):
        made.take()
    return made.carried()


def _is_integer_work(op: ir.OpView) -> bool:
    if not isinstance(op, _ARITHMETIC + _MOVING):
        return False
    return all(_is_static_integer(value) for value in (*op.operands, *op.results))


def _is_static_integer(value: ir.Value) -> bool:
    return ir.RankedTensorType(value.type).has_static_shape and is_integer(value)


def _only_counts(op: WhileOp) -> bool:
    """Whether the condition does nothing but compare."""
    test = op.cond.blocks[0].operations
    return all(isinstance(each, (CompareOp, ConstantOp, ReturnOp)) for each in test)


def _elements(op: WhileOp) -> int:
    """Of the largest value that is carried."""
    return max(prod(shape_of(each)) for each in op.operand)

"""Conditions on products that the rules of this pass share, and their multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, shape_of

from .._shared.dot import OperandDims, sides_of
from .._shared.elementwise import is_used_once, numeric_shape

_FLOATS = (ir.F32Type, ir.F64Type, ir.BF16Type)


def is_plain(op: object) -> bool:
    """Whether `op` is a product of floats of one type and static, nonzero extents.

    It also must treat both operands alike, so that another product can replace it.
    """
    if not isinstance(op, hlo.DotGeneralOp) or op.algorithm is not None:
        return False
    values = (op.result, op.lhs, op.rhs)
    if numeric_shape(*values) is None or not isinstance(element_type(op.result), _FLOATS):
        return False
    if any(
        0 in shape_of(value) or value.type.element_type != element_type(op.result)
        for value in values
    ):
        return False
    precision = op.precision_config
    return precision is None or len({str(each) for each in precision}) == 1


def is_alike(op: hlo.DotGeneralOp, other: hlo.DotGeneralOp) -> bool:
    """Whether two plain products have the same element type and precision."""
    if element_type(op.result) != element_type(other.result):
        return False
    return _precision(op) == _precision(other)


def _precision(op: hlo.DotGeneralOp) -> str:
    config = op.precision_config
    return "DEFAULT" if config is None else str(hlo.PrecisionAttr(config[0]).value)


def is_single(value: ir.Value, user: ir.OpView) -> bool:
    """Whether `user` is the only use of `value`, and in the same block."""
    return is_used_once(value) and value.owner.operation.block == user.operation.block


def multiply_adds(shapes: Sequence[Sequence[int]], sides: Sequence[OperandDims]) -> int:
    """The multiply-adds of a product of operands of these shapes."""
    left, right = (prod(shape) for shape in shapes)
    shared = prod(shapes[0][dim] for dim in sides[0].batch)
    terms = prod(shapes[0][dim] for dim in sides[0].summed)
    return left * right // (shared * terms)


def multiply_adds_of(op: hlo.DotGeneralOp) -> int:
    """The multiply-adds of `op`."""
    return multiply_adds([shape_of(op.lhs), shape_of(op.rhs)], sides_of(op))

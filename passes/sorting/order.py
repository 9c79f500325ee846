"""What a sort sorts by: JAX's order of one key, ascending."""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import CompareOp, SelectOp, SortOp

from jxc.ir.values import direction_of, element_type, is_splat, shape_of, splat_of, static_shape

_FLOATS = {"f16": 16, "bf16": 16, "f32": 32}


def key_width(value: ir.Value) -> int | None:
    """How many bits an element that can be a key has; None for types that cannot."""
    element = element_type(value)
    if isinstance(element, ir.IntegerType):
        return element.width if element.width in (8, 16, 32) else None
    return _FLOATS.get(str(element))


def axis_of(op: SortOp) -> int:
    """The axis that `op` sorts along; the last where it does not say."""
    rank = len(shape_of(op.inputs[0]))
    return rank - 1 if op.dimension is None else op.dimension.value % rank


def sorts_by_first(op: SortOp) -> bool:
    """Whether `op` sorts by its first operand, ascending, as JAX orders numbers.

    Of floats NaNs are last, all alike, and zeros are alike. Shapes are static, the axis has
    two elements or more.
    """
    shape = static_shape(*op.operands)
    if not shape or 0 in shape or shape[axis_of(op)] < 2:
        return False
    key = op.inputs[0]
    if key_width(key) is None:
        return False
    block = op.comparator.blocks[0]
    x, y = list(block.arguments)[:2]
    match compared := block.operations[len(block.operations) - 1].operands[0].owner:
        case CompareOp(lhs=lhs, rhs=rhs) if direction_of(compared) == "LT":
            if isinstance(element_type(key), ir.IntegerType):
                return (lhs, rhs) == (x, y)
            is_total = "TOTALORDER" in str(compared.compare_type)
            return is_total and _is_folded(lhs, x) and _is_folded(rhs, y)
    return False


def _is_folded(value: ir.Value, x: ir.Value) -> bool:
    """Whether `value` is select(x != x, nan, select(x == 0, 0, x)), the NaN being positive."""
    match value.owner:
        case SelectOp(pred=is_nan, on_true=nan, on_false=rest) if _compares(is_nan, "NE", x, x):
            found = splat_of(nan)
            if found is None or not math.isnan(found) or math.copysign(1, found) < 0:
                return False
            match rest.owner:
                case SelectOp(pred=is_zero, on_true=zero, on_false=other):
                    return other == x and is_splat(zero, 0.0) and _compares(is_zero, "EQ", x, zero)
    return False


def _compares(value: ir.Value, direction: str, x: ir.Value, y: ir.Value) -> bool:
    match value.owner:
        case CompareOp(lhs=lhs, rhs=rhs) as op:
            is_total = "TOTALORDER" in str(op.compare_type)
            return direction_of(op) == direction and (lhs, rhs) == (x, y) and not is_total
    return False

"""Taking elements from places along one axis."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import IotaOp, ReverseOp

from jxc.ir import build
from jxc.ir.values import element_type, is_integer, shape_of


def take(operand: ir.Value, places: ir.Value, dim: int) -> ir.Value:
    """The elements of `operand` at `places`, of i32, along `dim`; of an iota, the places."""
    match operand.owner:
        case IotaOp() if _is_along(operand, dim):
            return build.convert(places, element_type(operand))
        case ReverseOp(operand=x, dimensions=dims) if list(dims) == [dim] and _is_along(x, dim):
            return build.convert(from_end(places, shape_of(x)[dim]), element_type(operand))
    return _gather(operand, places, dim)


def from_end(places: ir.Value, size: int) -> ir.Value:
    """The same places along an axis of `size`, counted from its other end."""
    return stablehlo.subtract(build.splat(size - 1, places.type), places)


def turned(value: ir.Value, dim: int) -> ir.Value:
    """The elements in the opposite order along `dim`."""
    return stablehlo.reverse(value, [dim])


def _is_along(value: ir.Value, dim: int) -> bool:
    """Whether `value` is an iota along `dim`, of integers that do not wrap around."""
    match value.owner:
        case IotaOp(iota_dimension=along) if along.value == dim and is_integer(value):
            return ir.IntegerType(element_type(value)).width >= 32
    return False


def _gather(operand: ir.Value, places: ir.Value, dim: int) -> ir.Value:
    shape = shape_of(places)
    others = [i for i in range(len(shape)) if i != dim]
    numbers = stablehlo.GatherDimensionNumbers.get([], [dim], others, others, [dim], len(shape))
    indices = build.reshape(places, [*shape, 1])
    return stablehlo.gather(operand, indices, numbers, [1] * len(shape))

"""Small builders: one op each, at the current insertion point, none where it would do nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .dtypes import numpy_dtype
from .values import element_type, shape_of


def scalar(number: float, element: ir.Type) -> ir.Value:
    """A constant of rank 0."""
    return splat(number, ir.RankedTensorType.get((), element))


def splat(element: float | ir.Attribute, kind: ir.Type) -> ir.Value:
    """A constant of the ranked tensor type `kind` that repeats one number or element attribute."""
    if not isinstance(element, ir.Attribute):
        element = _attribute(element, ir.RankedTensorType(kind).element_type)
    return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, element))


def _attribute(number: float, element: ir.Type) -> ir.Attribute:
    if not isinstance(element, ir.IntegerType):
        return ir.FloatAttr.get(element, number)
    bits = int(number)
    if bits >= 2**63:  # the bindings take signed numbers of 64 bits
        bits -= 2**64
    return ir.IntegerAttr.get(element, bits)


def dense(array: np.ndarray, kind: ir.Type) -> ir.Value:
    """A constant of the ranked tensor type `kind`, a splat where all elements have the same bits.

    Args:
        array: the elements, in the numpy dtype of `kind`'s elements; of its shape, or broadcast
            to it.
        kind: a type of static shape, whose elements numpy or `ml_dtypes` has.

    Raises:
        TypeError: the array has another dtype.
    """
    of = ir.RankedTensorType(kind)
    if array.dtype != numpy_dtype(of.element_type):
        raise TypeError(f"elements of type {array.dtype}: expected those of {kind}")
    data = np.ascontiguousarray(np.broadcast_to(array, of.shape) if array.ndim else array)
    raw = data.reshape(-1).view(np.uint8).reshape(data.size, data.dtype.itemsize)
    if data.size and (raw == raw[0]).all():
        data = data.reshape(-1)[:1]  # a buffer of one element is read as a splat
    return stablehlo.constant(
        ir.DenseElementsAttr.get(data, type=of.element_type, shape=list(of.shape))
    )


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """The same elements in row-major order, as `shape`."""
    if shape_of(value) == tuple(shape):
        return value
    return stablehlo.reshape(ir.RankedTensorType.get(shape, element_type(value)), value)


def transpose(value: ir.Value, permutation: Sequence[int]) -> ir.Value:
    """Dimension i of the result is dimension `permutation[i]` of `value`."""
    if list(permutation) == sorted(permutation):
        return value
    return stablehlo.transpose(value, permutation)


def broadcast(value: ir.Value, shape: Sequence[int], dimensions: Sequence[int]) -> ir.Value:
    """Dimension i of `value` becomes dimension `dimensions[i]` of the result."""
    if shape_of(value) == tuple(shape) and list(dimensions) == list(range(len(shape))):
        return value
    result = ir.RankedTensorType.get(shape, element_type(value))
    return stablehlo.broadcast_in_dim(result, value, dimensions)


def convert(value: ir.Value, element: ir.Type) -> ir.Value:
    """The elements as `element`."""
    if element_type(value) == element:
        return value
    return stablehlo.convert(ir.RankedTensorType.get(shape_of(value), element), value)


def dot(
    lhs: ir.Value,
    rhs: ir.Value,
    summed: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> ir.Value:
    """The `dot_general` of two values of the same element type.

    Args:
        lhs, rhs: the operands.
        summed: the dimensions of each that are multiplied and summed over, pair by pair.
        batch: the dimensions of each that go side by side, pair by pair.

    Returns:
        The batch dimensions, then those left of `lhs`, then those left of `rhs`.
    """
    shape = [shape_of(lhs)[dim] for dim in batch[0]]
    for value, over, beside in zip((lhs, rhs), summed, batch, strict=True):
        kept = enumerate(shape_of(value))
        shape += [size for dim, size in kept if dim not in over and dim not in beside]
    numbers = stablehlo.DotDimensionNumbers.get(*map(list, batch), *map(list, summed))
    return stablehlo.dot_general(
        ir.RankedTensorType.get(shape, element_type(lhs)), lhs, rhs, numbers
    )


def dot_like(op: stablehlo.DotGeneralOp, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The product `op`, of other operands of the same types."""
    return stablehlo.dot_general(
        op.result.type,
        lhs,
        rhs,
        op.dot_dimension_numbers,
        precision_config=op.precision_config,
        algorithm=op.algorithm,
    )


def reduce_sum(value: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """The sum over `dimensions`, which are left out of the result."""
    if not dimensions:
        return value
    element = element_type(value)
    kept = [size for i, size in enumerate(shape_of(value)) if i not in dimensions]
    result = ir.RankedTensorType.get(kept, element)
    op = stablehlo.ReduceOp([result], [value], [scalar(0, element)], dimensions)
    of_scalar = ir.RankedTensorType.get((), element)
    body = op.regions[0].blocks.append(of_scalar, of_scalar, arg_locs=[value.location] * 2)
    with ir.InsertionPoint(body):
        stablehlo.return_([stablehlo.add(*body.arguments)])
    return op.results[0]


def repeat(
    count: int,
    initial: Sequence[ir.Value],
    step: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]],
    *,
    by: int = 1,
) -> list[ir.Value]:
    """A `stablehlo.while` of `count` turns.

    Args:
        count: how many turns.
        initial: what the first turn is given.
        step: builds a turn from `by` times its number (a scalar i32, from 0) and what is carried;
            returns what is carried on, of the same types. It may use values from outside.
        by: what the scalar goes up by. XLA:CPU vectorises a `dynamic_slice` at the scalar itself,
            not at what is computed from it.

    Returns:
        What the last turn carries on.
    """
    i32 = ir.IntegerType.get_signless(32)
    given = [scalar(0, i32), *initial]
    types = [value.type for value in given]
    made = stablehlo.WhileOp(types, given)
    test, body = (
        region.blocks.append(*types, arg_locs=[initial[0].location] * len(types))
        for region in made.regions
    )
    with ir.InsertionPoint(test):
        less = stablehlo.ComparisonDirectionAttr.get("LT")
        stablehlo.return_([stablehlo.compare(test.arguments[0], scalar(count * by, i32), less)])
    with ir.InsertionPoint(body):
        number, *carried = body.arguments
        following = stablehlo.add(number, scalar(by, i32))
        stablehlo.return_([following, *step(number, carried)])
    return list(made.results)[1:]

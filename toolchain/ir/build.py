"""Builders of StableHLO ops at the current insertion point, shorter than the bindings' own.

A builder returns its operand if the op would do nothing: a `reshape` to the same shape, say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from .dtypes import numpy_dtype
from .elementwise import ELEMENTWISE
from .values import element_type, shape_of, static_shape


def scalar(number: float, element: ir.Type) -> ir.Value:
    """A constant of rank 0 with elements of type `element`."""
    return splat(number, ir.RankedTensorType.get((), element))


def splat(element: float | ir.Attribute, kind: ir.Type) -> ir.Value:
    """A splat constant: every element is `element`, a number or an element attribute.

    `kind` is a ranked tensor type, such as `value.type`.
    """
    of = ir.RankedTensorType(kind).element_type
    if isinstance(element, ir.Attribute):
        attr = element
    elif isinstance(of, ir.IntegerType):
        bits = int(element)  # the bindings take signed numbers of 64 bits
        attr = ir.IntegerAttr.get(of, bits if bits < 2**63 else bits - 2**64)
    else:
        attr = ir.FloatAttr.get(of, element)
    return hlo.constant(ir.DenseElementsAttr.get_splat(kind, attr))


def splat_result(element: float | ir.Attribute | None, op: ir.OpView) -> ir.Value | None:
    """A splat of the type of the result of `op`, which it can replace.

    None if `element` is None, or if the result has a dynamic extent.
    """
    result = op.results[0]
    return None if element is None or static_shape(result) is None else splat(element, result.type)


def constant(data: float | complex | np.ndarray, like: ir.Value | ir.Type) -> ir.Value:
    """A constant of the type of another value.

        >>> constant(1, x).type == x.type, splat_of(constant(1, x))
        (True, 1.0)
        >>> array_of(constant(np.arange(4), n))
        array([0, 1, 2, 3], dtype=int32)

    Args:
        data: a number for every element, or an array of the shape of `like` or broadcast to it,
            converted to its element type.
        like: a value, or a ranked tensor type.

    Raises:
        ValueError: `like` has a dynamic size or an element type that numpy lacks, or `data` another
            shape.
    """
    kind = ir.RankedTensorType(like.type if isinstance(like, ir.Value) else like)
    dtype = numpy_dtype(kind.element_type)
    if not kind.has_static_shape or dtype is None:
        raise ValueError(f"constant: expected a type of static shape with numbers, found {kind}")
    array = np.asarray(data).astype(dtype)
    try:
        np.broadcast_to(array, kind.shape)
    except ValueError:
        raise ValueError(f"constant: an array of shape {array.shape} for {kind}") from None
    return dense(array, kind)


def elementwise_op(name: str, *operands: ir.Value | float) -> ir.Value:
    """An elementwise op of StableHLO; numbers and scalars are broadcast to the other operands.

        >>> y = elementwise_op("maximum", elementwise_op("multiply", x, 2), 0)
        >>> shape_of(y)
        (2, 3)

    Args:
        name: the op without its dialect, such as "add", "exponential", "select".
        operands: values of one shape and element type, scalars, and numbers, which become
            constants of the element type of the last value. At least one is a value.

    Raises:
        ValueError: there is no such op, or the operands do not fit.
    """
    if (cls := _ELEMENTWISE.get(name)) is None:
        raise ValueError(f"{name!r}: expected an elementwise op, one of {', '.join(_ELEMENTWISE)}")
    values = [each for each in operands if isinstance(each, ir.Value)]
    if not values:
        raise ValueError(f"{name}: expected a value among the operands")
    shapes = {shape_of(value) for value in values} - {()}
    if len(shapes) > 1:
        raise ValueError(f"{name}: operands of the shapes {', '.join(map(str, sorted(shapes)))}")
    shape, element = next(iter(shapes), ()), element_type(values[-1])
    kind = ir.RankedTensorType.get(shape, element)
    given = [each if isinstance(each, ir.Value) else constant(each, kind) for each in operands]
    wide = [each if shape_of(each) else broadcast(each, shape) for each in given]
    try:
        op = cls(*wide)
        op.operation.verify()
    except (TypeError, ir.MLIRError) as error:
        kinds = ", ".join(str(each.type) for each in given)
        raise ValueError(f"{name}: cannot take operands of the types {kinds}") from error
    result: ir.Value = op.result
    return result


_WITH_MORE = ("compare", "convert", "reduce_precision")  # which need more than operands
_ELEMENTWISE: dict[str, Any] = {
    name: cls
    for cls in ELEMENTWISE
    for dialect, _, name in [getattr(cls, "OPERATION_NAME", "").partition(".")]
    if dialect == "stablehlo" and name not in _WITH_MORE
}


def dense(array: np.ndarray, kind: ir.Type) -> ir.Value:
    """A constant with the elements of an array; a splat if all have the same bits.

    Args:
        array: the elements, in the numpy dtype of `kind`'s element type, of its shape or broadcast
            to it.
        kind: a ranked tensor type of static shape, with an element type that numpy has.

    Raises:
        TypeError: the array has another dtype.
    """
    of = ir.RankedTensorType(kind)
    if array.dtype != numpy_dtype(of.element_type):
        raise TypeError(f"an array of {array.dtype} for a constant of type {kind}")
    data = np.ascontiguousarray(np.broadcast_to(array, of.shape) if array.ndim else array)
    raw = data.reshape(-1).view(np.uint8).reshape(data.size, data.dtype.itemsize)
    if data.size and (raw == raw[0]).all():
        data = data.reshape(-1)[:1]  # a buffer of one element is read as a splat
    return hlo.constant(ir.DenseElementsAttr.get(data, type=of.element_type, shape=list(of.shape)))


def reshape(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """`value` reshaped to `shape`, of as many elements, in row-major order.

    >>> shape_of(reshape(x, [6])), reshape(x, [2, 3]) == x
    ((6,), True)
    """
    if shape_of(value) == tuple(shape):
        return value
    return hlo.reshape(ir.RankedTensorType.get(shape, element_type(value)), value)


def transpose(value: ir.Value, permutation: Sequence[int]) -> ir.Value:
    """`value` transposed: dimension i of the result is dimension `permutation[i]` of `value`.

    >>> shape_of(transpose(x, [1, 0])), transpose(x, [0, 1]) == x
    ((3, 2), True)
    """
    if list(permutation) == sorted(permutation):
        return value
    return hlo.transpose(value, permutation)


def broadcast(value: ir.Value, shape: Sequence[int], dimensions: Sequence[int] = ()) -> ir.Value:
    """`value` broadcast to `shape`: its dimension i is dimension `dimensions[i]` of the result.

    A scalar needs no `dimensions`.

        >>> shape_of(broadcast(scalar, [5])), shape_of(broadcast(n, [7, 4], [1]))
        ((5,), (7, 4))
    """
    if shape_of(value) == tuple(shape) and list(dimensions) == list(range(len(shape))):
        return value
    result = ir.RankedTensorType.get(shape, element_type(value))
    return hlo.broadcast_in_dim(result, value, dimensions)


def convert(value: ir.Value, element: ir.Type) -> ir.Value:
    """`value` converted to the element type `element`.

    >>> print(convert(n, element_type(x)).type)
    tensor<4xf32>
    """
    if element_type(value) == element:
        return value
    return hlo.convert(ir.RankedTensorType.get(shape_of(value), element), value)


def compare(direction: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Where elements compare as `direction`: "EQ", "NE", "LT", "LE", "GT" or "GE"."""
    return hlo.compare(lhs, rhs, hlo.ComparisonDirectionAttr.get(direction))


def slice_along(value: ir.Value, kept: Mapping[int, range]) -> ir.Value:
    """The elements of `value` at the positions `kept` along each of these dimensions.

    Negative dimensions count from the end.
    """
    whole = [range(size) for size in shape_of(value)]
    along = whole.copy()
    for dim, positions in kept.items():
        along[dim] = positions
    if along == whole:
        return value
    bounds = ([getattr(each, name) for each in along] for name in ("start", "stop", "step"))
    return hlo.slice(value, *bounds)


def concatenate(values: Sequence[ir.Value], dim: int) -> ir.Value:
    """The values beside each other along a dimension."""
    return values[0] if len(values) == 1 else hlo.concatenate(values, dim)


def starts_along(value: ir.Value, starts: Mapping[int, ir.Value]) -> list[ir.Value]:
    """The start indices of a dynamic slice of `value`: scalars by dimension, 0 for the others."""
    zero = scalar(0, element_type(next(iter(starts.values()))))
    return [starts.get(dim, zero) for dim in range(len(shape_of(value)))]


def dot(
    lhs: ir.Value,
    rhs: ir.Value,
    summed: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> ir.Value:
    """The `dot_general` of two values of the same element type.

        >>> print(dot(x, x, summed=([1], [1])).type)
        tensor<2x2xf32>

    Args:
        lhs, rhs: the operands.
        summed: the contracting dimensions of each, in pairs.
        batch: the batching dimensions of each, in pairs.

    Returns:
        The product: batching dimensions first, then the others of `lhs`, then those of `rhs`.
    """
    shape = [shape_of(lhs)[dim] for dim in batch[0]]
    for value, contracting, batching in zip((lhs, rhs), summed, batch, strict=True):
        sizes = enumerate(shape_of(value))
        shape += [size for dim, size in sizes if dim not in (*contracting, *batching)]
    numbers = hlo.DotDimensionNumbers.get(*map(list, batch), *map(list, summed))
    return hlo.dot_general(ir.RankedTensorType.get(shape, element_type(lhs)), lhs, rhs, numbers)


def dot_like(op: hlo.DotGeneralOp, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The product `op` of other operands, of the same types."""
    return hlo.dot_general(
        op.result.type,
        lhs,
        rhs,
        op.dot_dimension_numbers,
        precision_config=op.precision_config,
        algorithm=op.algorithm,
    )


def reduce(
    value: ir.Value,
    initial: ir.Value,
    dimensions: Sequence[int],
    combine: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """`value` reduced by `combine` over `dimensions`, which the result does not have."""
    kept = [size for dim, size in enumerate(shape_of(value)) if dim not in dimensions]
    result = ir.RankedTensorType.get(kept, element_type(value))
    op = hlo.ReduceOp([result], [value], [initial], dimensions)
    append_combiner(op.body, initial.type, combine)
    return op.results[0]


def append_combiner(
    region: ir.Region, kind: ir.Type, combine: Callable[[ir.Value, ir.Value], ir.Value]
) -> None:
    """Make `combine` the body of a reduction, scatter or sort: a block of two scalars."""
    body = region.blocks.append(kind, kind, arg_locs=[ir.Location.current] * 2)
    with ir.InsertionPoint(body):
        hlo.return_([combine(*body.arguments)])


def reduce_sum(value: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """The sum of `value` over `dimensions`, which the result does not have.

    >>> print(reduce_sum(x, [0]).type)
    tensor<3xf32>
    """
    if not dimensions:
        return value
    return reduce(value, scalar(0, element_type(value)), dimensions, hlo.add)


def fori_loop(
    trip_count: int | ir.Value,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, Sequence[ir.Value]], Sequence[ir.Value]],
    *,
    step: int = 1,
) -> list[ir.Value]:
    """A `stablehlo.while` of `trip_count` iterations.

    Args:
        trip_count: the number of iterations; a scalar i32 if it is not constant, with steps of 1.
        initial: the carried values before the first iteration.
        body: builds an iteration from its counter (a scalar i32, which starts at 0) and the carried
            values; returns the new carried values, of the same types. It may use values from
            outside of the loop.
        step: the amount by which the counter increases. XLA:CPU vectorises a `dynamic_slice` at the
            counter itself, but not at a multiple of it.

    Returns:
        The carried values after the last iteration.
    """
    i32 = ir.IntegerType.get_signless(32)
    given = [scalar(0, i32), *initial]
    types = [value.type for value in given]
    loop = hlo.WhileOp(types, given)
    condition, block = (
        region.blocks.append(*types, arg_locs=[initial[0].location] * len(types))
        for region in loop.regions
    )
    with ir.InsertionPoint(condition):
        limit = scalar(trip_count * step, i32) if isinstance(trip_count, int) else trip_count
        hlo.return_([compare("LT", condition.arguments[0], limit)])
    with ir.InsertionPoint(block):
        counter, *carried = block.arguments
        following = hlo.add(counter, scalar(step, i32))
        hlo.return_([following, *body(counter, carried)])
    return list(loop.results)[1:]


def fori_loop_by_groups(
    trip_count: int,
    step: int,
    initial: Sequence[ir.Value],
    body: Callable[[ir.Value, int, Sequence[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """A loop whose iterations each do the work of `step`; what is left over is done after it.

    Args:
        trip_count: the number of pieces of work.
        step: how many of them are done in an iteration.
        initial: the carried values before the first iteration.
        body: builds some of them from the number of the first, how many they are, and the carried
            values; returns the new carried values.

    Returns:
        The carried values after the last one.
    """
    carried, rest = list(initial), trip_count % step
    if trip_count >= step:
        carried = fori_loop(
            trip_count // step, carried, lambda first, values: body(first, step, values), step=step
        )
    if not rest:
        return carried
    first = scalar(trip_count - rest, ir.IntegerType.get_signless(32))
    return list(body(first, rest, carried))


def elements_along(value: ir.Value, dim: int, start: ir.Value, count: int) -> list[ir.Value]:
    """The elements at `count` positions of a dimension, from `start` on, one value for each."""
    sizes = [count if each == dim else size for each, size in enumerate(shape_of(value))]
    found = hlo.dynamic_slice(value, starts_along(value, {dim: start}), sizes)
    return [slice_along(found, {dim: range(i, i + 1)}) for i in range(count)]

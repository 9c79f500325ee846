"""Bounds of the numbers that an integer value can hold, and trip counts of loops.

The analysis walks up the producers of a value: constants, iotas, arithmetic, selects with what
their predicate implies, reductions, loop counters. It stops after `PRODUCERS_SEEN` ops. Where a
result may wrap around, its bounds are those of its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo
from jaxlib.mlir.dialects.chlo import TopKOp

from .constants import array_of
from .values import direction_of, element_type, is_splat, shape_of, splat_of

PRODUCERS_SEEN = 4  # depth of the walk; the driver looks as deep for annotated ops
_MOST_ELEMENTS = 1024  # a larger constant is not read, unless it is a splat
_MOST_JOINED = 8  # a concatenation of more inputs is not inspected


class Bounds(NamedTuple):
    """The least and the greatest number that an element can be, both included."""

    low: int
    high: int

    def contains(self, other: Bounds) -> bool:
        """Whether `other` lies within these bounds."""
        return self.low <= other.low and other.high <= self.high


def type_bounds(element: ir.Type) -> Bounds | None:
    """The bounds of an integer type, 0 and 1 for booleans; None for any other type."""
    if not isinstance(element, ir.IntegerType):
        return None
    if element.is_unsigned or element.width == 1:
        return Bounds(0, (1 << element.width) - 1)
    return Bounds(-(1 << element.width - 1), (1 << element.width - 1) - 1)


def is_extreme(value: ir.Value, *, least: bool) -> bool:
    """Whether `value` is a splat of the least or greatest number of its type, infinities too."""
    found, kind = splat_of(value), type_bounds(element_type(value))
    low, high = (-math.inf, math.inf) if kind is None else kind
    return found is not None and found == (low if least else high)


class _Implied(NamedTuple):
    """The bounds that a predicate implies for `value`, in one branch of a select."""

    value: ir.Value
    bounds: Bounds


def bounds_of(
    value: ir.Value, depth: int = PRODUCERS_SEEN, implied: _Implied | None = None
) -> Bounds | None:
    """Bounds of the elements of `value`, in their signedness; None if they are not integers.

    The bounds of the type where nothing else is known.

        >>> bounds_of(stablehlo.clamp(constant(0, n), n, constant(9, n)))
        Bounds(low=0, high=9)
        >>> bounds_of(x) is None
        True
    """
    kind = type_bounds(element_type(value))
    if kind is None or kind.high == 1:
        return kind
    found = None
    if isinstance(value.owner, ir.Block):
        found = _of_argument(value, depth)
    elif depth > 0:
        found = _of_result(value, depth - 1, implied)
    if found is None or not kind.contains(found):
        found = kind  # it may wrap around
    if implied is None or implied.value != value:
        return found
    low, high = max(found.low, implied.bounds.low), min(found.high, implied.bounds.high)
    return Bounds(low, high) if low <= high else found


def _of_result(value: ir.Value, depth: int, implied: _Implied | None) -> Bounds | None:
    match op := value.owner:
        case hlo.ConstantOp():
            return _of_constant(op)
        case hlo.IotaOp(iota_dimension=dim):
            extent = shape_of(op.result)[dim.value]
            return Bounds(0, max(extent - 1, 0)) if extent >= 0 else None
        case hlo.SelectOp():
            return _of_select(op, depth)
        case hlo.ConvertOp(operand=x):
            return bounds_of(x, depth, implied)
        case hlo.SignOp():
            return Bounds(-1, 1)
    if (compute := _ARITHMETIC.get(type(op))) is not None:
        found = [bounds_of(operand, depth, implied) for operand in op.operands]
        operands = [each for each in found if each is not None]
        return compute(*operands) if len(operands) == len(found) else None
    if len(op.results) > 1:
        return _of_several(value, depth)
    return _of_moved(op, depth) if len(op.regions) == 0 else _of_sum(op, depth)


def _of_moved(op: ir.OpView, depth: int) -> Bounds | None:
    """The bounds of a result whose elements are elements of the operands.

    Implied bounds are not passed on: they hold at one index, and the op moves elements.
    """
    match op:
        case hlo.ReshapeOp(operand=x) | hlo.BroadcastInDimOp(operand=x) | hlo.SliceOp(operand=x):
            return bounds_of(x, depth)
        case hlo.TransposeOp(operand=x) | hlo.ReverseOp(operand=x):
            return bounds_of(x, depth)
        case hlo.DynamicSliceOp(operand=x) | hlo.GatherOp(operand=x):
            return bounds_of(x, depth)
        case hlo.ConcatenateOp(inputs=inputs) if len(inputs) <= _MOST_JOINED:
            return _union(bounds_of(x, depth) for x in inputs)
        case hlo.PadOp(operand=x, padding_value=y) | hlo.DynamicUpdateSliceOp(operand=x, update=y):
            return _union((bounds_of(x, depth), bounds_of(y, depth)))
    return None


def _of_several(value: ir.Value, depth: int) -> Bounds | None:
    """One result of a sort, a top-k, or a reduction that selects an element: often indices."""
    number = ir.OpResult(value).result_number
    match op := value.owner:
        case hlo.SortOp(inputs=inputs):
            return bounds_of(inputs[number], depth)
        case hlo.ReduceOp(inputs=inputs, init_values=initial) if _is_choice(op, number):
            return _union((bounds_of(inputs[number], depth), bounds_of(initial[number], depth)))
        case TopKOp(operand=x) if number == 1 and shape_of(x)[-1] > 0:
            return Bounds(0, shape_of(x)[-1] - 1)
    return None


def _of_sum(op: ir.OpView, depth: int) -> Bounds | None:
    """The bounds of a sum: the number of terms times the bounds of a term.

    A scatter adds to its operand; the padding of a window is the initial value, which is 0.
    """
    first: Bounds | None = Bounds(0, 0)
    match op:
        case hlo.ReduceOp(inputs=[x], init_values=[y], dimensions=dims) if is_splat(y, 0):
            count = math.prod(shape_of(x)[dim] for dim in dims)
        case hlo.ReduceWindowOp(inputs=[x], init_values=[y], window_dimensions=sizes):
            if not is_splat(y, 0):
                return None
            count = math.prod(sizes)
        case hlo.ScatterOp(inputs=[y], updates=[x]):
            count, first = math.prod(shape_of(x)), bounds_of(y, depth)
        case _:
            return None
    each = bounds_of(x, depth)
    if count < 0 or each is None or first is None or not _adds(op):
        return None
    low, high = count * min(each.low, 0), count * max(each.high, 0)
    return Bounds(first.low + low, first.high + high)


def _adds(op: ir.OpView) -> bool:
    """Whether the body of a reduction or scatter adds its two arguments."""
    body = op.regions[0].blocks[0]
    match body.operations[-1].operands[0].owner:
        case hlo.AddOp(lhs=x, rhs=y):
            arguments = list(body.arguments)
            return [x, y] in (arguments, arguments[::-1])
    return False


def _is_choice(op: hlo.ReduceOp, number: int) -> bool:
    """Whether a result of a reduction is one of the elements: the body only selects."""
    body = op.regions[0].blocks[0]
    elements = body.arguments[number], body.arguments[number + len(op.inputs)]
    pending = [body.operations[-1].operands[number]]
    while pending:
        value = pending.pop()
        match value.owner:
            case hlo.SelectOp(on_true=x, on_false=y):
                pending += [x, y]
            case _ if value not in elements:
                return False
    return True


def _of_constant(op: hlo.ConstantOp) -> Bounds | None:
    number = splat_of(op.result)
    if number is not None:
        return Bounds(int(number), int(number))
    elements = few_elements(op.result)
    return None if elements is None else Bounds(int(elements.min()), int(elements.max()))


def few_elements(value: ir.Value) -> np.ndarray | None:
    """The elements of an integer constant of 8 bits or more; None if it has none, or too many."""
    op = value.owner
    if not isinstance(op, hlo.ConstantOp) or not isinstance(op.value, ir.DenseElementsAttr):
        return None
    if not 0 < math.prod(shape_of(value)) <= _MOST_ELEMENTS:
        return None
    element = element_type(value)
    is_plain = isinstance(element, ir.IntegerType) and element.width >= 8
    return array_of(value) if is_plain else None


def _union(parts: Iterable[Bounds | None]) -> Bounds | None:
    found = list(parts)
    known = [each for each in found if each is not None]
    return _hull(chain.from_iterable(known)) if known and len(known) == len(found) else None


def _hull(numbers: Iterable[int]) -> Bounds:
    """The bounds of these numbers."""
    ordered = sorted(numbers)
    return Bounds(ordered[0], ordered[-1])


def _of_clamp(least: Bounds, x: Bounds, most: Bounds) -> Bounds:
    low, high = max(least.low, x.low), max(least.high, x.high)
    return Bounds(min(low, most.low), min(high, most.high))


def _of_and(x: Bounds, y: Bounds) -> Bounds | None:
    """AND only clears bits: the result is at most either operand that is not negative."""
    most = [each.high for each in (x, y) if each.low >= 0]
    return Bounds(0, min(most)) if most else None


def _of_quotient(x: Bounds, y: Bounds) -> Bounds | None:
    """The quotient, truncated towards 0, by a positive divisor."""
    if y.low <= 0:
        return None
    return _hull(a // b if a >= 0 else -(-a // b) for a in x for b in y)


def _of_remainder(x: Bounds, y: Bounds) -> Bounds | None:
    """The remainder, which has the sign of `x`, by a positive divisor."""
    if y.low <= 0:
        return None
    most = y.high - 1
    return Bounds(max(min(x.low, 0), -most), min(max(x.high, 0), most))


_ARITHMETIC: dict[type[ir.OpView], Callable[..., Bounds | None]] = {
    hlo.AbsOp: lambda x: Bounds(max(0, x.low, -x.high), max(-x.low, x.high)),
    hlo.AddOp: lambda x, y: Bounds(x.low + y.low, x.high + y.high),
    hlo.AndOp: _of_and,
    hlo.ClampOp: _of_clamp,
    hlo.DivOp: _of_quotient,
    hlo.MaxOp: lambda x, y: Bounds(max(x.low, y.low), max(x.high, y.high)),
    hlo.MinOp: lambda x, y: Bounds(min(x.low, y.low), min(x.high, y.high)),
    hlo.MulOp: lambda x, y: _hull(a * b for a in x for b in y),
    hlo.RemOp: _of_remainder,
    hlo.SubtractOp: lambda x, y: Bounds(x.low - y.high, x.high - y.low),
}


def _of_select(op: hlo.SelectOp, depth: int) -> Bounds | None:
    """The union of both branches, each with the bounds that the predicate implies there.

    JAX writes indices from the end as `select(x < 0, x + n, x)`: at least 0 for x >= -n.
    """
    holds, fails = _implied_by(op.pred) if depth > 0 else (None, None)
    return _union((bounds_of(op.on_true, depth, holds), bounds_of(op.on_false, depth, fails)))


def _implied_by(predicate: ir.Value) -> tuple[_Implied | None, _Implied | None]:
    """The bounds of x that `x < c` implies where it is true, and where it is false."""
    match predicate.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as op:
            kind, number = type_bounds(element_type(x)), splat_of(y)
            if kind is None or number is None:
                return None, None
            limit = int(number)
            at_most, at_least = Bounds(kind.low, limit), Bounds(limit, kind.high)
            less, more = Bounds(kind.low, limit - 1), Bounds(limit + 1, kind.high)
            pairs = {"LT": (less, at_least), "LE": (at_most, more)}
            pairs |= {"GT": (more, at_most), "GE": (at_least, less)}
            if (found := pairs.get(direction_of(op))) is not None:
                return _Implied(x, found[0]), _Implied(x, found[1])
    return None, None


def _of_argument(value: ir.Value, depth: int) -> Bounds | None:
    """The bounds of a loop's counter in its body, or of a value that no iteration changes."""
    loop, index = value.owner.owner, ir.BlockArgument(value).arg_number
    if not isinstance(loop, hlo.WhileOp) or depth <= 0 or (step := step_of(loop, index)) is None:
        return None
    first = bounds_of(loop.operands[index], depth - 1)
    if step == 0 or first is None:
        return first
    if value.owner != loop.regions[1].blocks[0]:
        return None
    if (trips := trip_count(loop)) is None:
        return _of_counter(loop, index, step, first, depth - 1)
    last = max(trips - 1, 0) * step
    return Bounds(first.low + min(last, 0), first.high + max(last, 0))


def step_of(loop: hlo.WhileOp, index: int) -> int | None:
    """The constant that each iteration adds to an argument of the body, or None."""
    body = loop.regions[1].blocks[0]
    argument, following = body.arguments[index], body.operations[-1].operands[index]
    if following == argument:
        return 0
    match following.owner:
        case hlo.AddOp(lhs=x, rhs=y) if x == argument or y == argument:
            number = splat_of(y if x == argument else x)
            return number if isinstance(number, int) else None
    return None


def _tested(loop: hlo.WhileOp) -> tuple[int, ir.Value] | None:
    """For a loop with the condition `argument < limit`: the index of the argument, the limit."""
    test = loop.regions[0].blocks[0]
    match condition := test.operations[-1].operands[0].owner:
        case hlo.CompareOp(lhs=counter, rhs=limit) if direction_of(condition) == "LT":
            is_argument = counter.owner == test and isinstance(counter.owner, ir.Block)
            return (ir.BlockArgument(counter).arg_number, limit) if is_argument else None
    return None


def trip_count(loop: hlo.WhileOp) -> int | None:
    """The number of iterations of a loop that counts from a constant to a constant, or None."""
    if (tested := _tested(loop)) is None:
        return None
    index, limit = tested
    kind, step = type_bounds(element_type(loop.operands[index])), step_of(loop, index)
    first, end = splat_of(loop.operands[index]), splat_of(limit)
    if kind is None or first is None or end is None or step is None or step <= 0:
        return None
    trips = max(-((int(first) - int(end)) // step), 0)
    return trips if int(first) + trips * step <= kind.high else None


def _of_counter(
    loop: hlo.WhileOp, index: int, step: int, first: Bounds, depth: int
) -> Bounds | None:
    """The bounds of a counter that is tested against a limit, from the bounds of both ends."""
    tested, kind = _tested(loop), type_bounds(element_type(loop.operands[index]))
    if tested is None or tested[0] != index or step < 0:
        return None
    limit = bounds_of(tested[1], depth)
    if kind is None or limit is None or limit.high - 1 + step > kind.high:
        return None
    return Bounds(first.low, max(first.low, limit.high - 1))

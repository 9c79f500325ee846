"""A few elements from one end of a sorted axis, without sorting it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo
from jaxlib.mlir.dialects.stablehlo import IotaOp, ReverseOp, SliceOp, SortOp

from jxc.ir import build
from jxc.ir.values import element_type, is_integer, shape_of, users
from jxc.passes.sorting import cost as cost
from jxc.rewrite import exact, rule

from . import keys
from .keys import axis_of, sorts_by_first


@dataclass(frozen=True)
class _Part:
    """What a slice takes of the sorted axis, or of that axis reversed.

    Attributes:
        sort: what sorted the axis.
        number: which of its results is sliced.
        is_turned: whether the axis was reversed before it was sliced.
        start, limit: where along it the slice starts and ends.
    """

    sort: SortOp
    number: int
    is_turned: bool
    start: int
    limit: int

    @property
    def size(self) -> int:
        """The extent of the axis."""
        return shape_of(self.sort.inputs[0])[axis_of(self.sort)]

    @property
    def is_near_end(self) -> bool:
        """Whether it is nearer to the end of what is sliced than to its start."""
        return self.start + self.limit > self.size

    @property
    def is_largest(self) -> bool:
        """Whether it is nearer to the end of the sorted axis."""
        return self.is_near_end != self.is_turned

    @property
    def reach(self) -> int:
        """How many elements from that end on hold all that is taken."""
        return self.size - self.start if self.is_near_end else self.limit


@rule(exact, targets=("cpu",), producer=(SortOp, ReverseOp), partitioned=False)
def slice_of_sort_to_top_k(op: SliceOp) -> ir.Value | None:
    """sort(x)[:k] -> x taken from the places of top_k(-x), for k few of f32 keys.

    The last k are those of top_k(reverse(x)), turned around: of equals it gives the first. NaNs are
    made alike before, and zeros, as it tells them apart.
    """
    found = _part_of(op)
    if found is None or not takes_all_of(found.sort):
        return None
    return _slice_of(_taken(found), op, found)


def takes_all_of(op: SortOp) -> bool:
    """Whether all that is used of a sort are a few elements from its ends."""
    rank = len(shape_of(op.inputs[0]))
    if axis_of(op) != rank - 1 or str(element_type(op.inputs[0])) != "f32":
        return False
    parts = _parts(op)
    if not parts or not all(cost.top_k_pays(part.reach, part.size) for part in parts):
        return False
    return sorts_by_first(op)


def _parts(op: SortOp) -> list[_Part] | None:
    """What the users of a sort take of it; None where one takes it as it is."""
    slices = [user for result in op.results for user in users(result)]
    for turned_axis in [each for each in slices if isinstance(each, ReverseOp)]:
        slices += users(turned_axis.result)
    slices = [each for each in slices if not isinstance(each, ReverseOp)]
    parts = [_part_of(each) for each in slices if isinstance(each, SliceOp)]
    known = [part for part in parts if part is not None]
    return known if len(known) == len(slices) else None


def _part_of(op: SliceOp) -> _Part | None:
    """What a slice takes of a sorted axis; None where it takes something else."""
    value, is_turned = op.operand, False
    match value.owner:
        case ReverseOp(operand=x, dimensions=dims):
            value, is_turned, axes = x, True, list(dims)
    match value.owner:
        case SortOp() as sort if not is_turned or axes == [axis_of(sort)]:
            number = ir.OpResult(value).result_number
            start, limit = (each[axis_of(sort)] for each in (op.start_indices, op.limit_indices))
            return _Part(sort, number, is_turned, start, limit)
    return None


def _taken(part: _Part) -> ir.Value:
    """The last elements of the axis that a slice is from, or the first, as many as it reaches."""
    sort, dim, reach = part.sort, axis_of(part.sort), part.reach
    raw = keys.folded_bits(sort.inputs[0])
    raw = turned(raw, dim) if part.is_largest else keys.negated(raw)
    shape, element = shape_of(raw), element_type(sort.inputs[0])
    table = build.reshape(keys.floats(raw, element), [prod(shape[:-1]), shape[-1]])
    _, found = chlo.top_k(table, reach)
    places = build.reshape(found, [*shape[:-1], reach])
    if part.is_largest:
        places = from_end(places, part.size)
    if part.is_turned != part.is_largest:
        places = turned(places, dim)
    return take(sort.inputs[part.number], places, dim)


def _slice_of(taken: ir.Value, op: SliceOp, part: _Part) -> ir.Value:
    """What `op` takes, from the elements near the end that it takes from."""
    dim, reach = axis_of(part.sort), shape_of(taken)[-1]
    starts, limits = list(op.start_indices), list(op.limit_indices)
    if part.is_near_end:
        starts[dim] -= part.size - reach
        limits[dim] -= part.size - reach
    if not any(starts) and op.result.type == taken.type:
        return taken
    return stablehlo.slice(taken, starts, limits, list(op.strides))


# Taking elements from places along one axis.


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

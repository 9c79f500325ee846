"""A few elements from one end of a sorted axis, selected by top-k in place of a sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo as hlo

from jxc.cost.cpu import bisection_ns, sort_ns, top_k_ns
from jxc.cost.rates import Rates
from jxc.ir import build
from jxc.ir.values import direction_of, element_type, is_integer, shape_of, static_shape, users
from jxc.rewrite import PassContext, exact, rule

from . import keys
from .keys import axis_of, sorts_by_first

_KEY_BITS = 32


@dataclass(frozen=True)
class _SortedPart:
    """The part of a sorted axis, or of that axis reversed, that a slice takes.

    Attributes:
        sort: the sort.
        number: the result of it that is sliced.
        is_reversed: whether the axis is reversed between sort and slice.
        start, limit: the bounds of the slice along the axis.
    """

    sort: hlo.SortOp
    number: int
    is_reversed: bool
    start: int
    limit: int

    @property
    def size(self) -> int:
        """The extent of the axis."""
        return shape_of(self.sort.inputs[0])[axis_of(self.sort)]

    @property
    def is_single(self) -> bool:
        """Whether it is one element of the sorted axis."""
        return not self.is_reversed and self.limit - self.start == 1

    @property
    def is_near_end(self) -> bool:
        """Whether it is nearer to the end of the sliced axis than to its start."""
        return self.start + self.limit > self.size

    @property
    def is_largest(self) -> bool:
        """Whether it is nearer to the end of the sorted axis."""
        return self.is_near_end != self.is_reversed

    @property
    def reach(self) -> int:
        """The number of elements from that end that include the whole part."""
        return self.size - self.start if self.is_near_end else self.limit


@rule(exact, targets=("cpu",), producer=(hlo.SortOp, hlo.ReverseOp), by_rates=True)
def slice_of_sort_to_top_k(op: hlo.SliceOp, context: PassContext) -> ir.Value | None:
    """sort(x)[:k] -> x gathered at the positions of top_k(-x), for small k and f32 keys.

    The last k are those of top_k(reverse(x)), reversed, as top_k takes the first of equal elements.
    NaNs and zeros are made equal first, as top_k distinguishes them.
    """
    found = _part_of(op)
    if found is None or not takes_all_of(found.sort, context.rates):
        return None
    return _slice_of(_taken(found), op, found)


@rule(exact, targets=("cpu",))
def approx_min_k_to_top_k(op: hlo.CustomCallOp) -> Sequence[ir.Value] | None:
    """approx_min_k(x, k) -> x gathered at the positions of top_k(-x), for f32.

    XLA:CPU sorts x and its positions by x < y. Elements that this does not order, which are NaNs,
    come last.
    """
    if op.call_target_name.value != "ApproxTopK" or not _is_ascending(op):
        return None
    x, positions = list(op.operands)[:2]
    shape, taken = static_shape(x), static_shape(op.results[0])
    if not shape or not taken or 0 in (*shape, *taken) or str(element_type(x)) != "f32":
        return None
    dim = len(shape) - 1
    if taken[:-1] != shape[:-1] or taken[dim] > shape[dim]:
        return None
    if not _is_along(positions, dim) or not _has(op, dim, taken):
        return None
    found = _top(keys.negated(keys.folded_bits(x)), element_type(x), taken[-1])
    return [take_along_axis(each, found, dim) for each in (x, positions)]


def _is_ascending(op: hlo.CustomCallOp) -> bool:
    """Whether the computation that `op` calls is x < y."""
    names = [ir.FlatSymbolRefAttr(each).value for each in op.called_computations or ()]
    module = op.operation
    while module.parent is not None:
        module = module.parent
    table = ir.SymbolTable(module)
    if len(names) != 1 or names[0] not in table:
        return False
    (block,) = table[names[0]].regions[0].blocks
    match [each.operation.opview for each in block.operations]:
        case [hlo.CompareOp(lhs=lhs, rhs=rhs) as compared, last]:
            is_plain = "TOTALORDER" not in str(compared.compare_type)
            is_returned = list(last.operands) == [compared.result]
            is_less = direction_of(compared) == "LT" and is_plain
            return is_less and is_returned and [lhs, rhs] == list(block.arguments)[:2]
    return False


def _has(op: hlo.CustomCallOp, dim: int, taken: Sequence[int]) -> bool:
    """Whether `op` reduces `dim` to as many elements as its result has."""
    if "mhlo.backend_config" not in op.attributes:
        return False
    config = ir.DictAttr(op.attributes["mhlo.backend_config"])
    found = [ir.IntegerAttr(config[name]).value for name in ("reduction_dim", "top_k")]
    return found == [dim, taken[-1]]


def takes_all_of(op: hlo.SortOp, rates: Rates) -> bool:
    """Whether only elements at the ends of a sort are used, and top-k finds them faster.

    The alternatives are a packed sort and, for single elements, a bisection.
    """
    shape = shape_of(op.inputs[0])
    if axis_of(op) != len(shape) - 1 or str(element_type(op.inputs[0])) != "f32":
        return False
    parts = _parts(op)
    if not parts or not sorts_by_first(op):
        return False
    rows, size = prod(shape[:-1]), shape[-1]
    ends = {(part.is_largest, part.reach) for part in parts}
    found = sum(top_k_ns(rates, rows, size, reach) for _, reach in ends)
    other = sort_ns(rates, rows, size, operands=1, is_plain=True)
    if all(part.is_single and op.inputs[part.number] == op.inputs[0] for part in parts):
        starts = {part.start for part in parts}
        leading = [start for start in starts if start - 1 not in starts]
        other = min(other, bisection_ns(rates, rows * size, len(leading) * _KEY_BITS))
    return found <= other


def _parts(op: hlo.SortOp) -> list[_SortedPart] | None:
    """The parts that the users of a sort take; None if one takes something else."""
    slices = [user for result in op.results for user in users(result)]
    for reversal in [each for each in slices if isinstance(each, hlo.ReverseOp)]:
        slices += users(reversal.result)
    slices = [each for each in slices if not isinstance(each, hlo.ReverseOp)]
    parts = [_part_of(each) for each in slices if isinstance(each, hlo.SliceOp)]
    known = [part for part in parts if part is not None]
    return known if len(known) == len(slices) else None


def _part_of(op: hlo.SliceOp) -> _SortedPart | None:
    """The part of a sorted axis that a slice takes; None if it takes something else."""
    value, is_reversed = op.operand, False
    match value.owner:
        case hlo.ReverseOp(operand=x, dimensions=dims):
            value, is_reversed, axes = x, True, list(dims)
    match value.owner:
        case hlo.SortOp() as sort if not is_reversed or axes == [axis_of(sort)]:
            number = ir.OpResult(value).result_number
            start, limit = (each[axis_of(sort)] for each in (op.start_indices, op.limit_indices))
            return _SortedPart(sort, number, is_reversed, start, limit)
    return None


def _taken(part: _SortedPart) -> ir.Value:
    """The elements from the part's end of the axis, as many as it reaches."""
    sort, dim, reach = part.sort, axis_of(part.sort), part.reach
    raw = keys.folded_bits(sort.inputs[0])
    raw = hlo.reverse(raw, [dim]) if part.is_largest else keys.negated(raw)
    positions = _top(raw, element_type(sort.inputs[0]), reach)
    if part.is_largest:
        positions = from_end(positions, part.size)
    if part.is_reversed != part.is_largest:
        positions = hlo.reverse(positions, [dim])
    return take_along_axis(sort.inputs[part.number], positions, dim)


def _top(raw: ir.Value, element: ir.Type, kept: int) -> ir.Value:
    """The positions of the greatest of the floats with these bits, along the last axis."""
    shape = shape_of(raw)
    table = build.reshape(keys.floats(raw, element), [prod(shape[:-1]), shape[-1]])
    _, found = chlo.top_k(table, kept)
    return build.reshape(found, [*shape[:-1], kept])


def _slice_of(taken: ir.Value, op: hlo.SliceOp, part: _SortedPart) -> ir.Value:
    """The slice of these elements that `op` takes."""
    dim, reach = axis_of(part.sort), shape_of(taken)[-1]
    starts, limits = list(op.start_indices), list(op.limit_indices)
    if part.is_near_end:
        starts[dim] -= part.size - reach
        limits[dim] -= part.size - reach
    if not any(starts) and op.result.type == taken.type:
        return taken
    return hlo.slice(taken, starts, limits, list(op.strides))


def take_along_axis(operand: ir.Value, positions: ir.Value, dim: int) -> ir.Value:
    """The elements of `operand` at i32 `positions` along `dim`; the positions if it is an iota."""
    match operand.owner:
        case hlo.IotaOp() if _is_along(operand, dim):
            return build.convert(positions, element_type(operand))
        case hlo.ReverseOp(operand=x, dimensions=dims) if list(dims) == [dim] and _is_along(x, dim):
            return build.convert(from_end(positions, shape_of(x)[dim]), element_type(operand))
    return _gather(operand, positions, dim)


def from_end(positions: ir.Value, size: int) -> ir.Value:
    """The same positions along an axis of `size`, counted from its other end."""
    return hlo.subtract(build.splat(size - 1, positions.type), positions)


def _is_along(value: ir.Value, dim: int) -> bool:
    """Whether `value` is an iota along `dim`, of integers that do not wrap around."""
    match value.owner:
        case hlo.IotaOp(iota_dimension=along) if along.value == dim and is_integer(value):
            return bool(ir.IntegerType(element_type(value)).width >= 32)
    return False


def _gather(operand: ir.Value, positions: ir.Value, dim: int) -> ir.Value:
    shape = shape_of(positions)
    others = [i for i in range(len(shape)) if i != dim]
    numbers = hlo.GatherDimensionNumbers.get([], [dim], others, others, [dim], len(shape))
    indices = build.reshape(positions, [*shape, 1])
    return hlo.gather(operand, indices, numbers, [1] * len(shape))

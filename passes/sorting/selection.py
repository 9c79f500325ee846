"""A few elements of a sorted axis, each found by a bisection over the bits of its key.

The element at position k of a sorted axis has the greatest key that at most k keys are less than.
Each iteration of a loop decides one bit of it, for all rows: it counts the keys that are less than
a key with this bit. The element at the next position takes one more pass: it is the same again, or
the least key that is greater.

Zeros of either sign have one key, and keep the order of the operand. If a selected element is zero
and the operand has a -0.0, another bisection over positions finds that zero. Otherwise that loop
has no iterations.

The elements are put at their positions of an array like the sorted one, of which they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu import ROW_SUM, SUMMED, bisection_ns, sort_ns
from jxc.cost.rates import Rates
from jxc.ir import build
from jxc.ir.values import element_type, is_float, is_unsigned, is_used, shape_of, users
from jxc.rewrite import PassContext, exact, rule

from . import keys
from .keys import axis_of, key_width, sorts_by_first
from .reads import Read, read_of
from .top_k import takes_all_of

_LARGEST_AXIS = 1 << 29
_EXACT = 1 << 24  # the elements that f32 can count
_MOST_FOUND = 16  # elements of a row; each takes 20 to 100 ms to compile
_BEHIND = (1 << 31) - 1
"""A position that is behind those of all zeros."""


@rule(exact, targets=("cpu",), producer=hlo.SortOp, by_rates=True)
def sort_to_selection(
    op: hlo.SliceOp | hlo.DynamicSliceOp | hlo.GatherOp, context: PassContext
) -> ir.Value | None:
    """sort(x)[k] -> the greatest key that at most k keys of x are less than, for few k.

    For slices, dynamic slices and gathers of single elements of a row. All uses of the sort must be
    such, of the operand by which it sorts, which has 32 bits or less, and in the block of the sort.
    """
    sort = op.operands[0].owner
    if not isinstance(sort, hlo.SortOp) or not is_selected(sort, context):
        return None
    key, dim = sort.inputs[0], axis_of(sort)
    read = read_of(op, dim)
    assert read is not None
    found = _Selection(key, dim, read, context.rates).result()
    copy = op.operation.clone()
    copy.operands[0] = found
    return copy.results[0]


@rule(exact, targets=("cpu",), by_rates=True)
def sort_to_shared_selection(op: hlo.SortOp, context: PassContext) -> ir.Value | None:
    """sort(x)[k], sort(x)[k + 1] -> both from one bisection, and so for all slices of a sort.

    For sorts of several rows of one array, of which only slices are used. The other elements of the
    result are not those of the sorted array.
    """
    if not is_selected(op, context):
        return None
    reads = _reads_of(op)
    if len(users(op.results[0])) < 2 or not reads or len(reads) != 1:
        return None
    return _Selection(op.inputs[0], axis_of(op), reads[0], context.rates).result()


def is_selected(op: hlo.SortOp, context: PassContext) -> bool:
    """Whether all elements that are read of a sort are found faster than by a packed sort."""
    used = [number for number, result in enumerate(op.results) if is_used(result)]
    if not used or not sorts_by_first(op) or any(op.inputs[n] != op.inputs[0] for n in used):
        return False
    key, dim = op.inputs[0], axis_of(op)
    if shape_of(key)[dim] > _LARGEST_AXIS or context.parts(key, dim) > 1:
        return False
    reads = _reads_of(op)
    if reads is None or sum(read.count + len(read.fixed) for read in reads) > _MOST_FOUND:
        return False
    passes = sum(_Selection(key, dim, read, context.rates).passes for read in reads)
    rates, compared, size = context.rates, prod(shape_of(key)), shape_of(key)[dim]
    packed = sort_ns(rates, compared // size, size, operands=1, is_plain=True)
    return 0 < bisection_ns(rates, compared, passes) <= packed and not takes_all_of(op, rates)


def _reads_of(op: hlo.SortOp) -> list[Read] | None:
    """The reads of a sort that are replaced, each on its own; None for other uses.

    Slices of a sort of one array are one read, except for one row: XLA computes the least integer
    of a row, which the next element needs, without vectors.
    """
    reads, dim = [], axis_of(op)
    for result in op.results:
        for user in users(result):
            is_near = user.operation.block == op.operation.block
            is_read = result == user.operands[0] and list(user.operands).count(result) == 1
            read = read_of(user, dim) if is_near and is_read else None
            if read is None:
                return None
            reads.append(read)
    shape = shape_of(op.inputs[0])
    has_rows = prod(shape) > shape[dim]
    if not has_rows or len(op.inputs) > 1 or any(read.count for read in reads):
        return reads
    return [Read(fixed=sorted({rank for read in reads for rank in read.fixed}))]


class _Selection:
    """The elements at a few positions of a sorted axis.

    Args:
        operand: what is sorted.
        dim: the axis.
        read: the positions.
        rates: of the device.

    Attributes:
        passes: how often the keys are counted.
    """

    def __init__(self, operand: ir.Value, dim: int, read: Read, rates: Rates) -> None:
        self._operand, self._dim, self._read = operand, dim, read
        self._shape = shape_of(operand)
        self._others = [each for each in range(len(self._shape)) if each != dim]
        self._rows = [self._shape[each] for each in self._others]
        self._size = size = self._shape[dim]
        self._leading = [rank for rank in read.fixed if rank - 1 not in read.fixed]
        self._following = [rank for rank in read.fixed if rank - 1 in read.fixed]
        # XLA's library adds rows of floats faster, once it has started with a row.
        is_long = dim == len(self._shape) - 1 and size * rates[SUMMED] > 2 * rates[ROW_SUM]
        self._counter = ir.F32Type.get() if is_long and size <= _EXACT else _i32()
        self._loops = len(self._leading) + read.count
        self.passes = self._loops * (key_width(operand) or 0) + len(self._following)

    def result(self) -> ir.Value:
        """An array of the type of the operand, with the elements at these positions."""
        ranks = self._ranks()
        key = keys.key(self._operand)
        found = self._keys(key, ranks)
        if is_float(self._operand):
            element, is_negative = element_type(self._operand), self._signs(key, ranks, found)
            pairs = zip(found, is_negative, strict=True)
            found = [keys.unkey(each, element, negative) for each, negative in pairs]
        position = hlo.iota(ir.RankedTensorType.get(self._shape, _i32()), self._dim)
        result = self._wide(found[-1])
        for rank, each in zip(ranks[:-1], found[:-1], strict=True):
            is_there = build.compare("EQ", position, self._wide(rank))
            result = hlo.select(is_there, self._wide(each), result)
        return result

    def _ranks(self) -> list[ir.Value]:
        """The positions in each row, those at `_following` last."""
        ranks = [self._constant(rank, _i32()) for rank in self._leading]
        ranks += self._read.positions(self._size, self._rows)
        return ranks + [self._constant(rank, _i32()) for rank in self._following]

    def _keys(self, key: ir.Value, ranks: Sequence[ir.Value]) -> list[ir.Value]:
        """The keys at these positions of the sorted axis."""
        top = 1 << ir.IntegerType(element_type(key)).width - 1
        least, step, greatest = (0, top, 2 * top - 1) if is_unsigned(key) else (-top, -top, top - 1)
        # A loop for each: XLA computes several counts in one kernel more slowly.
        found = [
            self._bisected(key, [rank], least, step, top.bit_length())[0]
            for rank in ranks[: self._loops]
        ]

        def following(before: ir.Value, rank: int) -> ir.Value:
            upto = self._count(key, "LE", before)
            is_same = build.compare("GT", upto, self._constant(rank, _i32()))
            return hlo.select(is_same, before, self._least_above(key, before, greatest))

        return self._with_following(found, following)

    def _with_following(
        self, found: Sequence[ir.Value], following: Callable[[ir.Value, int], ir.Value]
    ) -> list[ir.Value]:
        """The values that loops found, and those that follow from the one at the rank before."""
        known = dict(zip(self._leading, found, strict=False))
        for rank in self._following:
            known[rank] = following(known[rank - 1], rank)
        return [*found, *(known[rank] for rank in self._following)]

    def _bisected(
        self,
        key: ir.Value,
        ranks: Sequence[ir.Value],
        least: int,
        top: int,
        iterations: int | ir.Value,
    ) -> list[ir.Value]:
        """The greatest keys that at most `ranks` keys of their rows are less than.

        Args:
            key: integers.
            ranks: an i32 for each row.
            least: the least key that there may be.
            top: the bit that the first iteration adds to it; it may wrap around.
            iterations: the number of bits.
        """
        element = element_type(key)

        def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
            shift = build.convert(number, element)
            bit = hlo.shift_right_logical(build.scalar(top, element), shift)
            step, following = build.broadcast(bit, self._rows), []
            for found, rank in zip(carried, ranks, strict=True):
                trial = hlo.add(found, step)
                is_small = build.compare("LE", self._count(key, "LT", trial), rank)
                following.append(hlo.select(is_small, trial, found))
            return following

        return build.fori_loop(iterations, [self._constant(least, element)] * len(ranks), body)

    def _least_above(self, key: ir.Value, bound: ir.Value, greatest: int) -> ir.Value:
        """The least key of each row that is greater than `bound`; `greatest` if none is."""
        is_above = build.compare("GT", key, self._wide(bound))
        above = hlo.select(is_above, key, build.splat(greatest, key.type))
        start = build.scalar(greatest, element_type(key))
        return build.reduce(above, start, [self._dim], hlo.minimum)

    def _signs(
        self, key: ir.Value, ranks: Sequence[ir.Value], found: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Where the elements with the keys `found` are -0.0."""
        zero = self._constant(0, element_type(key))
        are_zero = [build.compare("EQ", each, zero) for each in found]
        is_minus = keys.is_minus_zero(self._operand)
        # Those that follow a loop's need none: the first zero of a row is the least position.
        looped = reduce(hlo.or_, are_zero[: self._loops])
        is_needed = hlo.and_(_any(is_minus), _any(looped))
        # The zeros in the order of their positions, which count from 1, with the sign below.
        position = hlo.iota(ir.RankedTensorType.get(self._shape, _i32()), self._dim)
        one = build.splat(1, position.type)
        zeros = hlo.select(
            build.compare("EQ", key, build.splat(0, key.type)),
            hlo.or_(hlo.shift_left(hlo.add(position, one), one), build.convert(is_minus, _i32())),
            build.splat(_BEHIND, position.type),
        )
        bits = (2 * self._size + 1).bit_length()
        iterations = hlo.select(is_needed, build.scalar(bits, _i32()), build.scalar(0, _i32()))
        before = self._count(key, "LT", zero)
        wanted = [hlo.subtract(rank, before) for rank in ranks[: self._loops]]

        def following(last: ir.Value, rank: int) -> ir.Value:
            # Zero, less than all positions, until the rank is that of a zero.
            is_reached = build.compare("LE", before, self._constant(rank, _i32()))
            return hlo.select(is_reached, self._least_above(zeros, last, _BEHIND), last)

        signed = self._bisected(zeros, wanted, 0, 1 << bits - 1, iterations)
        signed = self._with_following(signed, following)
        one, none = self._constant(1, _i32()), self._constant(0, _i32())
        return [
            hlo.and_(is_zero, build.compare("NE", hlo.and_(each, one), none))
            for is_zero, each in zip(are_zero, signed, strict=True)
        ]

    def _count(self, key: ir.Value, direction: str, bound: ir.Value) -> ir.Value:
        """How many keys of each row compare so with the bound of the row."""
        is_counted = build.compare(direction, key, self._wide(bound))
        count = build.reduce_sum(build.convert(is_counted, self._counter), [self._dim])
        return build.convert(count, _i32())

    def _wide(self, value: ir.Value) -> ir.Value:
        """A value of each row, for all elements of the row."""
        return build.broadcast(value, self._shape, self._others)

    def _constant(self, number: int, element: ir.Type) -> ir.Value:
        """A constant of each row."""
        return build.splat(number, ir.RankedTensorType.get(self._rows, element))


def _any(mask: ir.Value) -> ir.Value:
    """Whether any element is true."""
    start = build.scalar(0, element_type(mask))
    return build.reduce(mask, start, range(len(shape_of(mask))), hlo.or_)


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)

"""A few elements of a sorted axis, each found by a bisection over the bits of its key.

The element at position k of a sorted axis has the greatest key that at most k keys are less than.
Each iteration of a loop decides one bit of it, for all rows: it counts the keys that are less than
a key with this bit. The element at the next position takes one more pass: it is the same again, or
the least key that is greater.

Zeros of either sign have one key, and keep the order of the operand. If a selected element is zero
and the operand has a -0.0, another bisection over positions finds that zero. Otherwise that loop
has no iterations.

The elements are put at their positions of an array like the sorted one, whose other elements are
wrong. Only those that are read are computed.
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
from jxc.ir.values import element_type, is_before, is_float, is_unsigned, is_used, shape_of, users
from jxc.rewrite import PassContext, exact, rule

from . import keys
from .keys import axis_of, key_width, sorts_by_first
from .reads import Hoisted, Read, read_of
from .top_k import takes_all_of

_LARGEST_AXIS = 1 << 29
_EXACT = 1 << 24  # the elements that f32 can count
_BEHIND = (1 << 31) - 1
"""A position that is behind those of all zeros."""


@rule(exact, targets=("cpu",), priced=True)
def sort_to_selection(op: hlo.SortOp, context: PassContext) -> Sequence[ir.Value] | None:
    """sort(x)[k] -> the greatest key that at most k keys of x are less than, for few k.

    For slices, dynamic slices and gathers of single elements of a row. All uses of the sort must be
    such, of the operand by which it sorts, which has 32 bits or less.
    """
    used = [number for number, result in enumerate(op.results) if is_used(result)]
    if not used or not sorts_by_first(op) or any(op.inputs[n] != op.inputs[0] for n in used):
        return None
    key, dim = op.inputs[0], axis_of(op)
    if shape_of(key)[dim] > _LARGEST_AXIS or context.parts(key, dim) > 1:
        return None
    readers = [user for number in used for user in users(op.results[number])]
    found = [read_of(reader, dim) for reader in readers]
    reads = [read for read in found if read is not None]
    if len(reads) < len(readers) or takes_all_of(op, context.rates):
        return None
    selection = _Selection(key, dim, reads, context.rates)
    elements, bits = prod(shape_of(key)), key_width(key) or 0
    rows = elements // selection.size
    least = sort_ns(context.rates, rows, selection.size, operands=1, is_plain=True)
    needed = bisection_ns(context.rates, elements, selection.passes(bits))
    if not needed or needed > least:
        return None
    place = _first(readers) if selection.indices else op
    hoisted = None if place is None else Hoisted(place)
    if hoisted is None or not hoisted.can_copy(selection.indices):
        return None
    with ir.InsertionPoint(place):
        result = selection.result(hoisted)
    return [result if number in used else each for number, each in enumerate(op.inputs)]


def _first(ops: Sequence[ir.OpView]) -> ir.OpView | None:
    """The op before all others; None if they are in several blocks."""
    first = ops[0]
    for op in ops:
        first = op if is_before(op, first) else first
    return first if all(op == first or is_before(first, op) for op in ops) else None


class _Selection:
    """The elements at a few positions of a sorted axis.

    Args:
        operand: what is sorted.
        dim: the axis.
        reads: the positions.
        rates: of the device.
    """

    def __init__(self, operand: ir.Value, dim: int, reads: Sequence[Read], rates: Rates) -> None:
        self._operand, self._dim, self._reads = operand, dim, reads
        self._shape = shape_of(operand)
        self._others = [each for each in range(len(self._shape)) if each != dim]
        self._rows = [self._shape[each] for each in self._others]
        self._fixed = sorted({rank for read in reads for rank in read.fixed})
        self._leading = [rank for rank in self._fixed if rank - 1 not in self._fixed]
        self._following = [rank for rank in self._fixed if rank - 1 in self._fixed]
        self.size = self._shape[dim]
        # XLA's library adds rows of floats faster, once it has started with a row.
        is_long = dim == len(self._shape) - 1 and self.size * rates[SUMMED] > 2 * rates[ROW_SUM]
        self._counter = ir.F32Type.get() if is_long and self.size <= _EXACT else _i32()
        self.loops = len(self._leading) + sum(read.count for read in reads)
        self.indices = [read.indices for read in reads if read.indices is not None]

    def passes(self, bits: int) -> int:
        """How often the keys are counted, if they have so many bits."""
        return self.loops * bits + len(self._following)

    def result(self, hoisted: Hoisted) -> ir.Value:
        """An array of the type of the operand, with the elements at these positions."""
        ranks = self._ranks(hoisted)
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

    def _ranks(self, hoisted: Hoisted) -> list[ir.Value]:
        """The positions in each row, those at `_following` last."""
        ranks = [self._constant(rank, _i32()) for rank in self._leading]
        for read in self._reads:
            if read.indices is not None:
                ranks += read.positions(hoisted.copy(read.indices), self.size, self._rows)
        return ranks + [self._constant(rank, _i32()) for rank in self._following]

    def _keys(self, key: ir.Value, ranks: Sequence[ir.Value]) -> list[ir.Value]:
        """The keys at these positions of the sorted axis."""
        top = 1 << ir.IntegerType(element_type(key)).width - 1
        least, step, greatest = (0, top, 2 * top - 1) if is_unsigned(key) else (-top, -top, top - 1)
        # A loop for each: XLA computes several counts in one kernel more slowly.
        found = [
            self._bisected(key, [rank], least, step, top.bit_length())[0]
            for rank in ranks[: self.loops]
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
        is_needed = hlo.and_(_any(is_minus), _any(reduce(hlo.or_, are_zero)))
        # The zeros in the order of their positions, which count from 1, with the sign below.
        position = hlo.iota(ir.RankedTensorType.get(self._shape, _i32()), self._dim)
        one = build.splat(1, position.type)
        zeros = hlo.select(
            build.compare("EQ", key, build.splat(0, key.type)),
            hlo.or_(hlo.shift_left(hlo.add(position, one), one), build.convert(is_minus, _i32())),
            build.splat(_BEHIND, position.type),
        )
        bits = (2 * self.size + 1).bit_length()
        iterations = hlo.select(is_needed, build.scalar(bits, _i32()), build.scalar(0, _i32()))
        before = self._count(key, "LT", zero)
        wanted = [hlo.subtract(rank, before) for rank in ranks[: self.loops]]

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

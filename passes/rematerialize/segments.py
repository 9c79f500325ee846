"""Runs the backward loop of a gradient in segments, each after the forward loop over it ran again.

The forward loop keeps its carried values at the start of each segment only. For each segment, from
the last to the first, its iterations run again and store what the backward loop reads, in buffers
of the length of a segment. With several levels, a segment is itself split into segments: of n
iterations, the carried values of `levels * n ** (1 / (levels + 1))` are kept at a time, and each
iteration runs `levels` times more.

Temporaries and the least time of one gradient on a shared CPU of 2 cores, with jax 0.10.2; the
programs of a row ran in turn, and have 64 (LSTM) and 40 segments. On 2 levels they have 16 and as
many as take the fewest bytes:

| program | plain | `jax.checkpoint` of segments | in segments | on 2 levels |
|---|---|---|---|---|
| LSTM, 4096 steps | 234.9 MB, 287 ms | 34.1 MB, 186 ms | 34.1 MB, 183 ms | 33.7 MB, 223 ms |
| 64 particles, 2000 steps | 295.1 MB, 522 ms | 7.6 MB, 466 ms | 7.6 MB, 344 ms | 0.4 MB, 404 ms |

Of the LSTM, the results and their cotangents take 33.5 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.ir import build
from jxc.ir.values import is_used, shape_of

from .._shared.elementwise import with_shape
from .carried import add_stacks, drop_unused
from .copies import affine, copy_ops, read_row, write_row
from .nested import mark_starts, nest
from .pairs import LoopPair
from .sources import Need, Sources

_MOST_TRIPS = 2**30  # the counters of the loops are of 32 bits
_LITTLE_MORE = 1.25  # times the fewest bytes
_NEAR = 4  # so many times more or fewer segments take more than that
_Number: TypeAlias = int | ir.Value


def in_segments(pair: LoopPair, segments: int, *, levels: int = 1) -> str:
    """Keep the carried values of a forward loop at the starts of segments. Contract: exact.

    The stacks that only the backward loop reads are no longer stored. Both loops are replaced.

    Args:
        pair: the loops.
        segments: the number of segments, and of those of a segment.
        levels: how often a segment is split again; 1 for segments of iterations.

    Returns:
        Why the loops stay as they are; empty if they were rewritten.
    """
    plan = SegmentPlan(pair, segments, levels)
    if reason := plan.why_not():
        return reason
    _Rewrite(plan).run()
    return ""


def why_not_in_segments(pair: LoopPair, segments: int, *, levels: int = 1) -> str:
    """Why `in_segments` would leave the loops as they are; empty if it would rewrite them."""
    return SegmentPlan(pair, segments, levels).why_not()


def bytes_in_segments(pair: LoopPair, segments: int, *, levels: int = 1) -> tuple[int, int]:
    """The bytes of the stacks that `in_segments` would drop, and of those that it would add."""
    plan = SegmentPlan(pair, segments, levels)
    return plan.bytes_before, plan.bytes_after


def segments_of_least_bytes(pair: LoopPair, *, levels: int = 1) -> int:
    """The number of segments with the fewest bytes.

    If segments of equal lengths take little more, it is their number: the trip counts of all loops
    are then known to XLA, and to what estimates the time.
    """
    plan, trips = SegmentPlan(pair, 2, levels), pair.forward.trips
    ratio = plan.bytes_before / max(plan.state_bytes, 1)
    best = max(2, min(round(ratio ** (1 / (levels + 1))), trips // 2))
    near = range(max(2, best // _NEAR), min(trips // 2, _NEAR * best) + 1)
    even = [each for each in near if trips % each**levels == 0]
    found = min(even, key=plan.bytes_with, default=best)
    is_little = plan.bytes_with(found) <= _LITTLE_MORE * plan.bytes_with(best)
    return found if is_little else best


def ops_in_segments(pair: LoopPair) -> list[ir.OpView]:
    """The ops of the forward loop that run again, once in each iteration for each level."""
    plan = SegmentPlan(pair, 2, 1)
    return [pair.forward.ops[number] for number in sorted(plan.need.ops)]


@dataclass(frozen=True)
class SegmentPlan:
    """What is stored, and what runs again.

    Attributes:
        pair: the loops.
        segments: the number of segments of each level.
        levels: the number of levels.
    """

    pair: LoopPair
    segments: int
    levels: int

    @cached_property
    def need(self) -> Need:
        """What the stored values and the following carried values are computed from."""
        return self._need([self.pair.stacks[index].value for index in self.pair.reads])

    @cached_property
    def state_need(self) -> Need:
        """What the following carried values are computed from."""
        return self._need([self.pair.forward.ends[number] for number in self.state])

    @cached_property
    def state(self) -> list[int]:
        """The carried values with which an iteration starts, by number."""
        return self._numbers(self.need)

    def _numbers(self, need: Need) -> list[int]:
        arguments = self.pair.forward.arguments
        return sorted(arguments[value] for value in need.stored if value in arguments)

    def _need(self, values: Sequence[ir.Value]) -> Need:
        sources = Sources(self.pair, self.pair.stacks)
        ends, numbers = self.pair.forward.ends, list[int]()
        while True:
            following = [ends[number] for number in numbers]
            need = sources.of([*values, *following], only_carried=True)
            if need.reason or self._numbers(need) == numbers:
                return need
            numbers = self._numbers(need)

    def length_of(self, most: int) -> int:
        """The number of iterations of a segment, of all but the last one."""
        return -(-most // self.segments)

    @property
    def bytes_before(self) -> int:
        """The bytes of the stacks that are stored for all iterations."""
        return sum(value.bytes for value in self.pair.stacked)

    @property
    def state_bytes(self) -> int:
        """The bytes of the carried values with which an iteration starts."""
        arguments = self.pair.forward.body.arguments
        return sum(bytes_of(arguments[number].type) for number in self.state)

    @property
    def bytes_after(self) -> int:
        """The bytes of the carried values that are kept, and of the buffers of a segment."""
        return self.bytes_with(self.segments)

    def bytes_with(self, segments: int) -> int:
        """The same for another number of segments."""
        trips, state = self.pair.forward.trips, self.state_bytes
        most, total = trips, state
        for _ in range(self.levels):
            length = -(-most // segments)
            total += -(-most // length) * state
            most = length
        return total + most * self.bytes_before // trips

    def why_not(self) -> str:
        """Why the loops cannot run in segments, or would not store less; empty if they can."""
        trips, carried = self.pair.forward.trips, self.pair.backward.op.operands
        if not 2 <= self.segments <= trips // 2 or self.levels < 1:
            return f"a loop of {trips} iterations does not split into {self.segments} segments"
        if trips > _MOST_TRIPS or not self.pair.is_reverse:
            return "the second loop does not read first what the first loop wrote last"
        if not all(isinstance(each.type, ir.RankedTensorType) for each in carried):
            return "the second loop carries a token"
        if not any(map(is_used, self.pair.backward.op.results)):
            return "nothing uses the results of the second loop"
        if self.need.reason:
            return self.need.reason
        if self.bytes_after >= self.bytes_before:
            return f"it stores {self.bytes_after} bytes instead of {self.bytes_before}"
        return ""


class _Rewrite:
    """Rewrites a pair of loops in segments."""

    def __init__(self, plan: SegmentPlan) -> None:
        self._plan, self._pair = plan, plan.pair
        self._need, self._state_need = plan.need, plan.state_need
        self._forward, self._backward = plan.pair.forward, plan.pair.backward
        self._counters = Sources(plan.pair, plan.pair.stacks).counters
        self._arguments = [self._forward.body.arguments[number] for number in plan.state]
        self._ends = [self._forward.ends[number] for number in plan.state]
        self._values = [self._pair.stacks[index].value for index in self._pair.reads]
        used = zip(self._backward.op.results, self._backward.body.arguments, strict=True)
        self._carried = [i for i, each in enumerate(used) if any(map(is_used, each))]

    def run(self) -> None:
        """Replace both loops."""
        op, trips = self._backward.op, self._forward.trips
        length = self._plan.length_of(trips)
        forward, starts = self._store_starts(length)
        with ir.InsertionPoint(op), op.location:
            carried = [op.operands[index] for index in self._carried]
            start = build.scalar(0, _i32())
            found = self._over_segments(start, trips, length, starts, carried, self._plan.levels)
        for index, value in zip(self._carried, found, strict=True):
            op.results[index].replace_all_uses_with(value)
        op.operation.erase()
        forward = drop_unused(forward)
        if self._arguments and trips % length == 0:
            nest(forward, trips // length, length)

    def _store_starts(self, length: int) -> tuple[hlo.WhileOp, list[ir.Value]]:
        """The forward loop with a stack of each carried value at the starts of segments.

        Each iteration writes to the start that is next, or that it is itself. The last write to
        each is the right one. After the last start, the iterations write to an unused row.
        """
        loop, trips = self._forward, self._forward.trips
        if not self._arguments:
            return loop.op, []
        number, index = loop.counter
        with ir.InsertionPoint.at_block_begin(loop.body), loop.op.location:
            counter = loop.body.arguments[number]
            done = affine(counter, -index.first * index.step, index.step)
            position = _value(_divided_up(build.convert(done, _i32()), length))
        made, starts = add_stacks(loop.op, self._arguments, position, -(-trips // length) + 1)
        if trips % length == 0:
            mark_starts(made, len(starts))
        return made, starts

    def _over_segments(
        self,
        start: ir.Value,
        count: _Number,
        length: int,
        starts: Sequence[ir.Value],
        carried: Sequence[ir.Value],
        level: int,
    ) -> list[ir.Value]:
        """The backward loop over iterations of the forward loop, segment by segment.

        Args:
            start: the first of these iterations.
            count: how many they are.
            length: the iterations of a segment.
            starts: the carried values of the forward loop at the start of each segment, stacked.
            carried: the carried values of the backward loop.
            level: the number of levels that are left.
        """
        number = _divided_up(count, length)
        is_even = isinstance(count, int) and count % length == 0

        def segment(done: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
            position = _less(_less(number, 1), done)
            offset = _value(_times(position, length))
            left = length if is_even else hlo.minimum(_value(length), _value(_less(count, offset)))
            state = [
                build.reshape(read_row(stack, 0, _value(position)), shape_of(argument))
                for stack, argument in zip(starts, self._arguments, strict=True)
            ]
            first = hlo.add(start, offset)
            if level == 1:
                return self._segment(first, left, length, state, carried)
            shorter = self._plan.length_of(length)
            inner = self._starts_in(first, left, length, shorter, state)
            return self._over_segments(first, left, shorter, inner, carried, level - 1)

        return build.fori_loop(number, carried, segment)

    def _starts_in(
        self,
        start: ir.Value,
        count: _Number,
        most: int,
        length: int,
        state: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """The carried values at the start of each segment of a segment, stacked."""
        last = _less(_divided_up(count, length), 1)
        stacks = self._buffers(self._arguments, -(-most // length))

        def iteration(done: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
            state, stacks = values[: len(values) // 2], values[len(values) // 2 :]
            following, _ = self._again(hlo.add(start, done), state, [])
            position = _divided_up(done, length)
            return [*following, *map(write_row, stacks, state, [_value(position)] * len(state))]

        if not state:
            return []
        found = build.fori_loop(_times(last, length), [*state, *stacks], iteration)
        state, stacks = found[: len(state)], found[len(state) :]
        return list(map(write_row, stacks, state, [_value(last)] * len(state)))

    def _segment(
        self,
        start: ir.Value,
        count: _Number,
        most: int,
        state: Sequence[ir.Value],
        carried: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """The forward loop over a segment, and the backward loop over it."""
        buffers = self._buffers(self._values, most)  # carried ones would be copied by XLA:CPU

        def forward(done: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
            state, buffers = values[: len(self._ends)], values[len(self._ends) :]
            following, found = self._again(hlo.add(start, done), state, self._values)
            return [*following, *map(write_row, buffers, found, [done] * len(found))]

        stored = build.fori_loop(count, [*state, *buffers], forward)[len(state) :]

        def backward(done: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
            return self._backward_again(_value(_less(_less(count, 1), done)), stored, carried)

        return build.fori_loop(count, carried, backward)

    def _buffers(self, values: Sequence[ir.Value], rows: int) -> list[ir.Value]:
        return [build.constant(0, with_shape(v, [rows, *shape_of(v)])) for v in values]

    def _again(
        self, iteration: ir.Value, state: Sequence[ir.Value], wanted: Sequence[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """An iteration of the forward loop.

        Returns:
            The following carried values, and the values of `wanted`.
        """
        need = self._need if wanted else self._state_need
        known = dict(zip(self._arguments, state, strict=True))
        for argument, index in self._counters.items():
            if is_used(argument):
                kind = ir.RankedTensorType(argument.type).element_type
                known[argument] = affine(build.convert(iteration, kind), *index)
        ops = [self._forward.ops[number] for number in sorted(need.ops)]
        copy_ops(ops, known)
        return [known.get(v, v) for v in self._ends], [known.get(v, v) for v in wanted]

    def _backward_again(
        self, position: ir.Value, stored: Sequence[ir.Value], carried: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """An iteration of the backward loop, which reads a row of the buffers."""
        arguments = self._backward.body.arguments
        known = {arguments[i]: v for i, v in zip(self._carried, carried, strict=True)}
        for reads, stack in zip(self._pair.reads.values(), stored, strict=True):
            row = read_row(stack, 0, position)
            known |= {each.result: build.reshape(row, shape_of(each.result)) for each in reads}
        ops = [op for op in self._backward.ops if not any(r in known for r in op.results)]
        copy_ops(ops, known)
        ends = [self._backward.ends[index] for index in self._carried]
        return [known.get(value, value) for value in ends]


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _value(number: _Number) -> ir.Value:
    return build.scalar(number, _i32()) if isinstance(number, int) else number


def _less(number: _Number, other: _Number) -> _Number:
    if isinstance(number, int) and isinstance(other, int):
        return number - other
    difference: ir.Value = hlo.subtract(_value(number), _value(other))
    return difference


def _times(number: _Number, factor: int) -> _Number:
    if isinstance(number, int):
        return number * factor
    product: ir.Value = hlo.multiply(number, _value(factor))
    return product


def _divided_up(number: _Number, length: int) -> _Number:
    """The least integer that is at least `number / length`."""
    if isinstance(number, int):
        return -(-number // length)
    quotient: ir.Value = hlo.divide(hlo.add(number, _value(length - 1)), _value(length))
    return quotient

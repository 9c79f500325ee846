"""Statistics carried through loops and branches to the results of @main."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.build import compare, convert, reshape, scalar, splat
from jxc.ir.extra_results import add_branch_results, add_loop_values
from jxc.ir.module import ops_of, terminator
from jxc.ir.values import shape_of

from .choose import TRACED_REGIONS, Chosen, regions_of
from .statistics import COUNT, statistics

_INFINITY = float("inf")
State = list[ir.Value]
"""Of one value: its count, statistics over all iterations, and those of the first iterations."""


@dataclass
class Tracer:
    """Traces values of one program, in place.

    Attributes:
        element: the element type of the record.
        chosen: the values.
        iterations: the number of iterations of loops that are recorded one by one.
    """

    element: ir.Type
    chosen: Sequence[Chosen]
    iterations: int
    _states: dict[int, State] = field(default_factory=dict)
    _count: int = 0

    def rows(self, chosen: Chosen) -> int:
        """The number of times that a value is recorded one by one."""
        return self.iterations if chosen.depth else 0

    def main(self, main: ir.OpView) -> ir.Value:
        """Trace @main; returns a vector: for each value its count, totals and rows."""
        block = main.regions[0].blocks[0]
        ops = ops_of(block)
        with ir.InsertionPoint.at_block_begin(block):
            self._states = {at: self._start(each) for at, each in enumerate(self.chosen)}
        self._ops(ops, [])
        with ir.InsertionPoint(terminator(block)):
            parts = [self._flat(*self._states[at]) for at in range(len(self.chosen))]
            return parts[0] if len(parts) == 1 else hlo.concatenate(parts, 0)

    def _start(self, chosen: Chosen) -> State:
        nothing = (_INFINITY, -_INFINITY, 0.0, 0.0, 0.0, 0.0)
        total = [reshape(scalar(each, self.element), (1,)) for each in nothing]
        state = [scalar(0, _i32()), hlo.concatenate(total, 0)]
        if rows := self.rows(chosen):
            kind = ir.RankedTensorType.get((rows, COUNT + chosen.depth), self.element)
            state.append(splat(0.0, kind))
        return state

    def _flat(self, count: ir.Value, total: ir.Value, *rows: ir.Value) -> ir.Value:
        parts = [reshape(convert(count, self.element), (1,)), total]
        parts += [reshape(each, (shape_of(each)[0] * shape_of(each)[1],)) for each in rows]
        return hlo.concatenate(parts, 0)

    def _ops(self, ops: Sequence[ir.OpView], counters: Sequence[ir.Value]) -> None:
        """Trace in a block; `counters` are the counters of the loops around it."""
        for op in ops:
            number, self._count = self._count, self._count + 1
            mine = [at for at, each in enumerate(self.chosen) if each.number == number]
            if isinstance(op, TRACED_REGIONS):
                op = self._into(op, counters)
            with ir.InsertionPoint.after(op):
                for at in mine:
                    self._record(at, op.results[self.chosen[at].result], counters)

    def _into(self, op: ir.OpView, counters: Sequence[ir.Value]) -> ir.OpView:
        """Trace inside the regions of an op; returns the op, or its replacement."""
        count = sum(_size(region.blocks[0]) for region in regions_of(op))
        numbers = range(self._count, self._count + count)
        inside = [at for at, each in enumerate(self.chosen) if each.number in numbers]
        if not inside:
            self._count += count
            return op
        if isinstance(op, hlo.WhileOp):
            return self._loop(op, inside, counters)
        return self._branches(op, inside, counters)

    def _record(self, at: int, value: ir.Value, counters: Sequence[ir.Value]) -> None:
        count, total, *rows = self._states[at]
        numbers = statistics(value, self.element)
        following = hlo.add(count, scalar(1, _i32()))
        state = [following, _merged(total, numbers)]
        if rows:
            state.append(self._with_row(rows[0], numbers, count, counters))
        self._states[at] = state

    def _with_row(
        self, rows: ir.Value, numbers: ir.Value, count: ir.Value, counters: Sequence[ir.Value]
    ) -> ir.Value:
        """The rows with one more at `count`, if there is room."""
        parts = [numbers, *(reshape(convert(each, self.element), (1,)) for each in counters)]
        row = hlo.concatenate(parts, 0)
        row = reshape(row, (1, *shape_of(row)))
        more = hlo.dynamic_update_slice(rows, row, [count, scalar(0, _i32())])
        is_room = compare("LT", count, scalar(shape_of(rows)[0], _i32()))
        return hlo.select(is_room, more, rows)

    def _loop(
        self, op: hlo.WhileOp, inside: Sequence[int], counters: Sequence[ir.Value]
    ) -> ir.OpView:
        body, location = op.regions[1].blocks[0], op.location
        ops = ops_of(body)
        outer = {at: self._states[at] for at in inside}
        with ir.InsertionPoint(op):
            zero = scalar(0, _i32())
        counter = body.add_argument(zero.type, location)
        for at in inside:
            self._states[at] = [body.add_argument(part.type, location) for part in outer[at]]
        self._ops(ops, [*counters, counter])
        with ir.InsertionPoint(terminator(body)):
            yielded = [hlo.add(counter, scalar(1, _i32()))]
        yielded += [part for at in inside for part in self._states[at]]
        initial = [zero, *(part for at in inside for part in outer[at])]
        new = add_loop_values(op, initial, yielded)
        self._take(inside, outer, list(new.results)[-len(initial) + 1 :])
        return new

    def _branches(
        self, op: ir.OpView, inside: Sequence[int], counters: Sequence[ir.Value]
    ) -> ir.OpView:
        outer = {at: self._states[at] for at in inside}
        yielded = []
        for region in op.regions:
            self._states.update(outer)
            self._ops(ops_of(region.blocks[0]), counters)
            yielded.append([part for at in inside for part in self._states[at]])
        new = add_branch_results(op, yielded)
        self._take(inside, outer, list(new.results)[-len(yielded[0]) :])
        return new

    def _take(
        self, inside: Sequence[int], like: dict[int, State], values: Sequence[ir.Value]
    ) -> None:
        """Set the states to the results of a loop or branch, in order."""
        left = iter(values)
        for at in inside:
            self._states[at] = [next(left) for _ in like[at]]


def _size(block: ir.Block) -> int:
    """The number of ops that `Tracer` visits in a block."""
    ops = ops_of(block)
    inner = (op for op in ops if isinstance(op, TRACED_REGIONS))
    return len(ops) + sum(_size(r.blocks[0]) for op in inner for r in regions_of(op))


def _merged(total: ir.Value, numbers: ir.Value) -> ir.Value:
    """The statistics of two values together; of means, the sum."""
    cuts = [(0, 1), (1, 2), (2, COUNT)]
    parts = [
        combine(_part(total, *cut), _part(numbers, *cut))
        for combine, cut in zip((hlo.minimum, hlo.maximum, hlo.add), cuts, strict=True)
    ]
    return hlo.concatenate(parts, 0)


def _part(vector: ir.Value, start: int, end: int) -> ir.Value:
    return hlo.slice(vector, [start], [end], [1])


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)

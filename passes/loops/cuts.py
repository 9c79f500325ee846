"""Find the values that can be computed after a loop, and those that the loop must write for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import shape_of, users

from .._shared.region import has_placeholder
from .counted import CountedLoop, Row
from .rows import SHAPING, can_have_rows


@dataclass(frozen=True)
class Summand:
    """A term that each iteration adds to a carried value.

    Attributes:
        sign: 1, or -1 if it is subtracted.
        core: a product of two values of the body, a sum over some dimensions, or any other value.
        shaping: the transposes and reshapes between `core` and the term, last first.
    """

    sign: int
    core: ir.Value
    shaping: tuple[ir.OpView, ...]

    @property
    def is_product(self) -> bool:
        """Whether it is a product, which can also sum over the iterations."""
        return isinstance(self.core.owner, hlo.DotGeneralOp)


@dataclass(frozen=True)
class Sum:
    """A carried value to which each iteration adds terms, and that nothing else reads."""

    carry: int
    terms: tuple[Summand, ...]


@dataclass(frozen=True)
class Output:
    """A carried tensor of which each iteration writes a row, and that nothing else reads."""

    carry: int
    row: Row
    update: ir.Value

    @property
    def value(self) -> ir.Value:
        """The value that is written, before a reshape to the shape of a row."""
        match self.update.owner:
            case hlo.ReshapeOp(operand=x):
                return x
        return self.update


@dataclass
class Plan:
    """The computation that moves after a loop.

    Attributes:
        loop: the loop.
        sums, outputs: the carried values that are computed after the loop instead.
        stacked: the values of which the loop must write a row in each iteration.
        is_reverse: whether the row of the last iteration comes first.
    """

    loop: CountedLoop
    sums: list[Sum] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    stacked: dict[ir.Value, None] = field(default_factory=dict)
    is_reverse: bool = False


def outputs_of(loop: CountedLoop) -> list[Output]:
    """The outputs of a loop; all of their rows are written."""
    return [found for carry in range(len(loop.ends)) if (found := output_of(loop, carry))]


def output_of(loop: CountedLoop, carry: int) -> Output | None:
    """The carried value number `carry` as an output; None if it is none, or is unused."""
    result = loop.op.results[carry]
    if loop.is_tested(carry) or not users(result) or (found := loop.write_of(carry)) is None:
        return None
    row, update = found
    if shape_of(result)[row.dim] != loop.trips or not has_placeholder(result):
        return None
    return Output(carry, row, update)


@dataclass(frozen=True)
class Cut:
    """The values of a loop's body from which a value is computed after the loop.

    Attributes:
        stacks: those that the loop must write for it, a row in each iteration.
        reads: those that are rows of tensors from outside, or are written already.
    """

    stacks: frozenset[ir.Value] = frozenset()
    reads: frozenset[ir.Value] = frozenset()

    def __or__(self, other: Cut) -> Cut:
        return Cut(self.stacks | other.stacks, self.reads | other.reads)

    @property
    def bytes(self) -> int:
        """The bytes that are written in each iteration, and those read after the loop."""
        stacks = sum(bytes_of(value.type) for value in self.stacks)
        return 2 * stacks + sum(bytes_of(value.type) for value in self.reads)


class Cuts:
    """Finds the cheapest cuts for some targets of a loop, see `Cut.bytes`."""

    def __init__(self, loop: CountedLoop, sums: Sequence[Sum], outputs: Sequence[Output]) -> None:
        self.loop = loop
        self.sums, self.outputs = sums, outputs
        self._left = {*(each.carry for each in sums), *(each.carry for each in outputs)}
        self.written = dict(self._written())
        self._moved = self._moved_ops()
        self._known: dict[ir.Value, Cut] = {}

    @classmethod
    def movable(cls, loop: CountedLoop, sums: Sequence[Sum]) -> Cuts:
        """The cuts for the sums whose products have no other use."""
        cuts = cls(loop, sums, ())
        while len(kept := [each for each in cuts.sums if cuts._is_movable(each)]) < len(cuts.sums):
            cuts = cls(loop, kept, ())
        return cuts

    def _is_movable(self, target: Sum) -> bool:
        products = [term.core for term in target.terms if term.is_product]
        is_free = all(self.loop.position[each] in self._moved for each in products)
        return is_free and self.of_sum(target) is not None

    def _written(self) -> Iterator[tuple[ir.Value, Output]]:
        """The values that the loop writes to outputs which are not targets, with these outputs."""
        for carry in range(len(self.loop.ends)):
            if carry not in self._left and (found := output_of(self.loop, carry)):
                yield found.update, found
                yield found.value, found

    def _moved_ops(self) -> set[int]:
        """The positions of the ops that are used for targets only."""
        loop, moved = self.loop, set()
        ends = {loop.position.get(loop.ends[carry]) for carry in self._left}
        for at in reversed(range(len(loop.ops))):
            op = loop.ops[at]
            used = [user for result in op.results for user in users(result)]
            after = [self._position_of(user) for user in used]
            if at in ends or (after and can_have_rows(op) and all(each in moved for each in after)):
                moved.add(at)
        return moved

    def _position_of(self, user: ir.OpView) -> int | None:
        return self.loop.position.get(user.results[0]) if len(user.results) else None

    def of(self, value: ir.Value) -> Cut:
        """The cheapest cut for a value of the body."""
        if value not in self._known:
            self._known[value] = self._cut(value)
        return self._known[value]

    def _cut(self, value: ir.Value) -> Cut:
        loop = self.loop
        if loop.is_outside(value):
            return Cut()
        if value in self.written or loop.row_of(value) is not None:
            return Cut(reads=frozenset([value]))
        here, op = Cut(frozenset([value])), value.owner
        if value in loop.arguments or not can_have_rows(op):
            return here
        is_moved = loop.position[value] in self._moved
        if not is_moved and not is_elementwise(op) and not isinstance(op, SHAPING):
            return Cut() if not op.operands else here
        deeper = reduce(Cut.__or__, map(self.of, op.operands), Cut())
        if isinstance(op, hlo.ReduceOp) and self.of(op.operands[1]) != Cut():
            return here
        if is_moved or deeper.bytes < here.bytes:
            return deeper
        is_copy = isinstance(op, SHAPING) and len(deeper.stacks) <= 1
        return deeper if is_copy and deeper.bytes == here.bytes else here

    def of_sum(self, target: Sum) -> Cut | None:
        """The cut for all terms of a sum; None if one is the same in all iterations."""
        needed = [
            self.of(value)
            for term in target.terms
            for value in (term.core.owner.operands if term.is_product else [term.core])
        ]
        return reduce(Cut.__or__, needed) if Cut() not in needed else None

    def plan(self) -> Plan:
        """The plan for all targets."""
        plan = Plan(self.loop, list(self.sums), list(self.outputs))
        cuts = [self.of_sum(each) or Cut() for each in self.sums]
        cut = reduce(Cut.__or__, [*cuts, *(self.of(each.value) for each in self.outputs)], Cut())
        plan.stacked = {value: None for value in self.loop.position if value in cut.stacks}
        plan.stacked |= {value: None for value in self.loop.arguments if value in cut.stacks}
        plan.is_reverse = self._is_reverse(cut)
        return plan

    def _is_reverse(self, cut: Cut) -> bool:
        """Whether most bytes are read from tensors whose first row is of the last iteration."""
        total = 0
        for value in cut.reads:
            output = self.written.get(value)
            row = self.loop.row_of(value) if output is None else output.row
            assert row is not None
            total += bytes_of(value.type) * row.index.step
        return total < 0

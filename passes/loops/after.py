"""Sums of products, and products that a loop only writes, move behind the loop.

The backward loop of a gradient adds a product to the gradient of each weight in each iteration. It
writes the operands of the product instead, and one product behind the loop sums over all rows.

The plan of a loop is made of targets: carried values that the loop need not carry. Their operands
are cut where the fewest bytes must be written; what lies behind the cuts is computed behind the
loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.ir import build
from jxc.ir.values import is_boolean, is_complex, is_splat, shape_of, users
from jxc.rewrite import PassContext, reassociates, rule

from .._shared.elementwise import is_elementwise, is_used_once
from .._shared.reduce_body import combiner_of
from .._shared.region import has_placeholder
from . import cost
from .copies import writing
from .counted import CountedLoop, Row
from .rows import SHAPING, Rows, can_have_rows, product, reshaped


@dataclass(frozen=True)
class Term:
    """What an iteration adds to a carried value.

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
        """Whether it is a product, which can sum over the iterations too."""
        return isinstance(self.core.owner, hlo.DotGeneralOp)


@dataclass(frozen=True)
class Sum:
    """A carried value to which each iteration adds terms, and that nothing else reads."""

    carry: int
    terms: tuple[Term, ...]


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
    """What moves behind a loop.

    Attributes:
        loop: the loop.
        sums, outputs: the carried values that the loop no longer has.
        stacked: the values of which it must write a row in each iteration.
        is_reverse: whether the row of the last iteration is the first.
    """

    loop: CountedLoop
    sums: list[Sum] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    stacked: dict[ir.Value, None] = field(default_factory=dict)
    is_reverse: bool = False


@rule(reassociates, partitioned=False)
def sums_of_products_after_loop(op: hlo.WhileOp, context: PassContext) -> list[ir.Value] | None:
    """while(.. dw + x_i^T dy_i ..) -> while(.. y[i] = dy_i ..), dw + x^T y: one product.

    So are the sums of what the loop writes for it. Where x_i is a row of a tensor from outside, or
    is written already, only dy_i is written; several products share it.
    """
    if (loop := CountedLoop.of(op)) is None:
        return None
    sums = [found for carry in range(len(loop.ends)) if (found := _sum_of(loop, carry))]
    if not any(map(_has_product, sums)):
        return None
    cuts = Cuts.movable(loop, sums)
    products = list(filter(_has_product, cuts.sums))
    if not products:
        return None
    chosen = cost.worthwhile_sums(Cuts.movable(loop, products), context)
    if not chosen:
        return None
    # Sums of values that are written for the products, or lie outside, move too.
    stacked = Cuts(loop, chosen, ()).plan().stacked
    needs = {each.carry: cuts.of_sum(each) or Cut() for each in cuts.sums}
    more = [each for each in cuts.sums if needs[each.carry].stacks <= stacked.keys()]
    more = [each for each in more if each not in chosen and not _has_product(each)]
    return moved_after(Cuts(loop, [*chosen, *more], ()).plan())


def _has_product(target: Sum) -> bool:
    return any(term.is_product for term in target.terms)


@rule(reassociates, targets=("gpu",), partitioned=False)
def written_products_after_loop(op: hlo.WhileOp) -> list[ir.Value] | None:
    """while(.. y[i] = h_i @ w ..) -> while(.. s[i] = h_i ..), y = s @ w: nothing else reads it."""
    if (loop := CountedLoop.of(op)) is None:
        return None
    cuts = Cuts(loop, (), outputs_of(loop))
    outputs = [each for each in cuts.outputs if _product_behind(cuts, each.value)]
    if not outputs or not (chosen := cost.worthwhile_outputs(Cuts(loop, (), outputs))):
        return None
    return moved_after(Cuts(loop, (), chosen).plan())


def _sum_of(loop: CountedLoop, carry: int) -> Sum | None:
    """The sum that a carried value is; None also if a term cannot move."""
    argument = loop.body.arguments[carry]
    if loop.is_tested(carry) or not has_placeholder(argument) or _is_no_real(argument):
        return None
    if not users(loop.op.results[carry]) or (added := loop.added_to(carry)) is None:
        return None
    terms = [_term_of(loop, sign, value) for sign, value in added if not is_splat(value, 0)]
    known = [term for term in terms if term is not None]
    return Sum(carry, tuple(known)) if known and len(known) == len(terms) else None


def _is_no_real(value: ir.Value) -> bool:
    return is_boolean(value) or is_complex(value)  # build.splat has no complex zeros


def _term_of(loop: CountedLoop, sign: int, value: ir.Value) -> Term | None:
    shaping = []
    while isinstance(value.owner, hlo.TransposeOp | hlo.ReshapeOp) and _is_inner(loop, value):
        if not can_have_rows(value.owner):
            return None
        shaping.append(value.owner)
        value = value.owner.operand
    if loop.is_outside(value) or not has_placeholder(value):
        return None
    match value.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as op:
            if not can_have_rows(op) or loop.is_outside(x) or loop.is_outside(y):
                return None
    return Term(sign, value, tuple(shaping))


def _is_inner(loop: CountedLoop, value: ir.Value) -> bool:
    return value in loop.position and is_used_once(value)


def outputs_of(loop: CountedLoop) -> list[Output]:
    """The outputs of which each iteration writes a row, and all iterations every row."""
    return [found for carry in range(len(loop.ends)) if (found := _output_of(loop, carry))]


def _output_of(loop: CountedLoop, carry: int) -> Output | None:
    result = loop.op.results[carry]
    if loop.is_tested(carry) or not users(result) or (found := loop.write_of(carry)) is None:
        return None
    row, update = found
    if shape_of(result)[row.dim] != loop.trips or not has_placeholder(result):
        return None
    return Output(carry, row, update)


def _product_behind(cuts: Cuts, value: ir.Value) -> bool:
    """Whether a value that nothing else uses is computed from a product by what never changes."""
    loop = cuts.loop
    while _is_inner(loop, value) and can_have_rows(op := value.owner):
        match op:
            case hlo.DotGeneralOp(lhs=x, rhs=y):
                return (cuts.of(x) == Cut()) != (cuts.of(y) == Cut())
        inner = [each for each in op.operands if _is_inner(loop, each)]
        if not (is_elementwise(op) or isinstance(op, SHAPING)) or len(inner) != 1:
            return False
        value = inner[0]
    return False


@dataclass(frozen=True)
class Cut:
    """Where the computation of a value behind a loop begins.

    Attributes:
        stacks: the values that the loop must write for it.
        reads: the rows from outside, and the values that are written already.
    """

    stacks: frozenset[ir.Value] = frozenset()
    reads: frozenset[ir.Value] = frozenset()

    def __or__(self, other: Cut) -> Cut:
        return Cut(self.stacks | other.stacks, self.reads | other.reads)

    @property
    def bytes(self) -> int:
        """The bytes that are written in an iteration, and read behind the loop."""
        stacks = sum(bytes_of(value.type) for value in self.stacks)
        return 2 * stacks + sum(bytes_of(value.type) for value in self.reads)


class Cuts:
    """Finds the cuts for some targets of a loop."""

    def __init__(self, loop: CountedLoop, sums: Sequence[Sum], outputs: Sequence[Output]) -> None:
        self.loop = loop
        self.sums, self.outputs = sums, outputs
        self._left = {*(each.carry for each in sums), *(each.carry for each in outputs)}
        self.written = dict(self._written())
        self._moved = self._moved_ops()
        self._known: dict[ir.Value, Cut] = {}

    @classmethod
    def movable(cls, loop: CountedLoop, sums: Sequence[Sum]) -> Cuts:
        """The cuts for those sums whose products nothing else needs."""
        cuts = cls(loop, sums, ())
        while len(kept := [each for each in cuts.sums if cuts._is_movable(each)]) < len(cuts.sums):
            cuts = cls(loop, kept, ())
        return cuts

    def _is_movable(self, target: Sum) -> bool:
        products = [term.core for term in target.terms if term.is_product]
        is_free = all(self.loop.position[each] in self._moved for each in products)
        return is_free and self.of_sum(target) is not None

    def _written(self) -> Iterator[tuple[ir.Value, Output]]:
        """The values of which a row is written that stays, with their outputs."""
        for carry in range(len(self.loop.ends)):
            if carry not in self._left and (found := _output_of(self.loop, carry)):
                yield found.update, found
                yield found.value, found

    def _moved_ops(self) -> set[int]:
        """The positions of the ops from which only targets are computed."""
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
        """What the terms of a sum need; None if one is the same in all iterations."""
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
        """Whether most bytes that are read lie with the row of the last iteration first."""
        total = 0
        for value in cut.reads:
            output = self.written.get(value)
            row = self.loop.row_of(value) if output is None else output.row
            assert row is not None
            total += bytes_of(value.type) * row.index.step
        return total < 0


def moved_after(plan: Plan) -> list[ir.Value]:
    """The results of the loop, with the targets of the plan computed behind it."""
    loop, stacked = plan.loop, list(plan.stacked)
    written = dict(Cuts(loop, plan.sums, plan.outputs).written)
    left = {*(each.carry for each in plan.sums), *(each.carry for each in plan.outputs)}
    results, stacks = writing(loop, stacked, left, is_reverse=plan.is_reverse)
    known = {value: (output.row, results[output.carry]) for value, output in written.items()}
    rows = Rows(loop, plan.is_reverse, zip(stacked, stacks, strict=True), known)
    for target in plan.sums:
        results[target.carry] = _summed(loop, target, rows)
    for output in plan.outputs:
        results[output.carry] = _stored(loop, output, rows, plan.is_reverse)
    return [results[index] for index in range(len(loop.ends))]


def _summed(loop: CountedLoop, target: Sum, rows: Rows) -> ir.Value:
    total = loop.op.operand[target.carry]
    for term in target.terms:
        with term.core.owner.location if term.core in loop.position else loop.op.location:
            value = _sum_of_rows(term, rows)
        for op in reversed(term.shaping):
            if isinstance(op, hlo.TransposeOp):
                value = build.transpose(value, op.permutation)
            else:
                value = build.reshape(value, shape_of(op.result))
        total = (hlo.add if term.sign > 0 else hlo.subtract)(total, value)
    return total


def _sum_of_rows(term: Term, rows: Rows) -> ir.Value:
    match term.core.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as op:
            return product(op, [(rows.of(x), True), (rows.of(y), True)], is_summed=True)[0]
        case hlo.ReduceOp() as op if _is_sum(op) and term.core not in rows:
            dims = [0, *(dim + 1 for dim in op.dimensions)]
            return build.reduce_sum(rows.of(op.inputs[0]), dims)
    return build.reduce_sum(rows.of(term.core), [0])


def _is_sum(op: hlo.ReduceOp) -> bool:
    return combiner_of(op) == "add" and is_splat(op.init_values[0], 0)


def _stored(loop: CountedLoop, output: Output, rows: Rows, is_reverse: bool) -> ir.Value:
    """The rows of an output where the loop would write them."""
    found, dim = rows.of(output.value), output.row.dim
    if (output.row.index.step < 0) != is_reverse:
        found = hlo.reverse(found, [0])
    sizes = [loop.trips, *shape_of(output.update)]
    del sizes[dim + 1]
    order = list(range(1, len(sizes)))
    return build.transpose(reshaped(found, sizes), [*order[:dim], 0, *order[dim:]])

"""Find what each value of @main is in the loop over parts of the batch.

A value that depends on the batch is split or partial. An op that needs a partial value, and is not
linear in it, runs after the loop. If a split value is to be combined with such a value, the value
is computed before the loop from the whole batch if that is cheap, such as a sum of a mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.module import captured_values, has_regions, is_pure, ops_of, terminator, walk
from jxc.ir.values import element_type, is_float, shape_of, users

from .linear import plan_linear
from .split import plan_split
from .states import (
    SAME,
    CannotSplit,
    OpPlan,
    Parted,
    Partial,
    Plain,
    State,
    is_neutral,
    is_whole,
    only,
)

_IDENTITIES = ("stablehlo.optimization_barrier", "sdy.sharding_constraint")
_SUMS = ("stablehlo.add", "stablehlo.subtract")
_LATE = "it needs a value that combines all examples of the batch"
_CHEAP = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("reduce", "broadcast_in_dim", "reshape", "transpose", "slice", "iota", "constant"),
        *("concatenate", "reverse", "pad", "gather", "sort", "dynamic_slice", "bitcast_convert"),
        *("reduce_window",),
    )
)


class _Again(Exception):
    """A value is computed before the loop, so that the analysis starts again."""


class Analysis:
    """The states of the values of @main, and the plans of the ops in the loop.

    Args:
        main: the function, without calls.
        batch: the dimension of the batch of some arguments, by number.
        parts: the number of iterations.

    Raises:
        CannotSplit: an op mixes the examples of the batch.
    """

    def __init__(self, main: ir.OpView, batch: dict[int, int], parts: int) -> None:
        self.block: ir.Block = main.regions[0].blocks[0]
        self.parts = parts
        self.states: dict[ir.Value, State] = {}
        self.plans: dict[ir.Value, OpPlan] = {}
        self.batch = batch
        self._hoisted: set[ir.Value] = set()
        self._shaped: set[ir.Value] = set()
        sizes = [math.prod(shape_of(self.block.arguments[at])) for at in batch]
        self._most = max(sizes, default=0)
        while True:
            try:
                self._run()
                return
            except _Again:
                continue

    def _run(self) -> None:
        self.states.clear()
        self.plans.clear()
        self._mixed: dict[ir.Value, ir.OpView] = {}
        for at, argument in enumerate(self.block.arguments):
            dim = self.batch.get(at)
            self.states[argument] = Plain.BEFORE if dim is None else Parted(dim)
        for op in ops_of(self.block):
            self._visit(op)

    def of(self, value: ir.Value) -> State:
        """The state of a value."""
        return self.states.get(value, Plain.BEFORE)

    # Ops of @main

    def _visit(self, op: ir.OpView) -> None:
        reads = reads_of(op)
        states = [self.of(value) for value in reads]
        results = list(op.results)
        is_hoisted = bool(results) and all(value in self._hoisted for value in results)
        if is_hoisted or all(state is Plain.BEFORE for state in states):
            self._set(results, [Plain.BEFORE] * len(results))
        elif not only(states, Parted):
            self._visit_unsplit(op, states)
        else:
            self._visit_split(op, reads, states)
        for value in results:
            if value in self._hoisted:
                self.states[value] = Plain.BEFORE

    def _visit_unsplit(self, op: ir.OpView, states: Sequence[State]) -> None:
        """Of partial values, only sums are computed in the loop: one accumulator for both terms.

        So are the ops that give the terms another shape before they are added.
        """
        results = list(op.results)
        if op.operation.name in _SUMS and self._are_summands(op.operands):
            self._plan(op, OpPlan((Partial("add"),) * 2, (Partial("add"),)))
            return
        if results and results[0] in self._shaped and states == [Partial("add")]:
            self._plan(op, OpPlan(tuple(states), (Partial("add"),)))
            return
        if all(map(is_whole, states)) and not _impure_name(op):
            self._plan(op, OpPlan((SAME,) * len(op.operands), (SAME,) * len(results)))
            return
        self._after(op)

    def _are_summands(self, terms: Sequence[ir.Value]) -> bool:
        """Whether values have summands of the batch, at least before they get another shape."""
        chains = [self._shaping(term) for term in terms]
        if any(chain is None for chain in chains):
            return False
        shaped = set().union(*filter(None, chains)) - self._shaped
        if shaped:
            self._shaped |= shaped
            raise _Again
        return True

    def _shaping(self, value: ir.Value) -> set[ir.Value] | None:
        """The values between a summand that nothing else reads and `value`; None without one."""
        found: set[ir.Value] = set()
        while len(users(value)) == 1:
            if self.of(value) == Partial("add"):
                return found
            op = value.owner
            if isinstance(op, ir.Block) or not _gives_shape(op):
                return None
            found.add(value)
            value = op.operands[0]
        return None

    def _visit_split(
        self, op: ir.OpView, reads: Sequence[ir.Value], states: Sequence[State]
    ) -> None:
        try:
            self._plan(op, self._transfer(op, [self.of(value) for value in op.operands]))
        except CannotSplit as error:
            error.op = error.op or op
            if error.needs and self._hoist(error.needs):
                raise _Again from None
            if not error.needs and self._hoist(list(op.results)):
                raise _Again from None
            is_late = any(isinstance(s, Partial) or s is Plain.AFTER for s in states)
            if is_late and not has_regions(op) and is_elementwise(op):
                self._after(op, mixed=op)
                return
            if first := next((self._mixed[v] for v in reads if v in self._mixed), None):
                error.op, error.reason = first, _LATE
            raise

    def _after(self, op: ir.OpView, mixed: ir.OpView | None = None) -> None:
        """Compute an op after the loop; the split values that it reads must be written whole."""
        found = next((self._mixed[v] for v in reads_of(op) if v in self._mixed), mixed)
        self._set(list(op.results), [Plain.AFTER] * len(op.results))
        if found is None:
            return
        if op.operation.name not in _CHEAP and not is_elementwise(op):
            error = CannotSplit(_LATE)
            error.op = found
            raise error
        for value in op.results:
            if math.prod(shape_of(value)) >= self.parts:
                self._mixed[value] = found

    def _hoist(self, values: Sequence[ir.Value]) -> bool:
        """Compute values before the loop if that takes no more memory than the batch."""
        cones = [self._cheap_cone(value) for value in values]
        if not cones or any(cone is None for cone in cones):
            return False
        self._hoisted.update(*filter(None, cones))
        return True

    def _cheap_cone(self, value: ir.Value) -> set[ir.Value] | None:
        """A value and the values behind it that are not split; None if they are not cheap."""
        if value in self._hoisted:
            return None
        pending, seen, found = [value], set(), {value}
        while pending:
            each = pending.pop()
            is_known = each != value and self.of(each) is Plain.BEFORE
            if each in seen or is_known:
                continue
            seen.add(each)
            op = each.owner
            if isinstance(op, ir.Block):
                if op != self.block:
                    return None
                continue
            if not self._is_cheap(op):
                return None
            if each == value or not isinstance(self.of(each), Parted):
                found.update(op.results)
            pending += op.operands
        return found

    def _is_cheap(self, op: ir.OpView) -> bool:
        is_simple = is_elementwise(op) or op.operation.name in _CHEAP
        if not is_simple or op.operation.block != self.block:
            return False
        return max(math.prod(shape_of(result)) for result in op.results) <= self._most

    # Ops of any block that read split or partial values

    def _transfer(self, op: ir.OpView, states: Sequence[State]) -> OpPlan:
        late = [v for v in reads_of(op) if self.of(v) is Plain.AFTER]
        if late:
            raise CannotSplit(_LATE, late)
        if isinstance(op, hlo.WhileOp):
            return self.plan_while(op, states)
        if isinstance(op, hlo.CaseOp | hlo.IfOp):
            return self._case(op, states)
        if op.operation.name in _IDENTITIES:
            kept = tuple(s if isinstance(s, Parted | Partial) else SAME for s in states)
            return OpPlan(kept, kept)
        if name := _impure_name(op):
            raise CannotSplit(f"{name} may have effects, or need all examples at once")
        if only(states, Partial):
            plan = plan_linear(op, states, self.parts)
            if plan is None:
                found = [v for v in op.operands if isinstance(self.of(v), Partial)]
                raise CannotSplit(_LATE, found)
            return plan
        return plan_split(op, states, self.parts)

    def _plan(self, op: ir.OpView, plan: OpPlan) -> None:
        self.plans[op.results[0]] = plan
        self._set(list(op.results), plan.results)

    def _set(self, values: Sequence[ir.Value], states: Sequence[State]) -> None:
        for value, state in zip(values, states, strict=True):
            self.states[value] = state

    def run_block(self, block: ir.Block, given: Sequence[State]) -> list[State]:
        """Analyse a nested block; return the states of the values that it returns."""
        self._set(list(block.arguments), given)
        for op in ops_of(block):
            try:
                self._visit_nested(op)
            except CannotSplit as error:
                error.op = error.op or op
                raise
        return [self.of(value) for value in terminator(block).operands]

    def _visit_nested(self, op: ir.OpView) -> None:
        states = [self.of(value) for value in reads_of(op)]
        if name := _impure_name(op):
            raise CannotSplit(f"{name} may have effects, in a loop that has the batch")
        if all(map(is_whole, states)):
            if len(op.results):
                self.plans.pop(op.results[0], None)
            self._set(list(op.results), [SAME] * len(op.results))
            return
        self._plan(op, self._transfer(op, [self.of(value) for value in op.operands]))

    def plan_while(self, op: hlo.WhileOp, states: Sequence[State]) -> OpPlan:
        """The plan for a loop of the program whose initial values have these states."""
        carried = [
            Plain.ZERO if is_whole(s) and is_neutral("add", v) else SAME if is_whole(s) else s
            for v, s in zip(op.operands, states, strict=True)
        ]
        while True:
            (tested,) = self.run_block(op.cond.blocks[0], carried)
            if not is_whole(tested):
                raise CannotSplit("the number of iterations of a loop depends on the batch")
            ends = self.run_block(op.body.blocks[0], carried)
            values = terminator(op.body.blocks[0]).operands
            joined = [_join(*each) for each in zip(carried, ends, values, strict=True)]
            if joined == carried:
                break
            carried = joined
        kept = tuple(SAME if is_whole(state) else state for state in carried)
        return OpPlan(kept, kept)

    def _case(self, op: hlo.CaseOp | hlo.IfOp, states: Sequence[State]) -> OpPlan:
        if not is_whole(states[0]):
            raise CannotSplit("a condition depends on the batch", list(op.operands))
        blocks = [region.blocks[0] for region in op.regions]
        ends = [self.run_block(block, []) for block in blocks]
        joined = [
            next((s for s in each if not is_whole(s)), SAME) for each in zip(*ends, strict=True)
        ]
        for block, each in zip(blocks, ends, strict=True):
            for state, end, value in zip(joined, each, terminator(block).operands, strict=True):
                _check_join(state, end, value)
        return OpPlan((SAME,), tuple(joined))


def _join(carry: State, end: State, value: ir.Value) -> State:
    """The state of a carried value that starts as `carry` and goes on as `end`."""
    if carry is Plain.ZERO:
        return Plain.SAME if is_whole(end) and end is not Plain.ZERO else end
    if is_whole(carry):
        if isinstance(end, Partial):
            raise CannotSplit("a loop adds up the batch from a start that counts N times")
        return SAME if is_whole(end) else end
    _check_join(carry, end, value)
    return carry


def _check_join(state: State, end: State, value: ir.Value) -> None:
    if state == end or (isinstance(state, Parted) and is_whole(end)) or state is SAME:
        return
    is_zero = isinstance(state, Partial) and state.combine == "add" and end is Plain.ZERO
    is_start = isinstance(state, Partial) and is_whole(end) and is_neutral(state.combine, value)
    if is_zero or is_start:
        return
    raise CannotSplit(
        "the batch is in another dimension in the next iteration, or in another branch"
    )


def _gives_shape(op: ir.OpView) -> bool:
    """Whether an op only moves the elements of its operand, or makes floats wider."""
    if isinstance(op, hlo.ConvertOp):
        widths = [
            ir.FloatType(element_type(v)).width for v in (op.operand, op.result) if is_float(v)
        ]
        return len(widths) == 2 and widths[0] <= widths[1]
    return isinstance(op, hlo.TransposeOp | hlo.ReshapeOp)


def reads_of(op: ir.OpView) -> list[ir.Value]:
    """The operands of an op, and the values from outside that its regions read."""
    found = list(op.operands)
    return [*found, *(v for v in dict.fromkeys(captured_values(op)) if v not in found)]


def _impure_name(op: ir.OpView) -> str:
    """The op or the target of a call that may have effects, in regions too; empty if none may."""
    for each in (op, *walk(op)):
        name: str = each.operation.name
        if isinstance(each, hlo.CustomCallOp):
            return str(each.call_target_name.value)
        if name not in (*_IDENTITIES, "stablehlo.return") and not is_pure(each):
            return name
    return ""

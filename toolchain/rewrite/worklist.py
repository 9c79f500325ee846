"""The worklist driver: tries rules on each op of a module until none applies.

1. MLIR removes dead ops first, because they would count as users.
2. Each op is visited once, in order. Producers come before their users, so a rule sees its operands
   in their final form. The ops that a replacement builds are visited next.
3. The ops near a replacement are added to a worklist: the users of the replaced op, and each
   producer that has one user left, with that user. They are visited until the worklist is empty.
4. Ops with declined rewrites are visited again if another priced rewrite was carried out: rewrites
   that do not pay one by one may pay together.

A replaced op is erased at once, with the producers that only it used, so that the number of users
that a rule reads is right.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from math import inf
from time import perf_counter
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo
from jaxlib.mlir.passmanager import PassManager

from ..errors import JxcError
from ..ir import format_location, has_regions, register_native_passes, walk
from ..ir.module import is_removable
from ..ir.values import is_used
from .actions import current_observer
from .annotations import has_annotation, is_near_annotation
from .communication import Guard
from .cone import read_by
from .gate import Gate
from .live_ops import Handle, LiveOps
from .recording import current_recorder
from .remarks import NoMatch, is_collecting, remark
from .rule import PassContext, Rule, RuleCount, checked_result
from .rules_by_op import RulesByOp
from .signature import Signature
from .visit import begin_visit, end_visits

REWRITES_PER_OP = 16
"""A pass that rewrites more often than this, for each op of the module, does not converge."""

_LEAST_BUDGET = 1000  # rewrites that any module may use, however small
_LAST_REWRITES = 50  # kept, to name the rules that undo each other
_PRODUCERS_SEEN = 4  # how many producers deep a rule may inspect
_ROUNDS_OF_DECLINED = 2  # how often ops whose rewrites did not pay are visited again
_USERS_SEEN = 32  # of one value: a constant may have thousands


class ConvergenceError(JxcError):
    """Rules undo each other's rewrites: the message names them. The module is still valid."""


class _Proposal(NamedTuple):
    """A rewrite that is built and not yet carried out.

    Attributes:
        rule: the rule that built it.
        values: the replacements of the results of the op.
        effects: new ops without results, which keep the side effects of the branches of the op.
        built: the other new ops, users before producers.
    """

    rule: Rule
    values: list[ir.Value]
    effects: list[Handle]
    built: list[Handle]


class Worklist:
    """The state of one run: the ops to visit again, the counts of the rules, the budget.

    The arguments are those of `apply_rules`, with the active rules as a `RulesByOp`; `counts` has
    the counts of each rule so far, by name.
    """

    def __init__(
        self,
        module: ir.Operation,
        rules: RulesByOp,
        context: PassContext,
        max_num_rewrites: int,
        guard: Guard | None = None,
    ) -> None:
        self.counts = dict(rules.untried)  # shared with other runs until a rule is tried
        self._module = module
        self._context = context
        self._rules = rules
        self._guard = guard
        self._gate = Gate(context, is_guarded=guard is not None)
        self._observer = current_observer()
        self._recorder = current_recorder()
        self._quota = max_num_rewrites if max_num_rewrites >= 0 else None
        self._recent: deque[tuple[str, str, ir.Location]] = deque(maxlen=_LAST_REWRITES)
        self._rewrites = 0
        self._listed = 0  # how many ops the blocks had when they were visited
        self._live = LiveOps()
        self._again: OrderedDict[tuple[int, int], Handle] = OrderedDict()
        self._declined: list[Handle] = []
        self._has_paid = False  # whether a priced rewrite was carried out since it was declined
        self._is_first = True  # during step 2: the users of a replaced op are visited anyway

    def run(self) -> None:
        """Apply the rules until none applies; raises as `apply_rules` does."""
        register_native_passes()
        drop_dead = PassManager.parse("builtin.module(trivial-dce)")
        drop_dead.enable_verifier(False)  # the pipeline verifies after each pass
        drop_dead.run(self._module)
        try:
            self._visit_all()
        finally:
            end_visits()
        if any(count.tries for count in self.counts.values()):
            drop_dead.run(self._module)
        self._raise_if_over_budget()

    def _visit_all(self) -> None:
        self._visit_inside(self._module)
        self._is_first = False
        self._visit_listed()
        for _ in range(_ROUNDS_OF_DECLINED):
            if not self._has_paid:
                return
            self._again.update({handle[1:]: handle for handle in self._declined})
            self._has_paid = False
            self._declined.clear()
            self._visit_listed()

    def _visit_listed(self) -> None:
        while self._again and not self._is_spent():
            handle = self._again.popitem(last=False)[1]
            for built in reversed(self._visit_alone(handle)):
                self._visit_from(built)

    @cached_property
    def _budget(self) -> int:
        """The most rewrites, by the ops before them or now, whichever are more.

        Cached, because ops that rewrites add must not raise it.
        """
        ops = max(self._listed, sum(1 for _ in walk(self._module)))
        return max(_LEAST_BUDGET, REWRITES_PER_OP * ops)

    def _is_over_budget(self) -> bool:
        return self._rewrites >= _LEAST_BUDGET and self._rewrites >= self._budget

    def _is_spent(self) -> bool:
        return self._rewrites == self._quota or self._is_over_budget()

    def _visit_inside(self, op: ir.Operation | ir.OpView) -> None:
        for region in op.regions:
            for block in region.blocks:
                ops = list(block.operations)
                self._live.add(ops)
                self._listed += len(ops)
                for handle in [self._live.handle(each) for each in self._rules.among(ops)]:
                    self._visit_from(handle)

    def _visit_from(self, handle: Handle) -> None:
        """Visit the ops inside an op, then the op, then the ops that replaced it."""
        pending = [handle]
        while pending:
            handle = pending.pop()
            if self._live.has(handle) and has_regions(handle[0]):
                self._visit_inside(handle[0])
            pending += self._visit_alone(handle)

    def _visit_alone(self, handle: Handle) -> Sequence[Handle]:
        """Visit an op, if it still exists; return the ops to visit next, last first."""
        if self._live.has(handle) and (rules := self._rules.of(handle[0])):
            return self._visit(handle[0], rules)
        return ()

    def _visit(self, op: ir.OpView, rules: Sequence[Rule]) -> Sequence[Handle]:
        """Try the rules on `op`; return the ops to visit next, last first."""
        if self._is_spent():
            return ()
        location = op.location
        begin_visit()
        with ir.InsertionPoint(op), location:
            chosen = self._chosen(op, rules)
        if chosen is None:
            return ()
        if self._is_annotated(op):
            self._discard(chosen)
            return ()
        rule, values, _, built = chosen
        name = op.operation.name
        self.counts[rule.name].hits += 1
        self._rewrites += 1
        self._recent.append((rule.name, name, location))
        if is_collecting():
            remark(rule.name, "passed", location, f"replaced {name}")
        if not self._is_first:
            self._visit_again(_users(op, depth=2))
        if self._recorder is not None:
            self._recorder(rule, op, values, [handle[0] for handle in built])
        self._replace(op, values)
        return built

    def _chosen(self, op: ir.OpView, rules: Sequence[Rule]) -> _Proposal | None:
        """Build the rewrite of `op` to carry out; None if there is none.

        An unpriced rule applies unless a priced rule before it pays. Of the priced rules that pay,
        the one that saves most applies. If the observer refuses a rewrite, the others are tried
        again. Each proposal is erased before the next is built, because rules count the users of
        operands.
        """
        left = list(rules)
        is_priced = self._rules.has_priced and any(rule.priced for rule in rules)
        signature = self._gate.signature(op) if is_priced else None
        while left:
            best, most, made = None, 0.0, None
            for rule in left:
                if best is not None and not rule.priced:
                    continue
                if made is not None:
                    self._discard(made)
                    made = None
                saved = None if signature is None else self._gate.known(rule, signature)
                if saved is None:
                    if (made := self._proposed(rule, op)) is None:
                        continue
                    saved = self._saved(made, op, signature)
                if not saved:
                    self._declined.append(self._live.handle(op))
                if saved > most:
                    best, most = rule, saved
                if saved == inf:
                    break
            if best is None:
                self._discard(made)
                return None
            if made is None or made.rule != best:
                self._discard(made)
                made = self._proposed(best, op)
            if made is not None and self._is_carried_out(best, op):
                self._has_paid |= best.priced
                return made
            self._discard(made)
            left.remove(best)
        return None

    def _proposed(self, rule: Rule, op: ir.OpView) -> _Proposal | None:
        """The replacement of `op` that a rule builds; None if the rule does not match."""
        if (values := self._try(rule, op)) is None:
            return None
        self._live.register()
        return _Proposal(rule, values, self._keeping_effects(op), self._built_for(values))

    def _saved(self, made: _Proposal, op: ir.OpView, signature: Signature | None) -> float:
        """The result of `Gate.decide`; 0.0 if the rewrite adds communication."""
        new = [each[0] for each in made.built]
        if self._guard is not None and not self._guard.allows(op, made.values, new):
            return 0.0
        return self._gate.decide(made.rule, op, made.values, new, signature)

    def _discard(self, made: _Proposal | None) -> None:
        """Erase what a rule built, if it built anything."""
        left = [] if made is None else [*made.effects, *made.built]
        before = len(left) + 1
        while len(left) < before:  # users come first, so one round erases almost all
            before = len(left)
            left = [each for each in left if self._live.has(each) and not self._erased(each)]

    def _erased(self, handle: Handle) -> bool:
        """Erase an op if it is unused; return whether it was."""
        if any(map(is_used, handle[0].results)):
            return False
        self._live.erase(handle)
        return True

    def _is_carried_out(self, rule: Rule, op: ir.OpView) -> bool:
        """Whether the observer allows a rewrite. It is not called for ops near an annotation."""
        if self._observer is None or self._is_annotated(op):
            return True
        return self._observer(rule.name, op.operation.name, op.location)

    def _is_annotated(self, op: ir.OpView) -> bool:
        return self._has_annotations and is_near_annotation(op, _PRODUCERS_SEEN)

    @cached_property
    def _has_annotations(self) -> bool:
        """Whether any op is annotated; few modules have one."""
        return any(has_annotation(op) for op in walk(self._module))

    def _try(self, rule: Rule, op: ir.OpView) -> list[ir.Value] | None:
        tally = self.counts[rule.name]
        if not tally.tries:
            tally = self.counts[rule.name] = RuleCount(rule.name)
        tally.tries += 1
        start = perf_counter()
        try:
            returned = rule.function(op, self._context) if rule.wants_context else rule.function(op)
            values = None
            if isinstance(returned, NoMatch):
                remark(rule.name, "missed", op.location, returned.reason)
            elif returned is not None:
                values = checked_result(returned, op)
        except Exception as error:
            error.add_note(f"in {_rewrite_at(rule.name, op.operation.name, op.location)}")
            raise
        tally.seconds += perf_counter() - start
        return values

    def _keeping_effects(self, op: ir.OpView) -> list[Handle]:
        """New ops without results, which keep the side effects of the branches of `op`."""
        if not isinstance(op, hlo.IfOp | hlo.CaseOp | hlo.WhileOp):
            return []
        ops = [each for each in op.operation.block.operations if not len(each.results)]
        return [self._live.handle(each) for each in ops if not self._live.is_registered(each)]

    def _built_for(self, values: Sequence[ir.Value]) -> list[Handle]:
        """The new ops among the producers of `values`, users before producers."""
        built: list[Handle] = []
        pending = [value.owner for value in values]
        while pending:
            op = pending.pop()
            if not isinstance(op, ir.Block) and not self._live.is_registered(op):
                built.append(self._live.handle(op))
                read = op.operands if self._guard is None else read_by(op)
                pending += [operand.owner for operand in read]
        return built

    def _replace(self, op: ir.OpView, values: Sequence[ir.Value]) -> None:
        """Replace the results of `op` by `values`; erase it and the producers that only it used."""
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        pending = [self._live.handle(op)]
        while pending:
            handle = pending.pop()
            if not self._live.has(handle):
                continue
            owners = {value.owner for value in handle[0].operands}
            self._live.erase(handle)
            for owner in owners:
                if not isinstance(owner, ir.Block):
                    is_unused = not any(map(is_used, owner.results))
                    if is_unused and is_removable(owner):
                        pending.append(self._live.handle(owner))
                    else:
                        self._visit_last_user(owner)

    def _visit_last_user(self, op: ir.OpView) -> None:
        """Visit `op` and its user again if only one is left: some rules require a single user."""
        for result in op.results:
            users = {use.owner for use in islice(result.uses, 4)}  # a user may have several uses
            if len(users) == 1:
                self._visit_again([op, *users])

    def _visit_again(self, ops: Iterable[ir.OpView]) -> None:
        for op in ops:
            if len(op.results):
                handle = self._live.handle(op)
                self._again[handle[1:]] = handle

    def _raise_if_over_budget(self) -> None:
        if self._rewrites == self._quota or not self._is_over_budget():
            return
        names = Counter(name for name, _, _ in self._recent)
        rules = ", ".join(f"{name} ({hits})" for name, hits in names.most_common())
        error = ConvergenceError(
            f"rules do not converge: stopped after {self._rewrites} rewrites. The last "
            f"{len(self._recent)} were by {rules}; disable one with disable-patterns=NAME"
        )
        error.add_note(f"last: {_rewrite_at(*self._recent[-1])}")
        raise error


def _users(op: ir.OpView, depth: int) -> list[ir.OpView]:
    """The users of the results of `op`, and their users, up to `depth` ops away."""
    users = [use.owner for result in op.results for use in islice(result.uses, _USERS_SEEN)]
    return users + [far for user in users for far in _users(user, depth - 1)] if depth else []


def _rewrite_at(rule: str, op: str, location: ir.Location) -> str:
    return f"rule {rule}, on {op} at {format_location(location)}"

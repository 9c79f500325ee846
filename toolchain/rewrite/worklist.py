"""One run of rules over a module: each op in order, what a rule builds at once, until none applies.

Producers are visited before what uses them, so that a rule sees operands that no rule changes any
more; what a replacement builds is visited next; ops that have become the only user of a value, or
whose value has one user left, are visited once more. An op that nobody uses any more is erased at
once, so that users are counted right; MLIR's own dead-code elimination takes the rest at the end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from time import perf_counter
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from ..errors import JxcError
from ..ir import format_location, has_regions, register_native_passes, walk
from ..ir.effects import is_pure
from .annotations import has_annotation, sees_annotation
from .context import PassContext
from .rule import Replacement, Rule
from .statistics import RuleCount

REWRITES_PER_OP = 16
"""A pass that rewrites more often than this, per op it was given, is taken to run in circles."""

_LEAST_BUDGET = 1000  # rewrites that any module may use, however small
_CHASE_WINDOW = 50  # the last rewrites, from which the rules that chase each other are named
_PRODUCERS_SEEN = 4  # how many producers deep a rule may look through

_USERS_SEEN = 32  # of one value: a constant may have thousands

_Handle: TypeAlias = tuple[ir.OpView, int, int]
"""An op, where its results are in memory, and which of the ops that were there; see `_Living`."""

_Tried: TypeAlias = tuple[Rule, RuleCount]


class RuleError(JxcError):
    """A rule returned what cannot replace its op."""


class ConvergenceError(JxcError):
    """Rules undo each other's work: the message names them. The module is valid as it stands."""


class Worklist:
    """The state of one run: counts, the budget, who rewrote last, which ops are known and gone.

    Args:
        module: the operation of a module.
        rules: tried in this order on each op.
        context: given to the rules that ask for it.
        max_num_rewrites: stop, quietly, after so many rewrites; no limit when negative.

    Attributes:
        counts: what each rule did so far, by name.
    """

    def __init__(
        self,
        module: ir.Operation,
        rules: Sequence[Rule],
        context: PassContext,
        max_num_rewrites: int,
    ) -> None:
        self.counts = {rule.name: RuleCount(rule.name) for rule in rules}
        self._module = module
        self._context = context
        self._choice = _Choice([(rule, self.counts[rule.name]) for rule in rules])
        self._quota = max_num_rewrites if max_num_rewrites >= 0 else None
        self._recent: deque[tuple[str, str, ir.Location]] = deque(maxlen=_CHASE_WINDOW)
        self._rewrites = 0
        self._living = _Living()
        self._once_more: OrderedDict[tuple[int, int], _Handle] = OrderedDict()
        self._is_first = True  # whether what follows an op in its block is still to be visited

    def run(self) -> None:
        """Apply the rules until none applies.

        Raises:
            ConvergenceError: the budget of rewrites is spent and rules still apply.
            RuleError: a replacement does not fit.
            Exception: whatever a rule raised, with a note naming the rule, the op and its place.
        """
        register_native_passes()
        drop_dead = PassManager.parse("builtin.module(trivial-dce)")
        drop_dead.enable_verifier(False)  # a pipeline verifies what a pass leaves
        drop_dead.run(self._module)  # or they count as users
        self._visit_inside(self._module)
        self._is_first = False
        while self._once_more and not self._is_spent():
            handle = self._once_more.popitem(last=False)[1]
            for built in reversed(self._visit_alone(handle)):
                self._visit_from(built)
        if any(count.tries for count in self.counts.values()):
            drop_dead.run(self._module)
        self._raise_if_chasing()

    @cached_property
    def _budget(self) -> int:
        """Ops are counted only where there is reason to, and once: the count must not grow."""
        return max(_LEAST_BUDGET, REWRITES_PER_OP * sum(1 for _ in walk(self._module)))

    def _is_over_budget(self) -> bool:
        return self._rewrites >= _LEAST_BUDGET and self._rewrites >= self._budget

    def _is_spent(self) -> bool:
        return self._rewrites == self._quota or self._is_over_budget()

    def _visit_inside(self, op: ir.Operation | ir.OpView) -> None:
        for region in op.regions:
            for block in region.blocks:
                ops = list(block.operations)
                self._living.meet(ops)
                for handle in [self._living.handle(each) for each in self._choice.among(ops)]:
                    self._visit_from(handle)

    def _visit_from(self, handle: _Handle) -> None:
        """Visit what is inside an op, then the op, then what took its place."""
        pending = [handle]
        while pending:
            handle = pending.pop()
            if self._living.has(handle) and has_regions(handle[0]):
                self._visit_inside(handle[0])
            pending += self._visit_alone(handle)

    def _visit_alone(self, handle: _Handle) -> Sequence[_Handle]:
        """Visit an op, if it is still there; what to visit next, last first."""
        if self._living.has(handle) and (rules := self._choice.of(handle[0])):
            return self._visit(handle[0], rules)
        return ()

    def _visit(self, op: ir.OpView, rules: Sequence[_Tried]) -> Sequence[_Handle]:
        """Try the rules on `op`; what to visit next, last first."""
        if self._is_spent():
            return ()
        name, location = op.operation.name, op.location
        with ir.InsertionPoint(op), location:
            for rule, tally in rules:
                values = self._try(rule, tally, op)
                if values is not None:
                    break
            else:
                return ()
        if self._is_annotated(op):
            return ()
        self._living.read()
        tally.hits += 1
        self._rewrites += 1
        self._recent.append((rule.name, name, location))
        built = self._built_for(values)
        if not self._is_first:
            self._look_again(_users(op, depth=2))
        self._replace(op, values)
        return built

    @cached_property
    def _has_annotations(self) -> bool:
        return any(has_annotation(op) for op in walk(self._module))

    def _is_annotated(self, op: ir.OpView) -> bool:
        """Whether `op` carries somebody's annotation, or a rule may look at it through such an op.

        A discardable attribute (`mhlo.sharding`, `mhlo.frontend_attributes`, ...) on an op means
        something to somebody: it is neither replaced nor looked through. Few modules have any.
        """
        return self._has_annotations and sees_annotation(op, _PRODUCERS_SEEN)

    def _try(self, rule: Rule, tally: RuleCount, op: ir.OpView) -> list[ir.Value] | None:
        tally.tries += 1
        start = perf_counter()
        try:
            returned = rule.function(op, self._context) if rule.wants_context else rule.function(op)
            return None if returned is None else _checked(returned, op)
        except Exception as error:
            error.add_note(f"in {_place(rule.name, op.operation.name, op.location)}")
            raise
        finally:
            tally.seconds += perf_counter() - start

    def _built_for(self, values: Sequence[ir.Value]) -> list[_Handle]:
        """The ops that are new among those that `values` come from, users before producers."""
        built: list[_Handle] = []
        pending = [value.owner for value in values]
        while pending:
            op = pending.pop()
            if not isinstance(op, ir.Block) and not self._living.knows(op):
                built.append(self._living.handle(op))
                pending += [operand.owner for operand in op.operands]
        return built

    def _replace(self, op: ir.OpView, values: Sequence[ir.Value]) -> None:
        """Put `values` in the place of the results of `op`; erase what nobody uses then."""
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        pending = [self._living.handle(op)]
        while pending:
            handle = pending.pop()
            if not self._living.has(handle):
                continue
            owners = {value.owner for value in handle[0].operands}
            self._living.erase(handle)
            for owner in owners:
                if not isinstance(owner, ir.Block):
                    if _is_dead(owner):
                        pending.append(self._living.handle(owner))
                    else:
                        self._note_last_user(owner)

    def _note_last_user(self, op: ir.OpView) -> None:
        """Rules that want a value to have one user may fire now: on its producer, on that user."""
        for result in op.results:
            users = {use.owner for use in islice(result.uses, 4)}  # one may use it several times
            if len(users) == 1:
                self._look_again([op, *users])

    def _look_again(self, ops: Iterable[ir.OpView]) -> None:
        for op in ops:
            if len(op.results):
                handle = self._living.handle(op)
                self._once_more[handle[1:]] = handle

    def _raise_if_chasing(self) -> None:
        if self._rewrites == self._quota or not self._is_over_budget():
            return
        names = Counter(name for name, _, _ in self._recent)
        rules = ", ".join(f"{name} ({hits})" for name, hits in names.most_common())
        error = ConvergenceError(
            f"rules do not converge: stopped after {self._rewrites} rewrites. The last "
            f"{len(self._recent)} were by {rules}; disable one with disable-patterns=NAME"
        )
        error.add_note(f"last: {_place(*self._recent[-1])}")
        raise error


class _Living:
    """Which ops are there: the only way to tell whether a handle may still be used.

    The bindings make a new Python object each time an op is met; those that are left when the op is
    erased point to memory that is gone, or holds another op by then.
    """

    def __init__(self) -> None:
        self._births: dict[int, int] = {_NO_RESULTS: 0}
        self._seen = 0
        self._met: list[Sequence[ir.OpView]] = []

    def meet(self, ops: Sequence[ir.OpView]) -> None:
        """These ops, which are there, are not new. Most passes change nothing: `read` does it."""
        self._met.append(ops)

    def read(self) -> None:
        """Take down the ops that were met: before any is erased."""
        for ops in self._met:
            for op in ops:
                self.handle(op)
        self._met.clear()

    def knows(self, op: ir.OpView) -> bool:
        """Whether `op` was met, or there is a handle on it."""
        return _key(op) in self._births

    def handle(self, op: ir.OpView) -> _Handle:
        """A handle on `op`, which is there."""
        key = _key(op)
        birth = self._births.get(key)
        if birth is None:
            self._seen += 1
            birth = self._births[key] = self._seen
        return op, key, birth

    def has(self, handle: _Handle) -> bool:
        """Whether the op is still there."""
        return self._births.get(handle[1]) == handle[2]

    def erase(self, handle: _Handle) -> None:
        """Erase the op, which nobody uses, and what is inside it."""
        op, key, _ = handle
        for inner in walk(op) if has_regions(op) else ():
            if (inner_key := _key(inner)) != _NO_RESULTS:
                self._births.pop(inner_key, None)
        del self._births[key]
        op.operation.erase()


_NO_RESULTS = 0  # the key of every op without results: no rule replaces one


def _key(op: ir.OpView) -> int:
    """Where the results of `op` are in memory. (The hash of an op is that of what it says.)"""
    results = op.results
    return hash(results[0]) if len(results) else _NO_RESULTS


_NAMELESS = (ir.OpView, ir.Operation)  # what stands for ops that have no class of their own


class _Choice:
    """Which rules to try on an op: those of its kind, and of what produces its operands."""

    def __init__(self, tried: Sequence[_Tried]) -> None:
        self._by_name: dict[str, list[_Tried]] = {}
        for each in tried:
            for root in each[0].roots:
                self._by_name.setdefault(root, []).append(each)
        self._by_kind: dict[type, dict[frozenset[type], list[_Tried]] | None] = {}
        self._wanted: dict[type, bool] = {}

    def among(self, ops: Sequence[ir.OpView]) -> list[ir.OpView]:
        """Those of `ops` to look at: there are rules for ops like them, or ops inside them."""
        for op in {type(op): op for op in ops}.values():
            if type(op) not in self._wanted:
                is_root = self._of_kind(type(op)) is not None
                self._wanted[type(op)] = is_root or type(op) in _NAMELESS or has_regions(op)
        wanted = self._wanted
        return [op for op in ops if wanted[type(op)]]

    def _of_kind(self, kind: type) -> dict[frozenset[type], list[_Tried]] | None:
        if kind not in self._by_kind:
            is_root = getattr(kind, "OPERATION_NAME", "") in self._by_name
            self._by_kind[kind] = {} if is_root else None
        return self._by_kind[kind]

    def of(self, op: ir.OpView) -> Sequence[_Tried]:
        """The rules to try on `op`, with their counts, in order."""
        kind = type(op)
        by_producers = self._of_kind(kind)
        if by_producers is None:
            return ()
        producers = frozenset([type(value.owner) for value in op.operands])
        if producers not in by_producers:
            tried = self._by_name[kind.OPERATION_NAME]
            by_producers[producers] = [t for t in tried if t[0].may_fire_on(producers)]
        return by_producers[producers]


def _users(op: ir.OpView, depth: int) -> list[ir.OpView]:
    """The ops that use the results of `op`, and theirs, `depth` ops far; of very many the first."""
    users = [use.owner for result in op.results for use in islice(result.uses, _USERS_SEEN)]
    return users + [far for user in users for far in _users(user, depth - 1)] if depth else []


def _is_dead(op: ir.OpView) -> bool:
    """Whether nobody uses what `op` gives, and it does nothing else."""
    if any(next(iter(result.uses), None) is not None for result in op.results):
        return False
    return not has_regions(op) and is_pure(op)


def _place(rule: str, op: str, location: ir.Location) -> str:
    return f"rule {rule}, on {op} at {format_location(location)}"


def _checked(returned: Replacement, op: ir.OpView) -> list[ir.Value]:
    """What a rule returned, as one value for each result of `op`, of the same types."""
    if isinstance(returned, ir.Value):
        values = [returned]
    elif isinstance(returned, ir.OpView | ir.Operation):
        values = list(returned.results)
    elif isinstance(returned, Sequence) and all(isinstance(v, ir.Value) for v in returned):
        values = list(returned)
    else:
        raise RuleError(
            f"returned {returned!r}: expected a Value, an op, a sequence of Values, None"
        )
    if any(value.owner == op for value in values):
        raise RuleError(f"returned a result of the {op.operation.name} that it was to replace")
    found = [value.type for value in values]
    expected = [result.type for result in op.results]
    if found != expected:
        raise RuleError(
            f"the replacement has type {', '.join(map(str, found)) or 'none'}; "
            f"{op.operation.name} has {', '.join(map(str, expected))}"
        )
    return values

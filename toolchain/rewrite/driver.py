"""The driver: tries rules on ops until none applies. The only code that touches MLIR's patterns."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import perf_counter

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import format_location, walk
from . import _private
from .facts import Facts
from .module_pass import Option, Pass
from .rule import Replacement, Rule
from .statistics import RuleCount

REWRITES_PER_OP = 16
"""A pass that rewrites more often than this, per op it was given, is taken to run in circles."""

_LEAST_BUDGET = 1000  # rewrites that any module may use, however small
_CHASE_WINDOW = 50  # the last rewrites, from which the rules that chase each other are named
_PRODUCERS_SEEN = 4  # how many producers deep a rule may look through


class RuleError(JxcError):
    """A rule returned what cannot replace its op."""


class ConvergenceError(JxcError):
    """Rules undo each other's work: the message names them. The module is valid as it stands."""


def apply_rules(
    module: ir.Operation, rules: Sequence[Rule], facts: Facts, *, max_num_rewrites: int = -1
) -> list[RuleCount]:
    """Rewrite `module` in place with `rules` until none applies.

    Args:
        module: the operation of a module.
        rules: tried in this order on each op.
        facts: given to the rules that ask for it; selects by target and assumption.
        max_num_rewrites: stop, quietly, after so many rewrites; no limit when negative.

    Returns:
        What each rule did, in order.

    Raises:
        ConvergenceError: the budget of rewrites is spent and rules still apply.
        RuleError: a replacement does not fit.
        Exception: whatever a rule raised, with a note naming the rule, the op and its place.
    """
    active = [rule for rule in rules if _is_active(rule, facts)]
    run = _Run(module, active, facts, max_num_rewrites)
    patterns = _private.RewritePatternSet(module.context)
    for root in run.by_root:
        patterns.add(root, run.visit)
    config = _private.GreedyRewriteConfig()
    config.max_iterations = run.budget + 2  # ours is the bound that names who used it up
    config.enable_folding = False  # only rules change a program: each with its contract and count
    config.enable_constant_cse = False
    with module.context:
        try:
            _private.apply_patterns_and_fold_greedily(module, patterns.freeze(), config)
        except RuntimeError as error:
            if "failed to converge" not in str(error):
                raise
            raise run.explained(error) from error
    run.raise_if_chasing()
    return list(run.counts.values())


def rule_pass(name: str, doc: str, rules: Sequence[Rule]) -> Pass:
    """A pass that applies `rules`, with the options that MLIR's `canonicalize` has."""

    def run(
        module: ir.Operation,
        facts: Facts,
        *,
        disable_patterns: str = "",
        enable_patterns: str = "",
        max_num_rewrites: int = -1,
    ) -> list[RuleCount]:
        chosen = _select(name, rules, enable_patterns, disable_patterns)
        return apply_rules(module, chosen, facts, max_num_rewrites=max_num_rewrites)

    options = [
        Option("disable-patterns", str, "", "rules to leave out, after commas"),
        Option("enable-patterns", str, "", "the only rules to try, after commas"),
        Option("max-num-rewrites", int, -1, "stop after so many; -1 for no limit"),
    ]
    return Pass(name, doc, {option.name: option for option in options}, run, tuple(rules))


def _select(name: str, rules: Sequence[Rule], enabled: str, disabled: str) -> list[Rule]:
    wanted, unwanted = _names(enabled), _names(disabled)
    if unknown := (wanted | unwanted) - {rule.name for rule in rules}:
        raise UsageError(
            f"pass {name!r} has no rule {sorted(unknown)[0]!r}; see --help-pass {name}"
        )
    return [r for r in rules if r.name not in unwanted and (not wanted or r.name in wanted)]


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}


def _is_active(rule: Rule, facts: Facts) -> bool:
    promised = rule.assumes is None or rule.assumes in facts.assumptions
    return promised and (rule.targets is None or facts.target in rule.targets)


class _Run:
    """The state of one `apply_rules`: counts, the budget, who rewrote last."""

    def __init__(
        self, module: ir.Operation, rules: Sequence[Rule], facts: Facts, max_num_rewrites: int
    ) -> None:
        self.module = module
        self.facts = facts
        self.counts = {rule.name: RuleCount(rule.name) for rule in rules}
        self.by_root: dict[str, list[tuple[Rule, RuleCount]]] = {}
        for rule in rules:
            for root in rule.roots:
                self.by_root.setdefault(root, []).append((rule, self.counts[rule.name]))
        ops = list(walk(module))
        self.is_annotated = _annotation_guard(ops)
        self.budget = max(_LEAST_BUDGET, REWRITES_PER_OP * len(ops))
        self.quota = max_num_rewrites if max_num_rewrites >= 0 else self.budget + 1
        self.recent: deque[tuple[str, str, ir.Location]] = deque(maxlen=_CHASE_WINDOW)
        self.rewrites = 0

    def visit(self, op: ir.OpView, rewriter: _private.PatternRewriter) -> bool:
        """MLIR's callback: False when `op` was replaced, True when no rule applies."""
        if self.rewrites >= min(self.quota, self.budget) or self.is_annotated(op):
            return True
        name, location = op.operation.name, op.location
        with rewriter.ip, location:
            for rule, count in self.by_root[name]:
                values = self._try(rule, count, op)
                if values is not None:
                    count.hits += 1
                    self.rewrites += 1
                    self.recent.append((rule.name, name, location))
                    rewriter.replace_op(op, values)
                    return False
        return True

    def _try(self, rule: Rule, count: RuleCount, op: ir.OpView) -> list[ir.Value] | None:
        count.tries += 1
        start = perf_counter()
        try:
            returned = rule.function(op, self.facts) if rule.wants_facts else rule.function(op)
            return None if returned is None else _checked(returned, op)
        except Exception as error:
            error.add_note(f"in {_place(rule.name, op.operation.name, op.location)}")
            raise
        finally:
            count.seconds += perf_counter() - start

    def explained(self, error: RuntimeError) -> Exception:
        """MLIR found the module changed where no rule said so: whose work that was."""
        for op in walk(self.module):
            block = op.operation.block
            for rule, _ in self.by_root.get(op.operation.name, ()):
                before = len(block.operations)
                with ir.InsertionPoint(op), op.location:
                    returned = rule.function(op, self.facts) if rule.wants_facts else rule(op)
                if returned is None and len(block.operations) != before:
                    mistake = RuleError("built an op, and then returned None: decide first")
                    mistake.add_note(f"in {_place(rule.name, op.operation.name, op.location)}")
                    return mistake
        return error

    def raise_if_chasing(self) -> None:
        if self.rewrites < self.budget or self.rewrites == self.quota:
            return
        names = Counter(name for name, _, _ in self.recent)
        rules = ", ".join(f"{name} ({hits})" for name, hits in names.most_common())
        error = ConvergenceError(
            f"rules do not converge: stopped after {self.rewrites} rewrites. The last "
            f"{len(self.recent)} were by {rules}; disable one with disable-patterns=NAME"
        )
        error.add_note(f"last: {_place(*self.recent[-1])}")
        raise error


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
    found = [value.type for value in values]
    expected = [result.type for result in op.results]
    if found != expected:
        raise RuleError(
            f"the replacement has type {', '.join(map(str, found)) or 'none'}; "
            f"{op.operation.name} has {', '.join(map(str, expected))}"
        )
    return values


def _annotation_guard(ops: Sequence[ir.OpView]) -> Callable[[ir.OpView], bool]:
    """A test for ops that carry somebody's annotation, or that rules would see such ops through.

    A discardable attribute (`mhlo.sharding`, `mhlo.frontend_attributes`, ...) on an op means
    something to somebody: such an op is neither replaced nor looked through. Few modules have any.
    """
    if not any(_has_annotation(op) for op in ops):
        return lambda op: False
    return lambda op: _sees_annotation(op, _PRODUCERS_SEEN)


def _has_annotation(op: ir.OpView | ir.Operation) -> bool:
    return any("." in name and not name.startswith("jxc.") for name in op.attributes)


def _sees_annotation(op: ir.OpView | ir.Operation, depth: int) -> bool:
    if _has_annotation(op):
        return True
    producers = [v.owner for v in op.operands if not isinstance(v, ir.BlockArgument)]
    return depth > 0 and any(_sees_annotation(producer, depth - 1) for producer in producers)

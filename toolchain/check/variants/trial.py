"""One rule tried alone on one variant, and what it did compared with what it may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from ...ir import clone_module
from ...rewrite import PassContext, Rule, apply_rules, exact
from ..compare import Comparison, compare_modules
from ..inputs import KINDS, CannotRun
from ..modules import static_pairs
from .interpreted import DRAWN, compare_interpreted

_HONEST = ("normal", "small")  # kinds of arguments without NaN, infinities and -0.0


@dataclass(frozen=True)
class Trial:
    """What came of trying a rule on a program.

    Attributes:
        fired: whether the rule replaced anything.
        by: what ran the program before and after: "interpreter" or "xla"; empty where nothing did.
        reason: why nothing ran it.
        difference: how before and after differ, with the arguments; empty where they do not.
    """

    fired: bool
    by: str = ""
    reason: str = ""
    difference: str = ""

    @property
    def checked(self) -> bool:
        """Whether the rule fired, and the program ran before and after."""
        return bool(self.by)


def context_for(rule: Rule, context: PassContext) -> PassContext:
    """The context that makes the rule active: its target, and the assumption that it needs."""
    fits = rule.targets is None or context.target in rule.targets
    target = context.target if fits or not rule.targets else rule.targets[0]
    return PassContext(target, context.assumptions | ({rule.assumes} if rule.assumes else set()))


def try_rule(
    rule: Rule, program: ir.Module, context: PassContext, *, seed: int = 0, draws: int = len(DRAWN)
) -> Trial:
    """Apply the rule alone to a copy of a program until it no longer fires, and compare.

    Args:
        rule: the only rule applied.
        program: a module with @main; is left as it is.
        context: what the rule may know, see `context_for`.
        seed: of the arguments.
        draws: of arguments, for rules that are exact.

    Raises:
        ir.MLIRError: the result is not valid.
        Exception: whatever the rule raised, with a note naming the op.
    """
    after = clone_module(program)
    counts = apply_rules(after.operation, [rule], context)
    if not any(count.hits for count in counts):
        return Trial(fired=False)
    after.operation.verify()
    try:
        reports = [_compared(rule, *pair, seed, draws) for pair in static_pairs(program, after)]
    except CannotRun as error:
        return Trial(fired=True, reason=str(error))
    return _trial(reports)


def _compared(rule: Rule, before: ir.Module, after: ir.Module, seed: int, draws: int) -> Comparison:
    if rule.contract == exact:
        return compare_interpreted(before, after, rule.assumes, seed=seed, draws=draws)
    kinds = KINDS if rule.assumes is None else _HONEST
    return compare_modules(before, after, contract=rule.contract, kinds=kinds, seed=seed)


def _trial(reports: Sequence[Comparison]) -> Trial:
    runs = [by for report in reports for by in report.runs.values()]
    wrong = [str(report) for report in reports if report.difference is not None]
    reasons = [reason for report in reports for reason in report.reasons.values()]
    by = "interpreter" if runs and set(runs) == {"interpreter"} else (runs and "xla") or ""
    return Trial(True, by, "" if by else (reasons or ["nothing to run"])[0], "".join(wrong[:1]))

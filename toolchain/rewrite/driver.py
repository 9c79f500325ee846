"""Applying rules to a module: which of them are active in a run, and passes made of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias, TypeVar

from jaxlib.mlir import ir

from ..errors import UsageError, did_you_mean
from ..ir.shardings import is_partitioned
from .communication import Guard
from .former_names import current_name
from .module_pass import Option, Pass
from .rule import PassContext, Rule, RuleCount
from .rules_by_op import RulesByOp
from .worklist import Worklist

_Tables: TypeAlias = dict[tuple[Any, ...], RulesByOp]


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=_HasName)


def apply_rules(
    module: ir.Operation,
    rules: Sequence[Rule],
    context: PassContext,
    *,
    max_num_rewrites: int = -1,
    tables: _Tables | None = None,
) -> list[RuleCount]:
    """Rewrite `module` in place with `rules` until none applies, and erase dead ops.

    Args:
        module: the operation of a module.
        rules: tried in this order on each op. Rules for other targets, and rules whose assumption
            was not promised, are skipped.
        context: passed to the rules that have a parameter for it.
        max_num_rewrites: stop without an error after this many rewrites; no limit when negative.
        tables: a cache of `RulesByOp`, for further runs of the same rules.

    Returns:
        The counts of each rule, in order.

    Raises:
        ConvergenceError: the budget of rewrites is spent and rules still apply.
        RuleError: a replacement does not fit its op.
        Exception: what a rule raised, with a note that names the rule, the op and its location.
    """
    tables = {} if tables is None else tables
    key = (context.target, frozenset(context.assumptions), context.rates.decides)
    if key not in tables:
        tables[key] = RulesByOp([rule for rule in rules if _is_active(rule, context)])
    guard = Guard(module) if is_partitioned(module) else None
    if guard is not context.partition:
        context = replace(context, partition=guard)
    worklist = Worklist(module, tables[key], context, max_num_rewrites, guard)
    with module.context:
        worklist.run()
    return list(worklist.counts.values())


def rule_pass(name: str, doc: str, rules: Sequence[Rule]) -> Pass:
    """A pass that applies `rules`, with the options of MLIR's `canonicalize`."""
    of_all_rules: _Tables = {}

    def run(
        module: ir.Operation,
        context: PassContext,
        *,
        disable_patterns: str = "",
        enable_patterns: str = "",
        max_num_rewrites: int = -1,
        always: bool = False,
    ) -> list[RuleCount]:
        context = replace(context, always=True) if always else context
        chosen, tables = rules, of_all_rules
        if enable_patterns or disable_patterns:
            chosen, tables = select(name, rules, enable_patterns, disable_patterns), {}
        return apply_rules(
            module, chosen, context, max_num_rewrites=max_num_rewrites, tables=tables
        )

    options = selection_options("rule")
    if any(rule.priced for rule in rules):
        options["always"] = Option(
            "always", bool, False, "carry out rewrites even if the original ops are faster"
        )
    return Pass(name, doc, options, run, tuple(rules))


def selection_options(noun: str) -> dict[str, Option]:
    """The options of a pass made of rules, by name; `noun` is what the help calls these."""
    options = [
        Option("disable-patterns", str, "", f"{noun}s to leave out, separated by commas"),
        Option("enable-patterns", str, "", f"the only {noun}s to try, separated by commas"),
        Option("max-num-rewrites", int, -1, "stop after this many rewrites; -1 for no limit"),
    ]
    return {option.name: option for option in options}


def select(
    name: str, rules: Sequence[_Named], enabled: str, disabled: str, noun: str = "rule"
) -> list[_Named]:
    """The rules of the pass `name` that `enable-patterns` and `disable-patterns` select.

    Raises:
        UsageError: the pass has no rule of a given name.
    """
    known = [rule.name for rule in rules]
    wanted, unwanted = _names(enabled, known), _names(disabled, known)
    if unknown := sorted((wanted | unwanted) - set(known)):
        raise UsageError(
            f"pass {name!r} has no {noun} {unknown[0]!r}.{did_you_mean(unknown[0], known)} "
            f"`jxc opt --help-pass {name}` lists its {noun}s."
        )
    return [r for r in rules if r.name not in unwanted and (not wanted or r.name in wanted)]


def _names(text: str, known: Sequence[str]) -> set[str]:
    """The names in a list separated by commas, with former names replaced by current ones."""
    names = {name.strip() for name in text.split(",") if name.strip()}
    return {name if name in known else current_name(name) for name in names}


def _is_active(rule: Rule, context: PassContext) -> bool:
    if rule.assumes is not None and rule.assumes not in context.assumptions:
        return False
    if rule.targets is None or context.target in rule.targets:
        return True
    return rule.by_rates and context.rates.decides

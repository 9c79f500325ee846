"""One rule on many generated programs: hit counts, and comparisons of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from jaxlib.mlir import ir

from jxc.ir import walk
from jxc.rewrite import Rule, exact
from scripts.variants import NotValid, context_for, try_rule, vary
from tests.lit_seeds import Seed, all_seeds, seeds_for

_OTHERS = 6  # every sixth program comes from a case of another rule
_XLA_COSTS = 6  # a run on XLA takes six times as long as one on the interpreter
_PATIENCE = 8  # the maximum number of generated programs for each checked one
_KEPT = 3  # failures of a rule that are shown


@dataclass
class Tally:
    """The results for one rule.

    Attributes:
        rule: the name of the rule.
        generated: the number of programs, valid or not.
        invalid: how many of them MLIR rejected.
        fired: how many the rule changed.
        checked: how many of those ran before and after, by engine.
        not_run: how many did not run, by reason.
        wrong: the first few programs that differ, do not verify or raise, in full.
        failures: the number of all such programs.
    """

    rule: str
    generated: int = 0
    invalid: int = 0
    fired: int = 0
    checked: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    failures: int = 0

    def fail(self, what: str, seed: Seed, variant: ir.Module) -> None:
        """Record a failure."""
        self.failures += 1
        if len(self.wrong) < _KEPT:
            self.wrong.append(f"{self.rule}, from @{seed.name}: {what}\n{variant}")

    def as_json(self) -> dict[str, Any]:
        """The tally as `from_json` reads it."""
        return dict(vars(self))

    @staticmethod
    def from_json(found: dict[str, Any]) -> Tally:
        """The tally that a child process sent."""
        counters = {name: Counter(found[name]) for name in ("checked", "not_run")}
        return Tally(**{**found, **counters})


def run_campaign(rule: Rule, count: int, seed: int) -> Tally:
    """Try a rule on generated programs until `count` programs checked it.

    The same seed gives the same programs. At most `_PATIENCE * count` programs are generated.
    """
    tally = Tally(rule.name)
    own, others = seeds_for(rule), _others(rule)
    if not own:
        return tally
    wanted = count if rule.contract == exact else max(1, count // _XLA_COSTS)
    for number in range(_PATIENCE * wanted):
        if tally.checked.total() >= wanted:
            break
        random = Random(f"{seed}/{rule.name}/{number}")
        pool = others if others and number % _OTHERS == _OTHERS - 1 else own
        _try(rule, random.choice(pool), random, tally)
    return tally


def _others(rule: Rule) -> Sequence[Seed]:
    """Cases of other rules that contain a root op of the rule."""
    return [seed for seed in all_seeds() if seed.rule != rule.name and _holds(seed, rule.roots)]


def _holds(seed: Seed, roots: Sequence[str]) -> bool:
    return any(op.operation.name in roots for op in walk(seed.program.module.operation))


def _try(rule: Rule, seed: Seed, random: Random, tally: Tally) -> None:
    tally.generated += 1
    try:
        variant = vary(seed.program, random, mild=rule.contract != exact)
    except NotValid:
        tally.invalid += 1
        return
    try:
        trial = try_rule(
            rule, variant, context_for(rule, seed.context), seed=random.randrange(1000)
        )
    except Exception as error:  # an exception of a rule is a failure
        tally.fired += 1
        tally.fail(f"{type(error).__name__}: {error}", seed, variant)
        return
    tally.fired += trial.fired
    if trial.difference:
        tally.fail(trial.difference, seed, variant)
    elif trial.checked:
        tally.checked[trial.by] += 1
    elif trial.fired:
        tally.not_run[_kind_of(trial.reason)] += 1


def _kind_of(reason: str) -> str:
    """A reason without the parts that are specific to one program."""
    return reason.split("%")[0].split(" : ")[0].strip()[:100]

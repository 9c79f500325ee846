"""The results of a run of the fuzzer as text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import inputs, programs


def campaign_report(tally: programs.Tally, seed: int, seconds: float, shown: int) -> str:
    """Counts of programs, comparisons and rules, and what was found."""
    from .programs import idle_rules

    idle = idle_rules(tally)
    lines = [
        f"seed {seed}: {tally.programs} programs, {tally.ops} ops, {seconds:.0f} s",
        f"pipelines compared: {tally.comparisons}; with a known result: {tally.unchanged}",
        f"not compared, because only XLA could run them: {tally.left_out}",
        f"runs: {_counts(tally.by)}",
        f"rules fired: {_counts(tally.hits)}",
        f"rules that never fired: {', '.join(idle) or 'none'}",
        *(f"not run, or not on the interpreter: {n} {why}" for why, n in tally.not_run.items()),
    ]
    for found in tally.finds[:shown]:
        lines += ["", f"FOUND seed {found.seed}, -p '{found.pipeline}'", found.culprit, found.what]
    return "\n".join([*lines, f"found: {len(tally.finds)}"])


def inputs_report(tally: inputs.Tally, seed: int, seconds: float, shown: int) -> str:
    """Counts of mutants by outcome, and what was found."""
    lines = [
        f"seed {seed}: {tally.mutants} mutants of {tally.sources} inputs, {seconds:.0f} s",
        f"outcomes: {_counts(tally.outcomes)}",
    ]
    for found in tally.finds[:shown]:
        lines += ["", f"FOUND mutant {found.number} of {found.source}: {found.what}"]
    return "\n".join([*lines, f"found: {len(tally.finds)}"])


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "none"

"""The candidates of O3: pipelines, and XLA options that keep results.

To add one, add a row to `ALTERNATIVES`. A candidate whose module is that of an earlier candidate is
not compiled again, so a pass that does not apply costs nothing but its own time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...backend.verdicts import DEFAULT
from ...pipeline import LEVELS, PipelineReport
from ...rewrite import TARGETS

PLAIN = "plain"


@dataclass(frozen=True)
class Candidate:
    """A way to compile a program.

    Attributes:
        name: as tables and logs show it.
        pipeline: its passes; "O0" for none.
        xla_options: XLA's options by name.
    """

    name: str
    pipeline: str
    xla_options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Alternative:
    """A candidate that is tried on some targets.

    Attributes:
        candidate: the candidate.
        targets: the kinds of hardware on which it can be faster.
    """

    candidate: Candidate
    targets: Collection[str] = TARGETS


ALTERNATIVES: tuple[Alternative, ...] = ()
"""Candidates besides the levels and O2 without a family.

Options of XLA:CPU that were measured on O2 of 26 programs, and are not here: without effect beyond
noise are the concurrency-optimized scheduler, vector widths, Eigen's threads, the number of code
modules, LLVM's optimization levels, region analysis for copies and XNNPACK. Tiling propagation is
1.27 times as fast on one program (a loop of an ODE solver, which calls back into Python and cannot
be tuned) and 0.83 to 1.04 on the others. Without fusion emitters that program is 1.46 times as
fast, the others 0.35 to 1.03; three give other bits.
"""

_BASE = Candidate(DEFAULT, DEFAULT)


def alternatives(target: str) -> list[Candidate]:
    """The rows of `ALTERNATIVES` for a target: "cpu", "gpu" or "tpu"."""
    return [each.candidate for each in ALTERNATIVES if target in each.targets]


def first_candidates(report: PipelineReport, others: Sequence[Candidate]) -> Iterator[Candidate]:
    """The candidates that do not depend on the times of others, the most promising first.

    Args:
        report: of O2 on the program.
        others: the alternatives of the target.
    """
    yield Candidate(PLAIN, "O0")
    yield _BASE
    yield from others
    if fired := rules_by_family(report):
        yield Candidate("O1", "O1")
        for family in sorted(fired, key=lambda name: -sum(fired[name].values())):
            yield without({family: ()})


def rules_by_family(report: PipelineReport) -> dict[str, dict[str, int]]:
    """The rules that were applied, with their numbers of rewrites, by family."""
    found: dict[str, dict[str, int]] = {}
    for step in report.steps:
        hits = {rule.name: rule.hits for rule in step.rules if rule.hits}
        if hits:
            found.setdefault(step.name, {}).update(hits)
    return found


def without(left_out: Mapping[str, Collection[str]]) -> Candidate:
    """O2 without some families, or without some of their rules.

    Args:
        left_out: for each family the rules to leave out; empty for all of them.
    """
    steps = []
    for step in LEVELS[DEFAULT]:
        family = step.partition("{")[0]
        rules = left_out.get(family)
        if rules is None:
            steps.append(step)
        elif rules:
            steps.append(f"{family}{{disable-patterns={','.join(sorted(rules))}}}")
    names = [rule for family, rules in left_out.items() for rule in (sorted(rules) or [family])]
    return Candidate(f"{DEFAULT} without {', '.join(names)}", ",".join(steps))

"""The report of a pipeline run: time and rule counts by pass, as text and as tables.

`jxc opt` prints the tables for `--mlir-timing` and `--mlir-pass-statistics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..rewrite import Contract, RuleCount, exact
from ..units import show_seconds


@dataclass(frozen=True)
class StepReport:
    """What one pass of a pipeline did.

    Attributes:
        name: the pass's.
        seconds: wall time without verification.
        rules: the counts of its rules; empty for a pass without rules.
        contract: of what a pass without rules did.
    """

    name: str
    seconds: float
    rules: tuple[RuleCount, ...] = ()
    contract: Contract = exact


@dataclass(repr=False)
class PipelineReport:
    """What a run of a pipeline did, pass by pass; `print` shows it as tables."""

    steps: list[StepReport] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Wall time in passes, without verification and printing."""
        return sum(step.seconds for step in self.steps)

    @property
    def hits(self) -> dict[str, int]:
        """The number of rewrites by each rule that fired, over all passes."""
        totals: Counter[str] = Counter()
        for count in (count for step in self.steps for count in step.rules if count.hits):
            totals[count.name] += count.hits
        return dict(totals)

    def __repr__(self) -> str:
        rewrites = sum(self.hits.values())
        return (
            f"<PipelineReport: {len(self.steps)} passes, {rewrites} rewrites, {self.seconds:.3f} s>"
        )

    def __str__(self) -> str:
        return f"{statistics_table([self])}{timing_table([self])}".rstrip()

    def _repr_html_(self) -> str:
        from ..display.fragment import fragment, table

        rows = [
            (step.name, show_seconds(step.seconds), str(sum(rule.hits for rule in step.rules)))
            for step in self.steps
        ]
        header = ("pass", "time", "rewrites")
        parts = [table(header, rows, right=(1, 2)), self.rewrites_as_html()]
        return fragment("PipelineReport", (), parts)

    def rewrites_as_html(self) -> str:
        """How often each rule was applied, as HTML behind a line with the totals."""
        from ..display.fragment import details, note, table

        hits = sorted(self.hits.items(), key=lambda each: -each[1])
        took = f"{len(self.steps)} passes took {show_seconds(self.seconds)}"
        if not hits:
            return note(f"no rule was applied; {took}")
        rows = [(str(count), name) for name, count in hits]
        total = sum(count for _, count in hits)
        summary = f"{total} rewrites by {len(hits)} rules; {took}"
        return details(summary, table(("times", "rule"), rows, right=(0,)))


def timing_table(reports: Iterable[PipelineReport]) -> str:
    """Wall time by pass, in order of first run, summed over `reports`."""
    seconds: dict[str, float] = {}
    for step in (step for report in reports for step in report.steps):
        seconds[step.name] = seconds.get(step.name, 0.0) + step.seconds
    total = sum(seconds.values()) or 1.0
    rows = [(f"{s * 1e3:10.3f}  {s / total:6.1%}", name) for name, s in seconds.items()]
    rows.append((f"{sum(seconds.values()) * 1e3:10.3f}  {1:6.1%}", "Total"))
    return _table("Pass execution timing report", f"{'ms':>10}  {'share':>6}  pass", rows)


def statistics_table(reports: Iterable[PipelineReport]) -> str:
    """Hits, tries and time of every rule, by pass, summed over `reports`."""
    counts: dict[tuple[str, str], RuleCount] = {}
    for step in (step for report in reports for step in report.steps):
        for rule in step.rules:
            total = counts.setdefault((step.name, rule.name), RuleCount(rule.name))
            total.hits += rule.hits
            total.tries += rule.tries
            total.seconds += rule.seconds
    rows = [
        (f"{c.hits:6d}  {c.tries:8d}  {c.seconds * 1e3:9.3f}", f"{name}: {c.name}")
        for (name, _), c in counts.items()
        if c.tries
    ]
    if idle := len(counts) - len(rows):
        rows.append(("", f"{idle} rules were not tried: the module has none of their ops"))
    header = f"{'hits':>6}  {'tries':>8}  {'ms':>9}  pass: rule"
    return _table("Pass statistics report", header, rows or [("", "no pass has rules")])


def _table(title: str, header: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"===--- {title} ---===", header, *(f"{left}  {right}" for left, right in rows)]
    return "\n".join(lines) + "\n"

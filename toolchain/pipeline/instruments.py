"""Watching a run: printing the module around passes, and tables of time and rule counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from jaxlib.mlir import ir

from ..ir import write_text
from ..rewrite import RuleCount
from .pipeline import Step
from .run import Report, StepReport


@dataclass
class PrintIR:
    """Prints the module before and after passes, under the headers that MLIR prints.

    Attributes:
        emit: takes each piece of text.
        before: names of passes to print before; "*" for all.
        after: names of passes to print after; "*" for all.
        only_changes: print after a pass only where it changed the module.
        text_options: passed on to `write_text`.
    """

    emit: Callable[[str], None]
    before_names: frozenset[str] = frozenset()
    after_names: frozenset[str] = frozenset()
    only_changes: bool = False
    text_options: dict[str, object] = field(default_factory=dict)
    _last: str = ""

    def before(self, step: Step, module: ir.Module) -> None:
        if _chosen(step.name, self.before_names):
            self._print(f"IR Dump Before {step}", self._text(module))
        if self.only_changes:
            self._last = self._text(module)

    def after(self, step: Step, module: ir.Module, report: StepReport) -> None:
        if self.only_changes:
            text = self._text(module)
            if text != self._last:
                self._print(f"IR Dump After {step}", text)
        elif _chosen(step.name, self.after_names):
            self._print(f"IR Dump After {step}", self._text(module))

    def _text(self, module: ir.Module) -> str:
        return write_text(module, **self.text_options)  # type: ignore[arg-type]

    def _print(self, title: str, text: str) -> None:
        self.emit(f"// -----// {title} //----- //\n{text}\n")


def _chosen(name: str, names: frozenset[str]) -> bool:
    return name in names or "*" in names


def timing_table(reports: Iterable[Report]) -> str:
    """Wall time per pass, in order of first run, over all modules of a file."""
    seconds: dict[str, float] = {}
    for step in (step for report in reports for step in report.steps):
        seconds[step.name] = seconds.get(step.name, 0.0) + step.seconds
    total = sum(seconds.values()) or 1.0
    rows = [(f"{s * 1e3:10.3f}  {s / total:6.1%}", name) for name, s in seconds.items()]
    rows.append((f"{sum(seconds.values()) * 1e3:10.3f}  {1:6.1%}", "Total"))
    return _table("Pass execution timing report", f"{'ms':>10}  {'share':>6}  pass", rows)


def statistics_table(reports: Iterable[Report]) -> str:
    """Hits, tries and time of every rule, by pass, over all modules of a file."""
    counts: dict[tuple[str, str], RuleCount] = {}
    for step in (step for report in reports for step in report.steps):
        for rule in step.rules:
            sum_ = counts.setdefault((step.name, rule.name), RuleCount(rule.name))
            sum_.hits += rule.hits
            sum_.tries += rule.tries
            sum_.seconds += rule.seconds
    rows = [
        (f"{c.hits:6d}  {c.tries:8d}  {c.seconds * 1e3:9.3f}", f"{name}: {c.name}")
        for (name, _), c in counts.items()
        if c.tries
    ]
    if idle := len(counts) - len(rows):
        rows.append(("", f"{idle} more rules met no op of theirs"))
    header = f"{'hits':>6}  {'tries':>8}  {'ms':>9}  pass: rule"
    return _table("Pass statistics report", header, rows or [("", "no pass in it counts rules")])


def _table(title: str, header: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"===--- {title} ---===", header, *(f"{left}  {right}" for left, right in rows)]
    return "\n".join(lines) + "\n"

"""A comparison as a value, JSON and text: metrics of both programs, then differences by line.

The text has at most `_MAX_LINES` lines of Python, and changes of one op at one line in one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import click
from jaxlib.mlir import ir
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...display.console import text_console
from ...source import short_line
from ...units import counted, show_bytes, show_count, show_seconds, text_width
from .difference import DifferenceGroup, GraphDifference
from .graph import ToQuotedLine, line_reader

if TYPE_CHECKING:
    from ...backend.targets import Target
    from ...compiled.program import Compiled, Refused

_MAX_LINES = 12  # of Python; --all prints the rest
_MAX_CHANGES = 3  # of one op at one line that have a row each
_STYLES = {"fewer": "red", "more": "green", "changed": "yellow", "rewired": "yellow"}


@dataclass(frozen=True)
class ComparedProgram:
    """One side of a comparison.

    Attributes:
        name: as the user spelled it, such as "HEAD~1:f.py:step".
        module: after the pipeline; None if the program is HLO text.
        hlo: the text, if the program is HLO text.
        pipeline: the pipeline that ran on it, as text.
        target: what it is compiled for; None if it is not compiled.
        to_line: quotes the lines of Python that it was lowered from.
        rules: how often each rule of the pipeline applied.
        seconds: by stage.
    """

    name: str
    module: ir.Module | None
    hlo: str = field(default="", repr=False)
    pipeline: str = ""
    target: Target | None = None
    to_line: ToQuotedLine = field(default_factory=line_reader, repr=False)
    rules: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def target_name(self) -> str:
        """The name of the target; empty if there is none."""
        return self.target.name if self.target else ""


ROOFLINE = "roofline_seconds"
"""The metric that is only a model: it has no relative change.

Of two programs with times t and T by the roofline, the measured ratio may be 11 times larger or
smaller than t / T: 14 programs on a CPU took 0.50 to 5.53 times their roofline
(benchmarks/ROOFLINES.md, column "of the sums").
"""
_MODEL = "run time, roofline: a model, not a measurement"
_ON_CPU = "; 14 programs took\n0.5 to 5.5 times as long. `jxc compile --bench` measures"


@dataclass(frozen=True)
class Metric:
    """A number of each of two programs.

    Attributes:
        name: in `--json`.
        label: in the table.
        unit: "bytes", "flops", "seconds", or empty for a count.
        before, after: the number of the first and of the second program; None if not known.
    """

    name: str
    label: str
    unit: Literal["", "bytes", "flops", "seconds"]
    before: float | None
    after: float | None

    @property
    def differs(self) -> bool:
        """Whether the number shows that the programs differ.

        Seconds differ in each run, and ops are compared one by one. A number that only one program
        has is not a difference.
        """
        if self.unit == "seconds" or self.name == "ops":
            return False
        return self.before is not None and self.after is not None and self.before != self.after

    @property
    def shown(self) -> tuple[str, str]:
        """Both numbers with their unit; empty if not known."""
        shows = {"bytes": show_bytes, "seconds": show_seconds, "flops": show_count}
        show = shows.get(self.unit, "{:.0f}".format)
        before, after = ("" if n is None else show(n) for n in (self.before, self.after))
        return before, after

    @property
    def ratio(self) -> str:
        """The relative change, such as "+12.5%"; empty if there is none, or for a roofline."""
        if (
            self.name == ROOFLINE
            or not self.before
            or self.after is None
            or self.before == self.after
        ):
            return ""
        assert self.before and self.after is not None
        return f"{100 * (self.after / self.before - 1):+.1f}%"

    def as_json(self) -> dict[str, Any]:
        """The metric as an object."""
        return {"unit": self.unit, "before": self.before, "after": self.after}


@dataclass(frozen=True, repr=False)
class ProgramComparison:
    """How two programs differ.

    Attributes:
        programs: the two.
        difference: op by op.
        metrics: numbers of both.
        compiled: each as the compiler left it; None if it was not compiled.
        stage: which ops are compared: "stablehlo", or "hlo" after XLA has optimized them.
    """

    programs: tuple[ComparedProgram, ComparedProgram]
    difference: GraphDifference
    metrics: Sequence[Metric]
    compiled: tuple[Compiled | Refused | None, Compiled | Refused | None]
    stage: str

    def __repr__(self) -> str:
        names = " and ".join(program.name for program in self.programs)
        groups = self.difference.groups
        lines = len({str(group.site) for group in groups})
        found = f"{counted(len(groups), 'difference')} on {counted(lines, 'line')}"
        result = found if groups else "the ops are the same"
        return f"<jxc diff of {names}: {'the same' if self.is_same else result}>"

    def __str__(self) -> str:
        return as_text(self, 80)

    def _repr_html_(self) -> str:
        from ...display.console import HtmlConsole
        from ...display.fragment import fragment

        console = HtmlConsole()
        _print(console, self, False)
        return fragment("jxc diff", (), console.parts)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs except times."""
        return self.difference.is_same and not any(each.differs for each in self.metrics)

    def as_json(self) -> dict[str, Any]:
        """The comparison as an object."""
        return {
            "same": self.is_same,
            "stage": self.stage,
            "before": _side_as_json(self.programs[0], self.compiled[0]),
            "after": _side_as_json(self.programs[1], self.compiled[1]),
            "figures": {each.name: each.as_json() for each in self.metrics},
            "difference": self.difference.as_json(),
        }


def _side_as_json(program: ComparedProgram, compiled: Any) -> dict[str, Any]:
    return {
        "name": program.name,
        "pipeline": program.pipeline,
        "target": program.target_name or None,
        "rules": dict(program.rules),
        "seconds": dict(program.seconds),
        "refused": getattr(compiled, "message", None),
    }


def print_comparison(found: ProgramComparison, *, whole: bool) -> None:
    """Print a comparison; with `whole`, every line that differs."""
    click.echo(as_text(found, text_width(120), whole=whole))


def as_text(found: ProgramComparison, width: int, *, whole: bool = False) -> str:
    """A comparison as text; with `whole`, every line that differs."""
    console = text_console(width, soft_wrap=False)
    with console.capture() as captured:
        _print(console, found, whole)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())  # tables are padded


def _print(console: Console, found: ProgramComparison, whole: bool) -> None:
    if found.is_same and len(found.metrics) == 1:
        console.print(Text(f"the same: {found.metrics[0].after:.0f} ops"))
        return
    for letter, program in zip("AB", found.programs, strict=True):
        parts = filter(None, (program.name, program.pipeline, program.target_name))
        console.print(Text(f"{letter}  {'  '.join(parts)}", overflow="fold"))
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    for letter in (*"AB", ""):
        table.add_column(letter, justify="right", no_wrap=True)
    for metric in found.metrics:
        if metric.before or metric.after:
            table.add_row(metric.label, *metric.shown, metric.ratio)
    console.print()
    console.print(table)
    if any(each.name == ROOFLINE and each.before and each.after for each in found.metrics):
        is_cpu = all(each.target and each.target.platform == "cpu" for each in found.programs)
        console.print(Text(_MODEL + _ON_CPU * is_cpu, style="dim"))
    for letter, compiled in zip("AB", found.compiled, strict=True):
        if message := getattr(compiled, "message", ""):  # that of a `Refused`
            first = message.partition("\n")[0]
            console.print(Text(f"{letter} is not compiled: {first}", style="bold red"))
    if found.difference.is_same:
        console.print(Text("\nthe ops are the same"))
    else:
        _print_groups(console, found.difference, whole)


def _print_groups(console: Console, difference: GraphDifference, whole: bool) -> None:
    rewired = [group for group in difference.groups if group.kind == "rewired"]
    is_short = not whole and len(rewired) < len(difference.groups)
    if is_short:
        others = [group for group in difference.groups if group.kind != "rewired"]
        difference = replace(difference, groups=others)
    lines = difference.by_line
    for site, groups in lines if whole else lines[:_MAX_LINES]:
        heading = Text("arguments, results, and ops without a line", style="bold")
        if site is not None:
            heading = Text(f"{short_line(site)}  ", style="bold").append(site.text, "not bold dim")
        console.print()
        console.print(heading, overflow="ellipsis", no_wrap=True)
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(justify="right", min_width=6, no_wrap=True)
        table.add_column(overflow="fold")
        for row in _rows(groups):
            table.add_row(*row)
        console.print(table)
    left = 0 if whole else len(lines) - _MAX_LINES
    hidden = sum(group.count for group in rewired) if is_short else 0
    parts = [f"{left} more lines of Python"] if left > 0 else []
    parts += [f"{hidden} ops of which only the operands changed"] if hidden else []
    if parts:
        console.print(Text(f"\nand {', '.join(parts)}: --all", style="dim"))


def _rows(groups: Sequence[DifferenceGroup]) -> Iterator[tuple[str, Text]]:
    """The differences at one line; many different changes of one op have one row."""
    by_kind_and_op: dict[tuple[str, str], list[DifferenceGroup]] = {}
    for group in groups:
        by_kind_and_op.setdefault((group.kind, group.op), []).append(group)
    for (kind, op), alike in by_kind_and_op.items():
        alike.sort(key=lambda group: -group.count)
        if kind == "changed" and len(alike) <= _MAX_CHANGES:
            yield from (_row(group.count, kind, f"{op}: {_changed(group)}") for group in alike)
            continue
        first, suffix = alike[0], ""
        if kind == "changed":
            suffix = f": such as {_changed(first)}"
        elif kind == "rewired":
            suffix = ": its operands"
        elif first.example and {("fewer", op), ("more", op)} <= by_kind_and_op.keys():
            suffix = f": {first.example}"  # the type tells fewer and more ops of a name apart
        yield _row(sum(group.count for group in alike), kind, op + suffix)


def _row(count: int, kind: str, what: str) -> tuple[str, Text]:
    word = "changed" if kind == "rewired" else kind
    return str(count), Text(f"{word} ", style=_STYLES[kind]).append(what, "none")


def _changed(group: DifferenceGroup) -> str:
    is_moved = group.before is not None and group.before != group.site
    return group.changes_text + (f" (A: {group.before})" if is_moved else "")

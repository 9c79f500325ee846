"""The result of a fit as text: what was tried, and the measures of the plan."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from ...display.console import text_console
from ...units import show_bytes, show_seconds, text_width
from .plan import Plan
from .search import FitResult, Trial

_WIDTH = 80


def as_text(result: FitResult) -> str:
    """The verdict, a table of the versions that were compiled, and the plan."""
    console = text_console(text_width(_WIDTH), soft_wrap=False)
    with console.capture() as captured:
        console.print(_verdict(result), markup=False)
        table = Table(box=None, pad_edge=False)
        table.add_column("version", no_wrap=True)
        table.add_column("needs", justify="right", no_wrap=True)
        table.add_column("time", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for trial in (result.base, *result.trials):
            table.add_row(*_row(result, trial))
        console.print(table)
        if result.plan:
            console.print(_measures(result.plan))
        for line in _notes(result):
            console.print(line, markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _verdict(result: FitResult) -> str:
    where = f"{result.name} on {result.target.name}"
    budget = show_bytes(result.budget)
    if result.chosen is None:
        needed = show_bytes(result.smallest.needed)
        return f"{where}: does not fit into {budget}; the smallest version needs {needed}"
    needed = show_bytes(result.chosen.needed)
    how = "with this plan" if result.plan else "without a plan"
    return f"{where}: fits {how}: {needed} of {budget}"


def _row(result: FitResult, trial: Trial) -> tuple[str, str, str, str]:
    seconds, base = trial.seconds, result.base.seconds
    change = ""
    if seconds is not None and base and trial is not result.base:
        change = f"{seconds / base - 1:+.1%}"
    marks = [change, "<- chosen" if trial is result.chosen and result.trials else ""]
    time = "refused" if seconds is None else show_seconds(seconds)
    return trial.name, show_bytes(trial.needed), time, "  ".join(filter(None, marks))


def _measures(plan: Plan) -> Table:
    table = Table(
        box=None, pad_edge=False, expand=True, title="\ncomputed again", title_justify="left"
    )
    table.add_column("line", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("op", no_wrap=True)
    for name in ("values", "frees", "adds"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in plan.measures:
        label = each.label
        where = " ".join(filter(None, (label.place, label.text))) or label.scope
        amounts = (show_bytes(each.bytes), show_seconds(each.seconds))
        table.add_row(Text(where), Text(label.op), str(each.values), *amounts)
    return table


def _notes(result: FitResult) -> Iterator[str]:
    if result.plan:
        yield f"checked: {result.checked}"
    chosen, following = result.chosen, result.following
    if following and chosen and chosen.choice:
        less, more = chosen.choice.peak - following.peak, following.seconds - chosen.choice.seconds
        yield f"next: about {show_bytes(less)} less for {show_seconds(more)} more"
    if result.chosen is None:
        yield "what holds the rest:"
        for each in result.smallest.largest:
            yield f"  {each}"
    if result.stopped:
        yield f"the search ended early: {result.stopped}"

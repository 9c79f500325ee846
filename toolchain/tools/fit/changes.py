"""What a plan changes, as a table: each measure by the model, and all of them as compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...units import counted, show_bytes, show_seconds
from .plan import FitPlan, Measure

_TITLES = {"rematerialize": "computed again:", "offload": "kept in the memory of the host:"}


def print_plan(console: Console, plan: FitPlan) -> None:
    """Show the table, whose last line is the sum of the others."""
    table = Table(box=None, pad_edge=False, expand=True, title="\nthe plan", title_justify="left")
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("op", no_wrap=True)
    for name in ("values", "frees", "adds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in _rows(plan):
        table.add_row(*row)
    console.print(table)


def _added(seconds: float) -> str:
    """A time with its sign: less traffic with memory may save more than the copies take."""
    return f"-{show_seconds(-seconds)}" if seconds < 0 else show_seconds(seconds)


def _rows(plan: FitPlan) -> Iterator[tuple[Any, ...]]:
    modelled = [(each.bytes, each.seconds) for each in plan.measures]
    if plan.split:
        modelled.append((plan.split.bytes, plan.split.seconds))
        batch = f"the batch in {plan.split.parts} parts, one after the other"
        yield batch, "", "", *_amounts(plan.split.bytes, plan.split.seconds)
    for section, title in _TITLES.items():
        if measures := plan.of(section):
            yield (title,)
            yield from map(_row, measures)
    if (total := _as_compiled(plan)) is None:
        return
    freed = total[0] - sum(size for size, _ in modelled)
    seconds = None if total[1] is None else total[1] - sum(time for _, time in modelled)
    rest = "what the model leaves out"
    if plan.kernels:
        names = ", ".join(f"{name} ({counted(n, 'time')})" for name, n in plan.kernels.items())
        rest = f"replaced by kernels: {names}"
    yield rest, "", "", *_amounts(freed, seconds)
    yield "in all", "", "", *_amounts(*total)


def _row(measure: Measure) -> tuple[Any, ...]:
    label = measure.label
    where = " ".join(filter(None, (label.place, label.text))) or label.scope
    amounts = _amounts(measure.bytes, measure.seconds)
    return Text(f"  {where}"), Text(label.op), str(measure.values), *amounts


def _amounts(size: int, seconds: float | None) -> tuple[str, str]:
    freed = f"-{show_bytes(-size)}" if size < 0 else show_bytes(size)
    return freed, "" if seconds is None else _added(seconds)


def _as_compiled(plan: FitPlan) -> tuple[int, float | None] | None:
    """The bytes that the plan frees and the time that it adds; None if they are not known."""
    notes = plan.made_for
    if "needed_without_plan_bytes" not in notes:
        return None
    freed = int(notes["needed_without_plan_bytes"]) - int(notes["needed_bytes"])
    if "seconds_without_plan" not in notes:  # the compiler refused the program
        return freed, None
    return freed, float(notes["seconds"]) - float(notes["seconds_without_plan"])

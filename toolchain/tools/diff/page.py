"""The HTML page of a comparison: both programs at each stage, their numbers and differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from ...backend.log import text_to_read
from ...errors import UsageError
from ..page import (
    ComparedNumber,
    ComparedSide,
    DifferingLine,
    PageComparison,
    ProgramTexts,
    write_comparison_page,
)
from . import Comparison, Figure, Group, Program
from .table import change_words, show_ratio, show_value

_WORDS = {
    "fewer": "only in A",
    "more": "only in B",
    "changed": "changed",
    "rewired": "other operands",
}


def write_html(path: str, found: Comparison) -> None:
    """Write the page of a comparison.

    Raises:
        MissingTargetError: the packages that pages need are not installed.
        UsageError: the file cannot be written.
    """
    before, after = map(_side, found.programs, found.compiled)
    page = PageComparison(
        before,
        after,
        tuple(_number(each) for each in found.figures if each.before or each.after),
        tuple(_lines(found.difference.groups)),
        found.difference.is_same,
    )
    title = f"jxc diff: {' and '.join(dict.fromkeys(p.name for p in found.programs))}"
    try:
        written = write_comparison_page(path, page, title)
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from None
    for note in written.notes:
        click.echo(f"jxc: note: {note}", err=True)


def _side(program: Program, compiled: Any) -> ComparedSide:
    text = text_to_read(program.module) if program.module is not None else ""
    build = getattr(compiled, "build", None)  # none in a `Refused`
    return ComparedSide(
        program.name,
        program.pipeline,
        program.target.name if program.target else "",
        getattr(compiled, "message", ""),
        ProgramTexts(stablehlo=text, hlo=build.hlo if build else program.hlo),
    )


def _number(figure: Figure) -> ComparedNumber:
    before, after = figure.before, figure.after
    return ComparedNumber(
        figure.label.strip(),
        show_value(figure, before),
        show_value(figure, after),
        show_ratio(figure),
        is_less=before is not None and after is not None and after < before,
    )


def _lines(groups: Sequence[Group]) -> Iterator[DifferingLine]:
    """One line for each run of groups at the same line of Python."""
    for _, run in groupby(groups, key=lambda group: str(group.site)):
        members = list(run)
        site = members[0].site
        side = "a" if all(group.kind == "fewer" for group in members) else "b"
        items = tuple((g.kind, _WORDS[g.kind], g.count, _op_words(g)) for g in members)
        location = f"{site.file}:{site.line}" if site else ""
        yield DifferingLine(side, location, site.text if site else "", items)


def _op_words(group: Group) -> str:
    changes = "; ".join(change_words(*each) for each in group.changes)
    return group.op + (f": {changes}" if changes else "")

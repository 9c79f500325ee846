"""The page of a comparison: both programs, stage by stage, and what they differ in."""

from __future__ import annotations

from typing import Any

import click

from ...backend.log import text_to_read
from ...errors import UsageError
from ...ir import count_ops
from ..explain.records import Compilation, Texts
from ..page import write_page
from ..report.report import Compiled
from . import Comparison, Program


def write_html(path: str, found: Comparison) -> None:
    """Write the page of a comparison.

    Raises:
        MissingTargetError: what writes pages is not installed.
        UsageError: the file cannot be written.
    """
    both = zip((1, 2), found.programs, found.compiled, strict=True)
    title = f"jxc diff: {' and '.join(dict.fromkeys(p.name for p in found.programs))}"
    try:
        written = write_page(path, [_side(*each) for each in both], title=title, diff=found)
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from None
    for note in written.notes:
        click.echo(f"jxc: note: {note}", err=True)


def _side(number: int, program: Program, compiled: Any) -> Compilation:
    is_module = program.module is not None
    text = text_to_read(program.module) if program.module is not None else ""
    made = compiled if isinstance(compiled, Compiled) else None
    seconds = dict(program.seconds) | ({"compile": made.build.seconds} if made else {})
    words = (program.pipeline, program.target.name if program.target else "")
    return Compilation(
        number,
        " ".join(filter(None, (program.name, *words))),
        seconds=seconds,
        ops=count_ops(program.module) if program.module is not None else None,
        flops=made.totals.flops if made else None,
        peak_bytes=made.memory.peak if made and is_module else None,
        texts=Texts(stablehlo=text, hlo=made.build.hlo if made else program.hlo),
    )

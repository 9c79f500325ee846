"""Write RESULTS.md: the measurements of a run, the machine, and the method."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from report import (
    markdown_compiles,
    markdown_runs,
    markdown_tuning,
    not_installed_lines,
    summary_lines,
)
from results import Result

METHOD = """\
Each model is built with random weights in fresh processes. Each contender compiles it there with
JAX's compilation cache disabled. All contenders then run in alternation, in another order each
round. A ratio is the median over all rounds of the seconds of plain `jax.jit` divided by the
contender's seconds in the same round; above 1 is faster than plain. Brackets hold the 95% interval,
by a bootstrap over processes and rounds. Models whose names end in *@small* and *@large* are the
same programs at other sizes, each measured in one process and without O3 and Enzyme-JAX. *slower*
marks an interval that is entirely below 0.97. **WRONG** marks a result whose error is more than 8
times the largest change of plain's result when its inputs change by one ulp, in 8 draws."""

TUNING = """\
O3 compiles several candidates and times them at the first call of a program. Later processes find
the verdict in the user's cache directory and compile the candidate only."""


def write_results(
    file: Path,
    results: Sequence[Result],
    levels: Sequence[str],
    about: dict[str, Any],
    picture: str,
) -> None:
    """Replace the file.

    Args:
        file: the path to write.
        results: one for each model.
        levels: the contenders other than plain, in the order of columns.
        about: the result of `machine.circumstances`.
        picture: the path of the plot relative to the file; empty for none.
    """
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = summary_lines(results, levels) + not_installed_lines(about)
    parts = [
        "# Results\n\nWritten by `make bench`. Do not edit.",
        f"- {about['date']}, commit {about['commit']}\n- {about['machine']}, load "
        f"{about['load']} at the start, Python {about['python']}, rates {about['rates']}\n"
        f"- {versions}",
        METHOD,
        "## Summary\n\n" + "\n".join(f"- {line}" for line in lines),
        "## Run time",
        f"![ratios]({picture})" if picture else "",
        markdown_runs(results, levels) if levels else "",
    ]
    for level in levels:
        parts += [f"## Compilation with {level}", _explained(level)]
        parts += [markdown_compiles(results, level)]
    if "O3" in levels:
        parts += ["## Tuning by O3", TUNING, markdown_tuning(results)]
    file.write_text("\n\n".join(part for part in parts if part) + "\n")


def write_section(file: Path, title: str, text: str) -> None:
    """Write a section at the end of a Markdown file, and remove an older one of this title."""
    sections = re.split(r"(?m)^(?=## )", file.read_text()) if file.exists() else []
    kept = [each.strip() for each in sections if not each.startswith(f"## {title}\n")]
    file.write_text("\n\n".join([*kept, f"## {title}\n\n{text}"]) + "\n")


def _explained(level: str) -> str:
    text = (
        "Arrows point from plain to the contender. *total* is the time from the function to the "
        "executable. *compile* is the time of passes and XLA divided by plain's XLA time."
    )
    if level == "enzyme":
        text += (
            " Enzyme-JAX compiles the plain program a second time to find unused arguments. Only "
            "*total* includes that time."
        )
    return text

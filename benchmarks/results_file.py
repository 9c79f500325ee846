"""RESULTS.md: what a run found, with where and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from report import markdown_compiles, markdown_runs, not_installed_lines, summary_lines
from results import Result

METHOD = """\
Each model is built with random weights in fresh processes, and compiled there by each contender
with JAX's compilation cache off; then all of them run in turn, the order changing from round to
round. A ratio is the median over all rounds of plain's seconds over the contender's in the same
round; brackets hold its 95% interval, by a bootstrap over processes and rounds. Above 1 is faster
than plain `jax.jit`. *slower* marks an interval below 0.97 as a whole; **WRONG** marks a result
that lies further from plain's than 16 times what plain's own moves by when its inputs move by one
ulp."""


def write_results(
    file: Path,
    results: Sequence[Result],
    levels: Sequence[str],
    about: dict[str, Any],
    picture: str,
) -> None:
    """Write the whole file anew.

    Args:
        file: where.
        results: one for each model.
        levels: the contenders beside plain that ran, in the order of columns.
        about: what `machine.circumstances` gave.
        picture: the path of the plot relative to the file; empty for none.
    """
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = summary_lines(results, levels) + not_installed_lines(about)
    parts = [
        "# Results\n\nWritten by `make bench`; not by hand.",
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
        parts += [f"## What {level} takes and changes", _explained(level)]
        parts += [markdown_compiles(results, level)]
    file.write_text("\n\n".join(part for part in parts if part) + "\n")


def _explained(level: str) -> str:
    told = (
        "Plain first, then the contender. *total* is from the function to the executable; "
        "*compile* is passes and XLA over plain's XLA."
    )
    if level == "enzyme":
        told += (
            " Enzyme-JAX compiles the plain program once more to find unused arguments; that is in "
            "*total* alone."
        )
    return told

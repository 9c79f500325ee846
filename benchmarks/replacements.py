"""Apply replacements to models of third-party packages: hits, values, and reasons of misses.

Each is applied to a model, to its gradient, and to a program that it does not fit. Values are
compared with plain JAX on the CPU; kernels of Pallas run in interpret mode there.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from replaced import CASES, Case

import jxc


@dataclass(frozen=True)
class Row:
    """What a replacement did: hits and the largest difference of values, and why it missed."""

    case: Case
    forward: tuple[int, float]
    gradient: tuple[int, float]
    miss: str


def gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the mean square of the results with respect to the first argument."""
    return jax.grad(lambda *arguments: (function(*arguments) ** 2).mean())


def applied(given: Any, function: Callable[..., Any], arguments: Any) -> tuple[int, float]:
    """The hits, and the largest difference from plain JAX relative to the largest value."""
    done = jxc.lower(function, *arguments).opt(given)
    wanted = jax.tree.leaves(jax.jit(function)(*arguments))
    found = jax.tree.leaves(done.compile()(*arguments))
    largest = max(float(jnp.max(jnp.abs(each))) for each in wanted)
    errors = [float(jnp.max(jnp.abs(a - b))) for a, b in zip(found, wanted, strict=True)]
    return done.report.hits.get(given.name, 0), max(errors) / largest


def row_of(case: Case) -> Row:
    """Apply the replacement of a case to its programs."""
    function, arguments = case.program()
    forward = applied(case.replacement, function, arguments)
    gradient = applied(case.replacement, gradient_of(function), arguments)
    function, arguments = case.other()
    return Row(
        case, forward, gradient, short(case.replacement.why(jxc.lower(function, *arguments)))
    )


def short(text: str) -> str:
    """A reason with the names of files in place of their paths."""
    return re.sub(r"[^\s(]*/", "", text)


HEAD = """\
| package | code | replacement | hits | error | hits in the gradient | error |
|---|---|---|---:|---:|---:|---:|"""


def line_of(row: Row) -> str:
    case = row.case
    cells = [case.package, case.what, case.replacement.name]
    for hits, error in (row.forward, row.gradient):
        cells += [str(hits), f"{error:.0e}"]
    return f"| {' | '.join(cells)} |"


METHOD = """\
Each replacement is applied to a small model of the package, as it is and in `jax.grad` of it with
respect to the weights. *Error* is the largest difference from plain JAX, relative to the largest
value, in f32 on the CPU. Below the table is the text of `why` for a program that differs from the
search in one respect."""


def text_of(rows: list[Row], about: str) -> str:
    """The file."""
    title = (
        "# Replacements of code in packages\n\nWritten by benchmarks/replacements.py. Do not edit."
    )
    table = "\n".join([HEAD, *map(line_of, rows)])
    misses = "\n".join(f"- {row.case.replacement.name}, {name_of(row)}: {row.miss}" for row in rows)
    return "\n\n".join([title, about, METHOD, table, "## Misses", misses]) + "\n"


def name_of(row: Row) -> str:
    return row.case.other.__name__.replace("_", " ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("names", nargs="*", help="replacements; all by default")
    add("--results", type=Path, help="write the table to this Markdown file")
    given = parser.parse_args()
    known = {case.replacement.name: case for case in CASES}
    if unknown := sorted(set(given.names) - known.keys()):
        parser.error(f"no replacement is called {unknown}; they are {', '.join(known)}")
    print(HEAD)
    rows = []
    for case in (known[name] for name in given.names or known):
        try:
            import_module(case.package)
        except ImportError as error:
            print(f"{case.replacement.name}: left out: {error}", file=sys.stderr)
            continue
        rows.append(row_of(case))
        print(line_of(rows[-1]), flush=True)
    for row in rows:
        print(f"{row.case.replacement.name}, {name_of(row)}: {row.miss}")
    if given.results:
        from machine import circumstances

        about = circumstances()
        versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
        lines = f"- {about['date']}, commit {about['commit']}\n- {versions}"
        given.results.write_text(text_of(rows, lines))


if __name__ == "__main__":
    os.environ["KERAS_BACKEND"] = "jax"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main()

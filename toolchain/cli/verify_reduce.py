"""The small counterexample that `jxc verify` prints after a difference."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from ..errors import UsageError
from ..files import write_output
from .opt import pass_context_of


def reduce_options(command: Any) -> Any:
    """`--no-reduce` and `--save-reduced`."""
    command = click.option(
        "--save-reduced", metavar="FILE.mlir", help="Where to save the small counterexample."
    )(command)
    return click.option(
        "--reduce/--no-reduce",
        default=True,
        envvar="JXC_REDUCE",
        help="Look for a small counterexample where a pipeline makes a difference (default).",
    )(command)


def check_reduce_options(after: str | None, flags: dict[str, Any]) -> None:
    """Refuse `--save-reduced` where there would be nothing to save."""
    if flags["save_reduced"] and (after is not None or not flags["reduce"]):
        other = "a second module" if after is not None else "--no-reduce"
        raise UsageError(f"--save-reduced saves what a pipeline breaks: drop {other}")


def counterexample(module: Any, pipeline: Any, verdicts: list[Any], flags: dict[str, Any]) -> Any:
    """The first difference on a small program, saved as asked; None where there is none."""
    differing = [verdict for verdict in verdicts if verdict.report.difference is not None]
    if pipeline is None or not differing or not flags["reduce"]:
        return None
    from ..check.reduce import module_text
    from ..check.reduce.counterexample import find_counterexample

    context, seeds = pass_context_of(flags), flags["draws"]
    with _status():
        found = find_counterexample(module, pipeline, differing[0], context=context, seeds=seeds)
    if found is not None and flags["save_reduced"]:
        write_output(module_text(found.reduction.module), flags["save_reduced"])
        click.echo(f"counterexample saved to {flags['save_reduced']}", err=True)
    return found


def as_object(found: Any) -> dict[str, Any] | None:
    """The counterexample for `--json`."""
    if found is None:
        return None
    from ..check.reduce import module_text

    return {
        "module": module_text(found.reduction.module),
        "ops": found.reduction.after.ops,
        "difference": str(found.verdict.report.difference),
    }


def _status() -> contextlib.AbstractContextManager[Any]:
    """A line that says what takes so long, on a terminal."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("looking for a small counterexample")

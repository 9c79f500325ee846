"""`jxc verify --conformance DIR`: programs that know what they should give, at each level."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..errors import UsageError
from ..files import write_output
from .opt import chosen_pipeline, pass_context_of
from .process import ChildStage, in_child, leave

_LEVELS = ("O1", "O2")  # those that conformance is measured at, beside the programs as written


def run_conformance(before: str | None, flags: dict[str, Any]) -> None:
    """Run the programs in `--conformance DIR`, print the table, and leave with the exit code."""
    alone = {"a module": before, "--contract": flags["contract"], "--bisect": flags["bisect"]}
    alone["--save-inputs"] = flags["save_inputs"]
    if given := [name for name, value in alone.items() if value]:
        raise UsageError(f"--conformance runs the programs of a folder: drop {given[0]}")
    stage = in_child(None, lambda saved: [])
    stage.enter("while starting")
    from ..check.conformance import program_files, run_programs
    from ..pipeline import Library, make_pipeline

    files = program_files(Path(flags["conformance"]))
    library = Library.of_files(flags["load_pass"])
    asked = chosen_pipeline(flags, default="")
    levels = {name: make_pipeline(name, library) for name in ([asked] if asked else _LEVELS)}
    summary = run_programs(_shown(files, stage), levels, pass_context_of(flags))
    if flags["as_json"]:
        write_output(json.dumps(summary.as_object(), indent=2) + "\n", "-")
    else:
        click.echo(str(summary))
    leave(0 if summary.holds else 1)


def _shown(files: list[Path], stage: ChildStage) -> Iterator[Path]:
    """The files, with progress on stderr where that is a terminal, and in case of a crash."""
    from rich.console import Console
    from rich.progress import track

    quiet = not sys.stderr.isatty()
    for file in track(files, "Running", console=Console(stderr=True), disable=quiet):
        stage.enter(f"while running {file}")
        yield file

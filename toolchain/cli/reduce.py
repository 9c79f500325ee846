"""`jxc reduce`: a small module on which a command still fails, from a large one.

The search runs in a child process, which also reads the module: corrupt modules crash MLIR.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..errors import UsageError
from ..files import input_name, read_input, write_output
from . import ModuleCommand
from .process import ChildStage, CrashError, in_child, leave

_SECONDS_BETWEEN_LINES = 10.0  # of progress, where stderr is not a terminal
_SECONDS = click.FloatRange(min=0, min_open=True)
_ENDS = {"done": "", "time": ", stopped at the time limit", "interrupted": ", interrupted"}


@click.command(short_help="Shrink a module while a command fails on it.", cls=ModuleCommand)
@click.argument("file", default="-")
@click.option("--check", metavar="COMMAND", required=True, help="The command; {} is the module.")
@click.option("-o", "output", default="-", metavar="FILE", help="Where to; stdout by default.")
@click.option("--expect", metavar="TEXT", help="What the command must print when it fails.")
@click.option("--seconds", type=_SECONDS, help="Stop after N seconds with the smallest so far.")
@click.option(
    "--timeout",
    type=_SECONDS,
    help="The most that COMMAND may take; by default 10 times what it takes on FILE, and 10 s at "
    "least. Taking longer does not count as failing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object on stdout.")
def reduce_command(file: str, output: str, **flags: Any) -> None:
    """Shrink the module in FILE ('-' for stdin) to a small one on which COMMAND still fails.

    The shell runs COMMAND on one candidate after another. `{}` stands for the candidate's path,
    which is appended where there is no `{}`. The command fails if it dies or its exit code is not
    0; with --expect, only if its output (stdout and stderr) also contains TEXT, which keeps the
    failure the same one. A command that takes too long, or that the shell cannot run, does not
    fail.

    Candidates are valid modules with fewer ops, then with fewer elements, then with less text. With
    -o, FILE always contains the smallest so far. Ctrl-C ends the search and keeps its result.

    \b
    jxc reduce big.mlir --check 'jxc compile {}' -o small.mlir
    jxc reduce big.mlir --check 'jxc verify {} -p my-rule --load-pass my.py' --expect differs
    """
    _check_input(file, output)
    data = read_input(file)
    try:
        stage = in_child(data, lambda saved: _again(saved, flags))
    except CrashError as error:
        if " while reading " in str(error):
            error.exit_code = 1  # a corrupt module
        raise
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: keep the smallest so far
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        reduction = _reduce(file, data, output, Path(folder) / "candidate.mlir", stage, flags)
    _print(reduction, output, flags["as_json"])
    leave(130 if reduction.ended == "interrupted" else 0)


def _check_input(file: str, output: str) -> None:
    """Refuse an output that would replace the input: it may be the only failing module."""
    if "-" not in (file, output) and os.path.realpath(file) == os.path.realpath(output):
        raise UsageError(f"-o {output}: would replace the module to reduce; give another file")


def _again(saved: Path, flags: dict[str, Any]) -> list[str]:
    expect = [f"--expect={flags['expect']}"] if flags["expect"] is not None else []
    return ["reduce", str(saved), f"--check={flags['check']}", *expect]


def _reduce(
    file: str, data: bytes, output: str, candidate: Path, stage: ChildStage, flags: dict[str, Any]
) -> Any:
    stage.enter(f"while reading {input_name(file)}")
    from ..check.reduce import NotFailing, reduce_module
    from ..check.reduce.command import Command
    from ..ir import make_context, read_module
    from ..pipeline.native import run_native

    module = read_module(data, make_context(), name=input_name(file))
    if b"loc(" not in data:  # the reader's own locations, not the user's
        run_native("strip-debuginfo", module)
    stage.enter("while reducing")
    command = Command(flags["check"], candidate, flags["expect"], flags["timeout"])
    save = _saving(output)
    try:
        with _progress() as show:

            def report(reduction: Any) -> None:
                show(reduction)
                save(reduction)

            return reduce_module(module, command, seconds=flags["seconds"], progress=report)
    except NotFailing:
        raise command.refusal() from None


def _saving(output: str) -> Callable[[Any], None]:
    """Write the smallest module to the output file whenever it changes."""
    from ..check.reduce import module_text

    last = None

    def save(reduction: Any) -> None:
        nonlocal last
        if output != "-" and reduction.module is not last:
            last = reduction.module
            write_output(module_text(last), output)

    return save


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[Any], None]]:
    """On a terminal one line that is kept up to date; elsewhere a line every ten seconds."""
    last = monotonic()

    def print_line(reduction: Any) -> None:
        nonlocal last
        if monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = monotonic()
            click.echo(str(reduction), err=True)

    if not sys.stderr.isatty():
        yield print_line
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("running the command")) as status:
        yield lambda reduction: status.update(Text(str(reduction)))


def _print(reduction: Any, output: str, as_json: bool) -> None:
    from ..check.reduce import module_text

    text = module_text(reduction.module)
    if output != "-":
        write_output(text, output)
    if as_json:
        fields = {
            "schema_version": 1,
            "module": text,
            "ops_before": reduction.before.ops,
            "ops": reduction.after.ops,
            "elements": reduction.after.elements,
            "candidates": reduction.candidates,
            "seconds": round(reduction.seconds, 3),
            "ended": reduction.ended,
        }
        write_output(json.dumps(fields, indent=2) + "\n", "-")
    elif output == "-":
        write_output(text, "-")
    click.echo(f"{reduction}{_ENDS[reduction.ended]}", err=True)

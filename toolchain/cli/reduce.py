"""`jxc reduce`: a small module on which a command still fails, from a large one.

The search runs in a child process, which also reads the module: corrupt modules crash MLIR.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..display.progress import progress
from ..errors import UsageError
from ..files import input_name, read_input, write_json, write_output
from . import ModuleCommand
from .options import SECONDS, flag, option, options_of
from .process import ChildStage, in_child, leave

_SECONDS_BETWEEN_LINES = 10.0  # of progress, where stderr is not a terminal
_ENDS = {"done": "", "time": ", stopped at the time limit", "interrupted": ", interrupted"}


@dataclass(frozen=True)
class ReduceOptions:
    """The options of `jxc reduce`, under the names of their flags."""

    check: str = option(metavar="COMMAND", required=True, help="The command; {} is the module.")
    output: str = option("-o", default="-", metavar="FILE", help="Where to; stdout by default.")
    expect: str | None = option(metavar="TEXT", help="What the command must print when it fails.")
    seconds: float | None = option(
        type=SECONDS, help="Stop after N seconds with the smallest so far."
    )
    timeout: float | None = option(
        type=SECONDS,
        help="The most that COMMAND may take; by default 10 times what it takes on FILE, and 10 s "
        "at least. Taking longer does not count as failing.",
    )
    as_json: bool = flag("--json", help="Print one object on stdout.")


@click.command(short_help="Shrink a module while a command fails on it.", cls=ModuleCommand)
@click.argument("file", default="-")
@options_of(ReduceOptions)
def reduce_command(file: str, **flags: Any) -> None:
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
    options = ReduceOptions(**flags)
    output = options.output
    if "-" not in (file, output) and os.path.realpath(file) == os.path.realpath(output):
        raise UsageError(f"-o {output}: would replace the module to reduce; give another file")
    data = read_input(file)
    expect = [] if options.expect is None else [f"--expect={options.expect}"]
    stage = in_child(
        data, lambda saved: ["reduce", str(saved), f"--check={options.check}", *expect]
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: keep the smallest so far
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        reduction = _reduce(file, data, Path(folder) / "candidate.mlir", stage, options)
    _print(reduction, options)
    leave(130 if reduction.ended == "interrupted" else 0)


def _reduce(
    file: str, data: bytes, candidate: Path, stage: ChildStage, options: ReduceOptions
) -> Any:
    """The reduction; the output file always contains the smallest module so far."""
    stage.enter(f"while reading {input_name(file)}")
    from ..check.reduce import NotFailing, module_text, reduce_module
    from ..check.reduce.command import Command
    from ..ir import make_context, read_module
    from ..pipeline.native import run_native

    module = read_module(data, make_context(), name=input_name(file))
    if b"loc(" not in data:  # the reader's own locations, not the user's
        run_native("strip-debuginfo", module)
    stage.enter("while reducing")
    command = Command(options.check, candidate, options.expect, options.timeout)
    saved, printed = None, monotonic()
    with progress("running the command") as show:

        def report(reduction: Any) -> None:
            nonlocal saved, printed
            show(str(reduction))
            if not sys.stderr.isatty() and monotonic() - printed > _SECONDS_BETWEEN_LINES:
                printed = monotonic()
                click.echo(str(reduction), err=True)
            if options.output != "-" and reduction.module is not saved:
                saved = reduction.module
                write_output(module_text(saved), options.output)

        try:
            return reduce_module(module, command, seconds=options.seconds, progress=report)
        except NotFailing:
            raise command.refusal() from None


def _print(reduction: Any, options: ReduceOptions) -> None:
    from ..check.reduce import module_text

    text = module_text(reduction.module)
    if options.output != "-" or not options.as_json:
        write_output(text, options.output)
    if options.as_json:
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
        write_json(fields, "-")
    click.echo(f"{reduction}{_ENDS[reduction.ended]}", err=True)

"""`jxc explain`: a program is run, and what JAX compiled for it is told, and why."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import JxcError, UsageError
from ..files import require_file, write_output
from ..tools.explain.script import Program, flush, when_imported
from . import report

if TYPE_CHECKING:
    from ..tools.explain.log import Log


@click.command(
    short_help="Run a program, and say why JAX compiled what it did.",
    context_settings={"allow_interspersed_args": False},
)
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is a module, as for `python -m`.")
@click.option("-o", "output", metavar="FILE", help="Write the table to FILE, not to stderr.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    help="Write one object to FILE; for '-' to stdout, the program's own output to stderr.",
)
@click.option(
    "--html", "html_file", metavar="FILE", help="Write a page, with every program's text."
)
@click.option("--all", "is_whole", is_flag=True, help="Print every line of the table.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def explain_command(script: str, args: tuple[str, ...], **flags: Any) -> None:
    """Run SCRIPT with ARGS as `python` would, and explain what JAX compiled.

    \b
    jxc explain train.py --epochs 1
    jxc explain -m mypackage.train
    jxc explain --html page.html train.py

    After the program has ended, by an error or Ctrl-C too, a table says what was traced, lowered
    and compiled at which line, how often and how long; then, for what was compiled again, why, and
    what to do.
    The program's output and exit code are its own. Options of jxc stand before SCRIPT.
    """
    for flag in ("output", "json_file", "html_file"):  # before the program runs for it
        if flags[flag] and flags[flag] != "-":
            require_file(flags[flag])
            flags[flag] = os.path.abspath(flags[flag])  # the program may change the directory
    if flags["html_file"]:
        from ..tools.page import require_packages

        require_packages()
    program = Program(script, args, is_module=flags["is_module"])
    listening = _Listening(keep_texts=bool(flags["html_file"]))
    own_stdout = _stdout_kept_apart() if flags["json_file"] == "-" else None
    when_imported("jax", lambda: listening.start(program))
    process = os.getpid()
    code = program.run()
    if os.getpid() != process:  # a copy that the program forked: only the first one reports
        sys.exit(code)
    listening.stop(program.error)
    flush()
    _write(listening.log, script, flags, own_stdout)
    sys.exit(code)


class _Listening:
    """Records from the moment on that the program has imported jax: what it sets before, counts."""

    def __init__(self, *, keep_texts: bool) -> None:
        self._keep_texts = keep_texts
        self._stack = contextlib.ExitStack()
        self.log: Log | None = None

    def start(self, program: Program) -> None:
        """Begin; where this jax cannot be listened to, say so and let the program run."""
        from ..source import is_user_file, user_folders
        from ..tools.explain.log import explain

        if not is_user_file(program.file):  # installed: its package is what the user looks at
            user_folders.append(os.path.dirname(program.file))
        try:
            self.log = self._stack.enter_context(explain(keep_texts=self._keep_texts))
        except JxcError as error:
            report(error)

    def stop(self, error: BaseException | None) -> None:
        """End; `error` is what ended the program."""
        self._stack.close()
        if self.log is not None and error is not None:
            self.log.failed(error)


def _stdout_kept_apart() -> int:
    """Let standard output of the program, and of what it starts, go to standard error from now on.

    Returns:
        The file descriptor of the true standard output.
    """
    flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def _write(log: Log | None, script: str, flags: dict[str, Any], own_stdout: int | None) -> None:
    if flags["json_file"] != "-" or flags["output"]:
        from ..tools.explain.table import table

        text = table(log, is_whole=flags["is_whole"], to_file=bool(flags["output"]))
        if flags["output"]:
            write_output(text, flags["output"])
        else:
            click.echo(text, err=True, nl=False)
    if flags["json_file"]:
        _write_json(log, script, flags["json_file"], own_stdout)
    if flags["html_file"] and log is not None:
        _write_page(log, script, flags["html_file"])


def _write_page(log: Log, script: str, file: str) -> None:
    from ..tools.explain.page import write_html

    try:
        page = write_html(file, log.compilations, script)
    except OSError as error:
        raise UsageError(f"--html {file}: {error.strerror}") from None
    for note in page.notes:
        click.echo(f"jxc: note: {note}", err=True)


_LISTS = ("compilations", "rows", "reasons", "effects", "failures")


def _write_json(log: Log | None, script: str, file: str, own_stdout: int | None) -> None:
    from ..tools.explain import SCHEMA_VERSION

    nothing = {"schema_version": SCHEMA_VERSION, "compiled": 0, "seconds": 0.0, "hits": {}}
    nothing |= {name: [] for name in _LISTS}
    found = nothing if log is None else log.as_json()
    text = json.dumps({"script": script, **found}, indent=2) + "\n"
    if own_stdout is None:
        write_output(text, file)
        return
    with os.fdopen(own_stdout, "w") as stdout:
        stdout.write(text)

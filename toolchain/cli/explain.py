"""`jxc explain`: run a program, and report what JAX compiled for it and why."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ..backend.children import ChildProcess, following
from ..events.script import UserProgram, flush
from ..files import write_output
from ..tools.explain import SCHEMA_VERSION
from .options import flag, option, options_of
from .user_program import absolute, open_streams, require_distinct, run_program, write_program_json

if TYPE_CHECKING:
    from ..tools.explain.log import ExplainLog


@dataclass(frozen=True)
class ExplainOptions:
    """The options of `jxc explain`; the absolute paths of files, or "-" for stdout."""

    is_module: bool = flag("-m", help="SCRIPT is a module, as for `python -m`.")
    output: str | None = option(
        "-o",
        metavar="FILE",
        callback=absolute,
        help="Write the table to FILE instead of stderr. In names of files, %p is the number of "
        "this process in jax.distributed.",
    )
    json: str | None = option(
        metavar="FILE",
        callback=absolute,
        help="Write a JSON object to FILE. With '-' it goes to stdout, and the program's own "
        "output to stderr.",
    )
    html: str | None = option(
        metavar="FILE",
        callback=absolute,
        help="Write an HTML page with the text of every program at each stage.",
    )
    all_rows: bool = flag("--all", help="Print every line of the table.")
    merge: bool = flag(
        help="SCRIPT and ARGS are files of --json, one of each process: print which "
        "process compiled what."
    )


@click.command(
    short_help="Run a program, and explain what JAX compiled for it.",
    context_settings={"allow_interspersed_args": False},
)
@options_of(ExplainOptions)
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def explain_command(script: str, args: tuple[str, ...], **flags: Any) -> None:
    """Run SCRIPT with ARGS as `python` would, and explain what JAX compiled.

    \b
    jxc explain train.py --epochs 1
    jxc explain -m mypackage.train
    jxc explain --html page.html train.py
    jxc explain --json log-%p.json train.py   (in each process of a job, then)
    jxc explain --merge log-*.json
    JXC_PIPELINE=O2 jxc explain train.py      (with the passes of O2)

    When the program has ended (normally, by an error or by Ctrl-C), a table shows which functions
    were traced, lowered and compiled from which line, how often, and how long it took. Below it,
    each recompilation has its reason and a fix.

    The programs that child processes compile are counted below the table.

    The program keeps its own output and exit code. Options of jxc go before SCRIPT.
    """
    options = ExplainOptions(**flags)
    if options.merge:
        from ..tools.explain.processes import merged, read_logs

        write_output(merged(read_logs([script, *args])), options.output or "-")
        return
    require_distinct({"-o": options.output, "--json": options.json, "--html": options.html})
    if options.html:
        from ..pages import require_packages

        require_packages()
    program = UserProgram(script, args, is_module=options.is_module)
    recorder = _ProgramRecorder(keep_texts=bool(options.html))
    with following() as children:
        code, own_stdout = run_program(program, recorder.start, options.json)
        found = children()
    recorder.stop(program.error)
    flush()
    with open_streams():
        _write(recorder.log, found, script, _numbered(options, recorder.log), own_stdout)
    sys.exit(code)


class _ProgramRecorder:
    """Records from the moment at which the program has imported jax."""

    def __init__(self, *, keep_texts: bool) -> None:
        self._keep_texts = keep_texts
        self._stack = contextlib.ExitStack()
        self.log: ExplainLog | None = None

    def start(self) -> None:
        """Start recording.

        Raises:
            JxcError: this version of jax does not allow it.
        """
        from ..backend.children import write_compilations
        from ..tools.explain.log import explain

        write_compilations()
        self.log = self._stack.enter_context(explain(keep_texts=self._keep_texts))

    def stop(self, error: BaseException | None) -> None:
        """Stop recording; `error` is the exception that ended the program."""
        self._stack.close()
        if self.log is not None and error is not None:
            self.log.failed(error)


def _numbered(options: ExplainOptions, log: ExplainLog | None) -> ExplainOptions:
    """The options with the number of this process in the names of files."""
    number = str(0 if log is None else log.process)
    names = {name: getattr(options, name) for name in ("output", "json", "html")}
    return replace(options, **{k: v.replace("%p", number) for k, v in names.items() if v})


def _write(
    log: ExplainLog | None,
    children: Sequence[ChildProcess],
    script: str,
    options: ExplainOptions,
    own_stdout: int | None,
) -> None:
    if log is not None:
        log.children = children
    if options.json != "-" or options.output:
        if log is not None:
            text = log.table(all_rows=options.all_rows, plain=bool(options.output))
        else:
            from ..tools.explain.presentation import about_children

            text = f"jxc explain: the program did not import jax\n{about_children(children)}"
        if options.output:
            write_output(text, options.output)
        else:
            click.echo(text, err=True, nl=False)
    if options.json:
        lists = ("compilations", "rows", "reasons", "effects", "failures")
        empty: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "process": 0, "compiled": 0}
        empty |= {"seconds": 0.0, "hits": {}, "children": [c.as_json() for c in children]}
        found = log.as_json() if log is not None else empty | {name: [] for name in lists}
        write_program_json({"script": script, **found}, options.json, own_stdout)
    if options.html and log is not None:
        from ..tools.explain.page import write_page

        for note in write_page(options.html, log.compilations, script):
            click.echo(f"jxc: note: {note}", err=True)

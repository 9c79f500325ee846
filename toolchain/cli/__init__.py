"""The command line: one file per verb, imported when the verb is called.

Verbs parse, call the library and print. `main` turns what they raise into messages and exit codes.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import shlex
import sys
import traceback
import warnings
from typing import TextIO

import click

from ..distribution import CLASH, DISTRIBUTION, versions
from ..errors import JxcError, UsageError, did_you_mean
from ..source import JxcWarning

_GROUPS = {
    "For your program": {
        "explain": "Run a program and explain what JAX compiled.",
        "profile": "Run a program and report its measured time by line.",
        "doctor": "Find what makes a function slow, large or slow to compile.",
        "report": "Report memory, kernels and collectives on any target.",
        "fit": "Find a plan, or shardings, with which a program fits.",
        "explore": "See a program at each stage, live in the browser.",
        "diff": "Compare two programs, by line of Python.",
        "tune": "Find the fastest pipeline for a function; list what O3 found.",
    },
    "For passes": {
        "lower": "Trace a Python function and print its module.",
        "opt": "Run passes on a module.",
        "compile": "Compile a module with XLA; run it, time it, look inside.",
        "run": "Run an executable that `jxc compile --save` wrote.",
        "verify": "Check that a rewrite preserves the results of a module.",
        "reduce": "Shrink a module on which a command fails.",
        "new-pass": "Write a rule or pass with its tests, to start from.",
        "test": "Run lit tests of passes, or write their CHECK lines.",
    },
    "For tools": {
        "translate": "Convert a module to another form, or interpret it.",
        "filecheck": "Match a text against the CHECK lines of a file.",
        "targets": "List the hardware that this machine can compile for.",
        "calibrate": "Measure this machine for the prices of rewrites.",
        "lsp": "Serve MLIR to an editor: diagnostics, hover, definitions.",
        "completion": "Print the script for completion in bash, zsh or fish.",
    },
}
_VERBS = {name: help for group in _GROUPS.values() for name, help in group.items()}


class _LazyGroup(click.Group):
    """A group that imports the command of a verb from `jxc.cli.<verb>` when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f".{name}", __package__)
        command: click.Command = getattr(module, f"{name}_command")
        if "_JXC_COMPLETE" not in os.environ:
            return command
        completion = importlib.import_module(".completion", __package__)
        completed: click.Command = completion.add_completion(command)
        return completed

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb of a command line, its command, and the rest.

        Raises:
            UsageError: there is no such verb.
        """
        word = args[0]
        if word in _VERBS or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if word.startswith("-"):
            ctx.fail(f"No such option {word!r}.")
        raise UsageError(f"no verb {word!r}.{_offer(word)} `jxc --help` lists them")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, verbs in _GROUPS.items():  # from the table, which imports no verb
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()))


def _offer(word: str) -> str:
    """What to write in place of a word that is no verb."""
    if word.endswith((".mlir", ".mlirbc", ".hlo")):
        return f" To run passes on a module: jxc opt -O2 {shlex.quote(word)}."
    if word.endswith(".py"):
        return f" To run a program: jxc explain {shlex.quote(word)}."
    if _FUNCTION.fullmatch(word):
        return f" To lower a function: jxc lower {shlex.quote(word)} SPEC..."
    return did_you_mean(word, list(_VERBS))


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value:
        return
    click.echo(", ".join(f"{name} {version}" for name, version in versions().items()))
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions of jxc, jax and jaxlib.",
)
def cli() -> None:
    """\b
    Inspect, rewrite, compile and debug the programs JAX makes of functions:
    jxc lower f.py:step 'f32[8,128]' | jxc opt -O2 | jxc compile --run

    Exit codes: 0 success; 1 the work or a check failed; 2 the command line is invalid, or a file
    cannot be read; 3 a target or its compiler is missing; 4 a bug in jxc, MLIR or XLA.
    """


class ModuleCommand(click.Command):
    """A verb that takes modules; if it is given a function, the error says how to lower it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line as click does.

        Raises:
            UsageError: a function is given in place of a module.
        """
        values, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
        given = [values.get(each.name) for each in self.params if isinstance(each, click.Argument)]
        words = [each for each in (*given, *rest) if isinstance(each, str)]
        if not words or not _FUNCTION.fullmatch(words[0]) or os.path.exists(words[0]):
            return super().parse_args(ctx, args)
        options = list(args)
        for word in words:
            options.remove(word)
        verb = ctx.info_name
        specs = shlex.join(words[1:]) or "SPEC..."
        rest = [*(options or ["-O2"] * (verb == "opt")), "-"]
        raise UsageError(
            f"{words[0]} is a function, and `jxc {verb}` takes a module: lower it first\n"
            f"  jxc lower {shlex.quote(words[0])} {specs} | jxc {verb} {shlex.join(rest)}"
        )


_FUNCTION = re.compile(r"[^:]+\.py:[\w.]+|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def print_error(error: JxcError) -> None:
    """Print an error and its notes to stderr."""
    click.echo(f"jxc: error: {error}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"  {note}", err=True)


def _end_of_output(error: OSError) -> None:
    """Exit after standard output failed: its reader has closed the pipe, or the disk is full."""
    if error.errno not in (errno.EPIPE, errno.ENOSPC):
        raise error
    if sys.stdout is not None:  # Python flushes it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.ENOSPC:
        click.echo(f"jxc: error: standard output: {error.strerror}", err=True)
        sys.exit(1)
    sys.exit(0)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning of jxc that is about no line of a user's as a sentence; others as Python."""
    if issubclass(category, JxcWarning) and filename in (sys.argv[0], "<string>", "<unknown>"):
        click.echo(f"jxc: warning: {message}", err=True)
    else:
        _show_of_python(message, category, filename, lineno, file, line)


_show_of_python = warnings.showwarning


def main() -> None:
    """Run the `jxc` command; exit with 0 or the exit code of the error."""
    package = sys.modules[__name__.partition(".")[0]]
    if getattr(package, "DISTRIBUTION", None) != DISTRIBUTION:
        sys.exit(f"jxc: error: {CLASH.format(folder=os.path.dirname(package.__path__[0]))}")
    warnings.showwarning = _show_warning
    try:
        code = cli.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except click.Abort:
        click.echo("jxc: interrupted", err=True)
        sys.exit(130)
    except JxcError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except OSError as error:
        _end_of_output(error)
    except SystemExit as ended:
        # click exits with 1 when the reader of standard output has closed the pipe, which is no
        # failure. It then has wrapped the stream in a class that some versions name with "_".
        is_closed = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        sys.exit(0 if is_closed else ended.code)
    except Exception:
        traceback.print_exc()
        click.echo("jxc: internal error: this is a bug in jxc, not in your program", err=True)
        sys.exit(4)

"""The command line: thin verbs that parse, call and print. One file per verb, imported on use."""

from __future__ import annotations

import errno
import importlib
import os
import re
import shlex
import sys
import traceback

import click

from ..errors import JxcError, UsageError

_VERBS = {
    "lower": "Trace a Python function and print it as a module.",
    "opt": "Run passes on a module.",
    "compile": "Hand a module to XLA; run it, time it, look inside.",
    "explain": "Run a program, and say why JAX compiled what it did.",
    "run": "Load and run what `jxc compile --save` wrote.",
    "doctor": "Find what makes a function slow, large or slow to compile.",
    "targets": "List what can be compiled for here.",
    "verify": "Check that a rewrite keeps a module's meaning.",
    "diff": "Say what two programs differ in, by line of Python.",
    "reduce": "Shrink a module while a command fails on it.",
    "calibrate": "Measure this machine, once, for the decisions of passes.",
}


class _LazyGroup(click.Group):
    """A group whose commands live in `jxc.cli.<verb>` and are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        module = importlib.import_module(f".{cmd_name}", __package__)
        return getattr(module, f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # from the table: listing must not import every verb
            formatter.write_dl(list(_VERBS.items()))


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value:
        return
    from importlib.metadata import version

    names = ("jxc", "jax", "jaxlib")
    click.echo(", ".join(f"{name} {version(name)}" for name in names))
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
    """Open the middle of JAX's compiler.

    \b
    jxc lower f.py:step 'f32[8,128]' | jxc opt -O2 | jxc compile --run
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
        if words and _FUNCTION.fullmatch(words[0]) and not os.path.exists(words[0]):
            raise UsageError(_lower_first(str(ctx.info_name), words, args))
        return super().parse_args(ctx, args)


_FUNCTION = re.compile(r"[^:]+\.py:[\w.]+|[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def _lower_first(verb: str, words: list[str], args: list[str]) -> str:
    """The error for a function in place of a module, with the user's own words in the remedy."""
    options = list(args)
    for word in words:
        options.remove(word)
    specs = shlex.join(words[1:]) or "SPEC..."
    rest = shlex.join([*(options or ["-O2"] * (verb == "opt")), "-"])
    return (
        f"{words[0]} is a function, and `jxc {verb}` takes a module: lower it first\n"
        f"  jxc lower {shlex.quote(words[0])} {specs} | jxc {verb} {rest}"
    )


def report(error: JxcError) -> None:
    """Print an error and its notes to stderr, as the command line shows every failure."""
    click.echo(f"jxc: error: {error}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"  {note}", err=True)


def _end_of_output(error: OSError) -> None:
    """Leave where standard output takes no more: its reader has seen enough, or a disk is full."""
    if error.errno not in (errno.EPIPE, errno.ENOSPC):
        raise error
    if sys.stdout is not None:  # so that Python does not try to flush it once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error.errno == errno.ENOSPC:
        click.echo(f"jxc: error: standard output: {error.strerror}", err=True)
        sys.exit(1)
    sys.exit(0)


def main() -> None:
    """The `jxc` command: exit code 0, or the code of the error that ended it."""
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
        report(error)
        sys.exit(error.exit_code)
    except OSError as error:
        _end_of_output(error)
    except SystemExit as ended:
        # click ends with 1 where the reader of standard output has left; that is no failure.
        # It wraps the stream then, by a class whose name has an underscore in some versions.
        reader_left = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
        sys.exit(0 if reader_left else ended.code)
    except Exception:
        traceback.print_exc()
        click.echo("jxc: internal error: this is a bug of jxc, not of your program", err=True)
        sys.exit(4)

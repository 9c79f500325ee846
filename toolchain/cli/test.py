"""`jxc test`: lit and FileCheck on cases in any folder."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import UsageError
from ..testing.lit_suite import run_lit


@click.command(short_help="Run lit tests of passes.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--load-pass",
    "load",
    multiple=True,
    metavar="FILE.py[:NAME]",
    help="Make the rules and passes of a Python file available in all RUN lines.",
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Run N cases at once.", metavar="N")
@click.option("-v", "--verbose", is_flag=True, help="Name each case that passes, too.")
@click.option("--filter", "pattern", metavar="REGEX", help="Run the cases whose path matches.")
@click.pass_context
def test_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    load: tuple[str, ...],
    jobs: int | None,
    verbose: bool,
    pattern: str | None,
) -> None:
    """Run the lit tests in PATH, files or folders; in the current folder by default.

    A case is a .mlir or .test file, or a .py file, with lines `RUN: COMMAND`. COMMAND can use jxc,
    filecheck, not, %s (the case), %S (its folder) and %t (a temporary file). A folder with a
    lit.cfg.py, in it or above, is run with that.

    \b
    // RUN: jxc opt -p my-rule %s | filecheck %s
    """
    arguments = ["-v", *(["--succinct"] if not verbose else [])]
    arguments += [f"-j{jobs}"] if jobs else []
    arguments += ["--filter", pattern] if pattern else []
    done = run_lit([Path(path) for path in paths or (".",)], arguments, load=absolute(load))
    ctx.exit(done.returncode)


def absolute(load: tuple[str, ...]) -> list[str]:
    """The arguments of `--load-pass` with absolute paths, since RUN lines have another folder.

    Raises:
        UsageError: there is no such file.
    """
    parts = [argument.partition(":") for argument in load]
    if missing := [file for file, _, _ in parts if not Path(file).is_file()]:
        raise UsageError(f"--load-pass: no file {missing[0]!r}")
    return [f"{Path(file).resolve()}{colon}{name}" for file, colon, name in parts]

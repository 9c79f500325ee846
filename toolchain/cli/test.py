"""`jxc test`: lit and FileCheck on cases in any folder, and the CHECK lines of a new case."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from ..errors import UsageError
from ..testing.lit_suite import run_lit


@click.command(short_help="Run lit tests of passes, or write their CHECK lines.")
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
@click.option(
    "--update",
    is_flag=True,
    help="Write the CHECK lines of the cases, from the output of their RUN lines.",
)
@click.option(
    "-p",
    "--passes",
    metavar="PIPELINE",
    help="With --update: write a RUN line with these passes into cases that have none.",
)
@click.pass_context
def test_command(
    ctx: click.Context,
    paths: tuple[str, ...],
    load: tuple[str, ...],
    jobs: int | None,
    verbose: bool,
    pattern: str | None,
    update: bool,
    passes: str | None,
) -> None:
    """Run the lit tests in PATH, files or folders; in the current folder by default.

    A case is a .mlir or .test file, or a .py file, with lines `RUN: COMMAND`. COMMAND can use jxc,
    filecheck, not, %s (the case), %S (its folder) and %t (a temporary file). A folder with a
    lit.cfg.py, in it or above, is run with that.

    \b
    // RUN: jxc opt -p my-rule %s | filecheck %s

    --update writes the CHECK lines of the cases that are named, and of those in a folder whose
    CHECK lines were written before. Lines that you wrote yourself are not changed.
    """
    if passes is not None and not update:
        raise UsageError("-p needs --update: a case that has RUN lines names its passes there")
    if update:
        _update([Path(path) for path in paths], load, passes)
        return
    arguments = ["-v", *(["--succinct"] if not verbose else [])]
    arguments += [f"-j{jobs}"] if jobs else []
    arguments += ["--filter", pattern] if pattern else []
    done = run_lit([Path(path) for path in paths or (".",)], arguments, load=absolute(load))
    ctx.exit(done.returncode)


def _update(paths: list[Path], load: tuple[str, ...], passes: str | None) -> None:
    from ..testing.check_lines import NOTE, update
    from ..testing.lit_suite import cases_in

    if not paths:
        raise UsageError("--update: expected the cases or folders to update")
    cases: list[Path] = []
    for path in paths:
        if path.is_dir():
            cases += [each for each in cases_in(path) if NOTE.encode() in each.read_bytes()]
        else:
            cases.append(path)
    if not cases:
        raise UsageError("--update: no case in the folder has CHECK lines that jxc wrote; name one")
    for case in cases:
        click.echo(update(case, absolute(load), _run_line(case, load, passes)), err=True)


def _run_line(case: Path, load: tuple[str, ...], passes: str | None) -> str:
    """The command of a case that has none; empty if no passes are named."""
    if passes is None:
        return ""
    files = [shlex.quote(f"%S/{os.path.relpath(file, case.parent)}") for file in load]
    given = "".join(f"--load-pass {file} " for file in files)
    return f"jxc opt {given}-p {shlex.quote(passes)} %s | filecheck %s"


def absolute(load: tuple[str, ...]) -> list[str]:
    """The arguments of `--load-pass` with absolute paths, since RUN lines have another folder.

    Raises:
        UsageError: there is no such file.
    """
    parts = [argument.partition(":") for argument in load]
    if missing := [file for file, _, _ in parts if not Path(file).is_file()]:
        raise UsageError(f"--load-pass: no file {missing[0]!r}")
    return [f"{Path(file).resolve()}{colon}{name}" for file, colon, name in parts]

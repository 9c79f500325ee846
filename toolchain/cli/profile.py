"""`jxc profile`: run a program, and report the measured time by line of Python."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import click

from ..display.progress import progress
from ..events.script import UserProgram, flush
from ..files import write_output
from .options import ROWS, SECONDS, flag, option, options_of
from .user_program import (
    absolute,
    absolute_file,
    open_streams,
    require_distinct,
    run_program,
    write_program_json,
)

if TYPE_CHECKING:
    from ..tools.profile.profile import Grouping, Profile
    from ..tools.profile.recording import ProfileRecorder

GROUPINGS = ("line", "layer", "kernel", "program")


@dataclass(frozen=True)
class ProfileOptions:
    """The options of `jxc profile`; the absolute paths of files, or "-" for stdout."""

    is_module: bool = flag("-m", help="SCRIPT is a module, as for `python -m`.")
    by: str = option(
        type=click.Choice(GROUPINGS), default="line", show_default=True, help="Rows of the table."
    )
    top: int | None = option(
        type=ROWS, default=12, show_default=True, metavar="N|all", help="Print N rows."
    )
    seconds: float = option(
        type=SECONDS,
        default=60.0,
        show_default=True,
        metavar="S",
        help="Record the first S seconds after the first program is compiled.",
    )
    events: int = option(
        type=click.IntRange(min=1),
        default=300_000,
        show_default=True,
        metavar="N",
        help="Record about N events, which are in memory: 1.3 KB for each at the end. A program "
        "with very short kernels has a million a second.",
    )
    no_o2: bool = flag(
        help="Do not measure what O2 would change and what recording cost, which compiles and runs "
        "programs again."
    )
    output: str | None = option(
        "-o", metavar="FILE", callback=absolute, help="Write the table to FILE instead of stderr."
    )
    json: str | None = option(
        metavar="FILE",
        callback=absolute,
        help="Write a JSON object to FILE. With '-' it goes to stdout, and the program's own "
        "output to stderr.",
    )
    html: str | None = option(
        metavar="FILE",
        callback=absolute_file,
        help="Write an HTML page with a timeline, a flame graph and the source with times.",
    )
    perfetto: str | None = option(
        metavar="FILE",
        callback=absolute_file,
        help="Write the trace for ui.perfetto.dev; with .gz at the end of its name, compressed.",
    )

    @property
    def files(self) -> dict[str, str | None]:
        """What is written besides the table on stderr, by option."""
        return {
            "-o": self.output,
            "--json": self.json,
            "--html": self.html,
            "--perfetto": self.perfetto,
        }


@click.command(
    short_help="Run a program, and report its measured time by line.",
    context_settings={"allow_interspersed_args": False},
)
@options_of(ProfileOptions)
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def profile_command(script: str, args: tuple[str, ...], **flags: Any) -> None:
    """Run SCRIPT with ARGS as `python` would, and report where its time goes.

    \b
    jxc profile train.py --epochs 1
    jxc profile --by layer train.py
    jxc profile --json profile.json -m mypackage.train
    jxc profile --html profile.html train.py

    When the program has ended (normally, by an error or by Ctrl-C), the wall clock is divided into
    warm-up (imports and compilation) and running: kernels on a device, and what the host did while
    none ran. A table shows the time by line of Python.

    The program keeps its own output and exit code. Options of jxc go before SCRIPT.
    """
    options = ProfileOptions(**flags)
    require_distinct(options.files)
    program = UserProgram(script, args, is_module=options.is_module)
    if options.html:  # before the program runs
        from ..pages import require_packages

        require_packages()
    from ..tools.profile.recording import ProfileRecorder

    recorder = ProfileRecorder(
        os.path.basename(script), options.seconds, most_events=options.events
    )
    code, own_stdout = run_program(program, recorder.listen, options.json)
    recorder.stop()
    flush()
    with open_streams():
        _report(recorder, options, own_stdout)
    sys.exit(code)


def _report(recorder: ProfileRecorder, options: ProfileOptions, own_stdout: int | None) -> None:
    if "jax" not in sys.modules:
        click.echo(f"jxc profile: {_NO_JAX}", err=True)
        if any(options.files.values()) and _can_import_jax():
            profile = recorder.finish()
            profile = replace(profile, notes=[*profile.notes, _NO_JAX])
            write_files(profile, options, own_stdout)
        return
    with progress("reading the trace") as show:
        profile = recorder.finish(show, with_o2=not options.no_o2)
    write_profile(profile, options, own_stdout)


_NO_JAX = "the program did not import jax"


def _can_import_jax() -> bool:
    """Whether jax can be imported, which the profile needs; the program may have failed at that."""
    try:
        import jax  # noqa: F401
    except Exception as error:
        click.echo(
            f"jxc profile: no file is written, since jax cannot be imported: {error}", err=True
        )
        return False
    return True


def write_profile(profile: Profile, options: ProfileOptions, own_stdout: int | None) -> None:
    """Write the table to stderr, unless it goes to a file or JSON to stdout; then the files."""
    if options.json != "-" and not options.output:
        click.echo(_table(profile, options), err=True, nl=False)
    write_files(profile, options, own_stdout)


def _table(profile: Profile, options: ProfileOptions) -> str:
    from ..tools.profile.presentation import as_text

    return as_text(
        profile, cast("Grouping", options.by), most=options.top, plain=bool(options.output)
    )


def write_files(profile: Profile, options: ProfileOptions, own_stdout: int | None) -> None:
    """Write the files that the options name."""
    if options.output:
        write_output(_table(profile, options), options.output)
    if options.html:
        from ..tools.profile.page import write_profile_page

        with progress("writing the page"):
            write_profile_page(options.html, profile)
    if options.perfetto:
        from ..tools.profile.perfetto import write_perfetto

        with progress("writing the trace"):
            write_perfetto(options.perfetto, profile)
    if options.json:
        write_program_json(profile.as_json(), options.json, own_stdout)

"""`jxc doctor`: a linter for programs. JAX is imported only after the request has been checked."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ..display.progress import progress
from ..errors import UsageError
from ..files import write_json
from ..frontend import LowerRequest
from .options import fit_command, flag, lowering_options, option, options_of, read_options
from .process import stay_on_cpu

if TYPE_CHECKING:
    from ..backend.targets import Target


@dataclass(frozen=True)
class DoctorOptions:
    """The options of `jxc doctor`, under the names of their flags."""

    hardware: str = option(
        "--target",
        default="cpu",
        show_default=True,
        metavar="NAME",
        help="The target hardware, such as gpu:h100 or tpu:v5e:2x2; `jxc targets` lists it.",
    )
    only: str | None = option(metavar="NAME,...", help="Look for these findings only.")
    ignore: str | None = option(metavar="NAME,...", help="Do not look for these findings.")
    no_compile: bool = flag(
        help="Skip the checks that read the compiled program. Where rules of O2 apply, the others "
        "take several times the program's own compile time."
    )
    profile: str | None = option(
        metavar="FILE",
        help="Order findings by the measured seconds of their lines in FILE, the object of "
        "`jxc profile --json`, which bound the estimated costs.",
    )
    list_them: bool = flag("--list", help="Explain each finding, and stop.")
    as_json: bool = flag("--json", help="Print the result as one JSON object.")


@click.command(short_help="Find what makes a function slow, large or slow to compile.")
@click.argument("target", required=False)
@lowering_options
@options_of(DoctorOptions)
def doctor_command(target: str | None, **flags: Any) -> None:
    """Find what costs time or memory in the function TARGET, for arguments like SPECs (see
    `jxc lower --help`). Each finding has its line, its cost and the fix.

    \b
    jxc doctor model.py:step '{"w": f32[784,256]}' 'f32[8,784]'
    jxc doctor model.py:step --args model.py:make --target tpu:v5e:2x2
    jxc doctor model.py:step --args model.py:make --ignore unrolled-layers
    jxc doctor model.py:step --args model.py:make --profile profile.json

    A comment on the line silences a finding: `# jxc: ignore[gather-as-slice]`. The exit code is 1
    if there are findings. Where rules of O2 apply, the program is compiled with and without them,
    which takes several times its own compile time. On this machine's CPU it is also run, to time
    it. --no-compile avoids both.
    """
    os.environ.pop("JXC_PIPELINE", None)  # the program is examined as it is written
    options = read_options(DoctorOptions, flags)
    if options.list_them:
        _list_checks(options.as_json)
        return
    if target is None:
        raise UsageError("expected a TARGET such as file.py:function, or --list")
    request = read_options(LowerRequest, flags, target=target)
    hardware = _find_target(options)
    if not (hardware.is_present and hardware.kind != "cpu"):
        stay_on_cpu()
    _examine(replace(request, platform=hardware.platform), hardware, options)


def _find_target(options: DoctorOptions) -> Target:
    from ..backend.targets import find_targets, require

    targets = find_targets(options.hardware)
    if len(targets) > 1:
        raise UsageError(f"--target {options.hardware}: expected one target, found {len(targets)}")
    if not options.no_compile:
        require(targets[0])
    return targets[0]


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _examine(request: LowerRequest, hardware: Target, options: DoctorOptions) -> None:
    from ..backend.lowered import lowered_from_request
    from ..events.profile_file import read_profile
    from ..tools.doctor import all_checks, choose_checks, examine, program_of
    from ..tools.doctor.measured import with_profile
    from ..tools.doctor.run import quiet_about_donation
    from ..tools.doctor.source_code import unknown_names

    checks = choose_checks(_names(options.only), _names(options.ignore))
    profile = read_profile(options.profile) if options.profile else None
    working = progress(f"examining {request.target}")
    with quiet_about_donation(), contextlib.redirect_stdout(sys.stderr), working:
        lowered, args, kwargs = lowered_from_request(request)
        program = program_of(
            lowered, hardware, may_compile=not options.no_compile, given=(args, kwargs)
        )
        found = examine(program, checks)
    if profile is not None:
        found = with_profile(found, profile)
    places = [each.place for each in (*found, *found.silenced)]
    for warning in unknown_names(places, list(all_checks())):
        click.echo(f"jxc: warning: {warning}", err=True)
    if options.as_json:
        write_json({"schema_version": 1, "program": request.target, **found.as_json()}, "-")
    else:
        click.echo(found.as_text(lambda text: _style(text, bold=True, fg="yellow")))
        if any(each.name == "exceeds-memory" for each in found):
            click.echo(fit_command(request, hardware.name, hardware.device.memory_bytes))
    if found:
        sys.exit(1)


def _list_checks(as_json: bool) -> None:
    from ..tools.doctor import all_checks
    from ..tools.doctor.run import wrap

    checks = all_checks().values()
    if as_json:
        listed = [{"name": c.name, "compiles": c.needs_compiler, "doc": c.doc} for c in checks]
        write_json({"schema_version": 1, "findings": listed}, "-")
        return
    for number, each in enumerate(checks):
        click.echo("\n" * (number > 0) + _style(each.name, bold=True))
        for paragraph in each.doc.split("\n\n"):
            click.echo(wrap(" ".join(paragraph.split())))
        if each.needs_compiler:
            click.echo(wrap("Needs the compiler."))


def _style(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)

"""`jxc doctor`: a linter for programs. JAX is imported only after the request has been checked."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from ..files import write_output
from .lower import lowering_options
from .process import stay_on_cpu

if TYPE_CHECKING:
    from ..backend.targets import Target


@click.command(short_help="Find what makes a function slow, large or slow to compile.")
@click.argument("target", required=False)
@lowering_options
@click.option(
    "--target",
    "hardware",
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="The target hardware, such as gpu:h100 or tpu:v5e:2x2; `jxc targets` lists it.",
)
@click.option("--only", metavar="NAME,...", help="Look for these findings only.")
@click.option("--ignore", metavar="NAME,...", help="Do not look for these findings.")
@click.option(
    "--no-compile",
    is_flag=True,
    help="Skip the checks that read the compiled program. Where rules of O2 apply, the others "
    "take several times the program's own compile time.",
)
@click.option("--list", "list_them", is_flag=True, help="Explain each finding, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def doctor_command(
    target: str | None,
    hardware: str,
    only: str | None,
    ignore: str | None,
    no_compile: bool,
    list_them: bool,
    as_json: bool,
    **request: Any,
) -> None:
    """Find what costs time or memory in the function TARGET, for arguments like SPECs (see
    `jxc lower --help`). Each finding has its line, its cost and the fix.

    \b
    jxc doctor model.py:step '{"w": f32[784,256]}' 'f32[8,784]'
    jxc doctor model.py:step --args model.py:make --target tpu:v5e:2x2
    jxc doctor model.py:step --args model.py:make --ignore unrolled-layers

    A comment on the line silences a finding: `# jxc: ignore[gather-as-slice]`. The exit code is 1
    if there are findings. Where rules of O2 apply, the program is compiled with and without them,
    which takes several times its own compile time; --no-compile avoids it.
    """
    os.environ.pop("JXC_PIPELINE", None)  # the program is examined as it is written
    if list_them:
        _list_checks(as_json)
        return
    if target is None:
        raise UsageError("expected a TARGET such as file.py:function, or --list")
    found_target = _find_target(hardware, request["platform"], needs_compiler=not no_compile)
    if not (found_target.is_present and found_target.kind != "cpu"):
        stay_on_cpu()
    request["platform"] = request["platform"] or found_target.platform
    _examine(target, found_target, _names(only), _names(ignore), not no_compile, as_json, request)


def _find_target(hardware: str, platform: str | None, *, needs_compiler: bool) -> Target:
    from ..backend.targets import find_targets, require

    targets = find_targets(hardware)
    if len(targets) > 1:
        raise UsageError(f"--target {hardware}: expected one target, found {len(targets)}")
    if platform not in (None, targets[0].platform):
        raise UsageError(
            f"--platform {platform} contradicts --target {hardware}, which is lowered for "
            f"{targets[0].platform}: leave --platform out"
        )
    if needs_compiler:
        require(targets[0])
    return targets[0]


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _examine(
    name: str,
    hardware: Target,
    only: tuple[str, ...],
    ignore: tuple[str, ...],
    may_compile: bool,
    as_json: bool,
    request: dict[str, Any],
) -> None:
    from ..backend.lowered import lowered_from_request
    from ..frontend.request import LowerRequest
    from ..tools.doctor import all_checks, choose_checks, examine, program_of
    from ..tools.doctor.run import quiet_about_donation
    from ..tools.doctor.source_code import unknown_names

    checks = choose_checks(only, ignore)
    with quiet_about_donation(), contextlib.redirect_stdout(sys.stderr):
        lowered, args, kwargs = lowered_from_request(LowerRequest(target=name, **request))
        program = program_of(lowered, hardware, may_compile=may_compile, given=(args, kwargs))
        found = examine(program, checks)
    places = [each.place for each in (*found, *found.silenced)]
    for warning in unknown_names(places, list(all_checks())):
        click.echo(f"jxc: warning: {warning}", err=True)
    if as_json:
        result = {"schema_version": 1, "program": name, **found.as_json()}
        write_output(json.dumps(result, indent=2) + "\n", "-")
    else:
        click.echo(found.as_text(lambda text: _style(text, bold=True, fg="yellow")))
    if found:
        sys.exit(1)


def _list_checks(as_json: bool) -> None:
    from ..tools.doctor import all_checks
    from ..tools.doctor.run import wrap

    checks = all_checks().values()
    if as_json:
        listed = [{"name": c.name, "compiles": c.needs_compiler, "doc": c.doc} for c in checks]
        write_output(json.dumps({"schema_version": 1, "findings": listed}, indent=2) + "\n", "-")
        return
    for number, each in enumerate(checks):
        click.echo("\n" * (number > 0) + _style(each.name, bold=True))
        for paragraph in each.doc.split("\n\n"):
            click.echo(wrap(" ".join(paragraph.split())))
        if each.needs_compiler:
            click.echo(wrap("Needs the compiler."))


def _style(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)

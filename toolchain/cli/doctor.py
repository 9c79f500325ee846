"""`jxc doctor`: a linter of programs. JAX is imported only once the request has been understood."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
from typing import Any

import click

from ..errors import UsageError
from ..files import write_output
from .environment import stay_on_cpu
from .lower import lowering_options


@click.command(short_help="Find what makes a function slow, large or slow to compile.")
@click.argument("target", required=False)
@lowering_options
@click.option(
    "--target",
    "hardware",
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="What it is looked at for, such as gpu:h100 or tpu:v5e:2x2; `jxc targets` lists them.",
)
@click.option("--only", metavar="NAME,...", help="Look for these findings alone.")
@click.option("--ignore", metavar="NAME,...", help="Do not look for these.")
@click.option(
    "--no-compile", is_flag=True, help="Leave out what only the compiled program tells: quicker."
)
@click.option("--list", "list_them", is_flag=True, help="Explain each finding, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
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
    """Look for what costs in the function TARGET with arguments like SPECs, as `jxc lower` takes
    them: each finding with its line, its cost and the fix.

    \b
    jxc doctor model.py:step '{"w": f32[784,256]}' 'f32[8,784]'
    jxc doctor model.py:step --args model.py:make --target tpu:v5e:2x2
    jxc doctor model.py:step --args model.py:make --ignore unrolled-layers

    A comment on the line takes a finding back: `# jxc: ignore[gather-as-slice]`. The exit code is 1
    where something was found.
    """
    os.environ.pop("JXC_PIPELINE", None)  # what is looked at here is the program as it is written
    if list_them:
        _list(as_json)
        return
    if target is None:
        raise UsageError("expected a TARGET such as file.py:function, or --list")
    found_target = _check(hardware, request, no_compile)
    if not (found_target.is_present and found_target.kind != "cpu"):
        stay_on_cpu()
    request["platform"] = request["platform"] or found_target.platform
    _examine(target, found_target, _names(only), _names(ignore), not no_compile, as_json, request)


def _check(hardware: str, request: dict[str, Any], no_compile: bool) -> Any:
    from ..backend.targets import find_targets, require

    targets = find_targets(hardware)
    if len(targets) > 1:
        raise UsageError(f"--target {hardware}: expected one target, found {len(targets)}")
    if request["platform"] not in (None, targets[0].platform):
        raise UsageError(
            f"--platform {request['platform']} is not what --target {hardware} is lowered for: "
            "leave it out"
        )
    if not no_compile:
        require(targets[0])
    return targets[0]


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _examine(
    name: str,
    hardware: Any,
    only: tuple[str, ...],
    ignore: tuple[str, ...],
    may_compile: bool,
    as_json: bool,
    request: dict[str, Any],
) -> None:
    from ..backend.lowered import lowered_from_request
    from ..frontend import LowerRequest
    from ..tools.doctor import all_checks, choose_checks, examine, program_of
    from ..tools.doctor.run import quiet_about_donation
    from ..tools.doctor.silence import unknown_names

    checks = choose_checks(only, ignore)
    with quiet_about_donation(), contextlib.redirect_stdout(sys.stderr):
        lowered, args, kwargs = lowered_from_request(LowerRequest(target=name, **request))
        program = program_of(lowered, hardware, may_compile=may_compile, given=(args, kwargs))
        found = examine(program, checks)
    for warning in unknown_names((*found.findings, *found.silenced), list(all_checks())):
        click.echo(f"jxc: warning: {warning}", err=True)
    if as_json:
        whole = {"schema_version": 1, "program": name, **found.as_json()}
        write_output(json.dumps(whole, indent=2) + "\n", "-")
    else:
        _print(found)
    if found.findings:
        sys.exit(1)


def _list(as_json: bool) -> None:
    from ..tools.doctor import all_checks

    checks = all_checks().values()
    if as_json:
        told = [{"name": c.name, "compiles": c.needs_compiler, "doc": c.doc} for c in checks]
        write_output(json.dumps({"schema_version": 1, "findings": told}, indent=2) + "\n", "-")
        return
    for number, each in enumerate(checks):
        click.echo("\n" * (number > 0) + _style(each.name, bold=True))
        for paragraph in each.doc.split("\n\n"):
            _echo(" ".join(paragraph.split()), "  ")
        if each.needs_compiler:
            _echo("Needs the compiler.", "  ")


def _print(found: Any) -> None:
    """The findings as text: the line, what was found, what it costs, what to do."""
    for each in found.findings:
        where = f"{each.place}: " if each.place else ""
        click.echo(where + _style(each.name, bold=True, fg="yellow"))
        if each.place and each.place.text:
            click.echo(each.place.quote())
        _echo(f"{each.message}.", "  ")
        if str(each.cost):
            _echo(f"cost: {each.cost}", "  ", hanging=6)
        _echo(f"fix: {each.fix}", "  ", hanging=5)
        click.echo("")
    click.echo(_summary(found))


def _style(text: str, **how: Any) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, **how)


def _summary(found: Any) -> str:
    count = len(found.findings)
    said = f"{count} finding{'s' * (count != 1)}" if count else "nothing found"
    ran = len(found.ran)
    parts = [f"{said} for {found.target} by {ran} check{'s' * (ran != 1)}"]
    if found.silenced:
        parts.append(f"{len(found.silenced)} silenced")
    if found.skipped:
        why = next(iter(found.skipped.values()))
        parts.append(f"{len(found.skipped)} checks left out ({why})")
    return "; ".join(parts)


def _echo(text: str, indent: str, hanging: int = 0) -> None:
    lines = textwrap.wrap(
        text,
        width=min(_width(), 100),
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
    click.echo("\n".join(lines))


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns

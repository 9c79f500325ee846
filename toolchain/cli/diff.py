"""`jxc diff`: compare two programs by op and line, and what a compiler makes of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from tempfile import mkdtemp
from typing import Any

import click

from ..display.progress import progress
from ..errors import JxcError, UsageError
from ..files import write_json
from ..tools.diff.sides import LOWERING_OPTIONS, DiffSide, make_sides
from .options import lowering_options
from .process import in_child, stay_on_cpu

_SAME, _DIFFERENT, _ERROR = 0, 1, 2


def _in_order(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    """Collect pipelines in the order of the command line, from -O and -p alike."""
    prefix = "O" if param.name == "level" else ""
    ctx.meta.setdefault("pipelines", []).extend(f"{prefix}{each}" for each in value)
    return value


@click.command(short_help="Compare two programs by line of Python.")
@click.argument("first", metavar="A [B]")
@lowering_options
@click.option(
    "-O",
    "level",
    type=click.Choice(["0", "1", "2", "3"]),
    multiple=True,
    callback=_in_order,
    help="Run the passes of a level on both programs; given twice, on A and on B: -O0 -O2.",
)
@click.option(
    "-p",
    "--passes",
    multiple=True,
    callback=_in_order,
    metavar="PIPELINE",
    help="The same for a pipeline: 'a,b{k=v}'. By default, no passes run.",
)
@click.option("--load-pass", multiple=True, metavar="FILE.py[:NAME]", help="As in `jxc opt`.")
@click.option(
    "--target",
    default="cpu",
    show_default=True,
    metavar="NAME[,NAME]",
    help="The target of both programs; two targets, of A and of B. See `jxc targets`.",
)
@click.option(
    "--stage",
    type=click.Choice(["stablehlo", "hlo"]),
    default="stablehlo",
    show_default=True,
    help="Which ops are compared: hlo means optimized HLO.",
)
@click.option("--no-compile", is_flag=True, help="Compare only the modules, which is faster.")
@click.option("--all", "whole", is_flag=True, help="Print every line that differs.")
@click.option("--html", metavar="FILE", help="Write an HTML page with both programs side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
@click.pass_context
def diff_command(ctx: click.Context, /, first: str, **flags: Any) -> None:
    """Compare A and B: module files ('-' for stdin), or functions with arguments like SPECs (see
    `jxc lower --help`). A alone is compared for two targets, or at two levels.

    \b
    jxc diff before.mlir after.mlir
    jxc diff model.py:step -O0 -O2 'f32[8,784]'
    jxc diff model.py:step --target cpu,gpu:h100 'f32[8,784]'
    jxc diff HEAD~1:model.py:step model.py:step 'f32[8,784]'
    jxc diff model.py:step 'f32[8,784]' model.py:step 'f32[9,784]'
    jxc diff before.json after.json

    Ops are matched by what they compute and by their line of Python, not by name. Calls are
    followed. JSON files are profiles of `jxc profile --json`: seconds are compared by line, layer,
    kernel and program, per step where steps are marked.

    The exit code is 0 if the programs are the same, 1 if they differ, 2 on errors. Profiles are
    the same if all lines are within the spread of the steps.
    """
    try:
        code = _diff(first, ctx.meta.get("pipelines", []), flags)
    except JxcError as error:
        error.exit_code = _ERROR
        raise
    ctx.exit(code)


def _diff(first: str, pipelines: list[str], flags: dict[str, Any]) -> int:
    words = [first, *flags["specs"]]
    if any(word.endswith(".json") for word in words):
        return _diff_profiles(words, pipelines, flags)
    from ..backend.targets import find_targets, require

    targets = find_targets(flags["target"])
    sides = make_sides([first, *flags.pop("specs")], targets, pipelines)
    _check(sides, flags)
    if not flags["no_compile"]:
        for target in targets:
            require(target)
    os.environ.pop("JXC_PIPELINE", None)  # only the pipelines of this command run
    stay_on_cpu()
    folder = mkdtemp(prefix="jxc-diff-")
    stage = in_child(None, lambda _: [], folder=folder)
    stage.enter(f"while comparing {sides[0].spelling} and {sides[1].spelling}")
    from ..tools.diff.lowering import sources_of

    with progress() as report:
        report("lowering")
        return _compare(sides, sources_of(sides, flags, folder), flags, report)


def _diff_profiles(words: list[str], pipelines: list[str], flags: dict[str, Any]) -> int:
    from ..tools.diff.profiles import compare_profiles, print_profiles

    others = [*LOWERING_OPTIONS, "html", "no_compile", "load_pass"]
    given = [name for name in others if flags.get(name)] + ["passes"] * bool(pipelines)
    if given:
        option = given[0].replace("_", "-")
        raise UsageError(f"--{option} applies to programs, and {words[0]} is a profile")
    found = compare_profiles(words)
    if flags["as_json"]:
        write_json({"schema_version": 1, **found.as_json()}, "-")
    else:
        print_profiles(found, whole=flags["whole"])
    return _SAME if found.is_same else _DIFFERENT


def _check(sides: tuple[DiffSide, DiffSide], flags: Mapping[str, Any]) -> None:
    """Refuse options that would have no effect."""
    if flags["stage"] == "hlo" and flags["no_compile"]:
        raise UsageError("--stage hlo needs the compiler: leave out --no-compile")
    given = [option for name, option in LOWERING_OPTIONS.items() if flags[name]]
    if given and all(side.is_module for side in sides):
        raise UsageError(f"{given[0]} applies to functions, and both programs are modules")
    if all(side.source == "-" for side in sides) and sides[0] == sides[1]:
        raise UsageError("both programs are '-': standard input can be read only once")
    if flags["html"]:  # before anything is compiled for it
        from ..pages import require_packages

        require_packages()


def _compare(sides: Any, sources: Any, flags: dict[str, Any], report: Any) -> int:
    from ..tools.diff import compare
    from ..tools.diff.lowering import programs_of

    one, other = programs_of(sides, sources, flags)
    found = compare(
        one,
        other,
        stage=flags["stage"],
        progress=report,
    )
    report("")
    if flags["html"]:
        from ..tools.diff.page import write_comparison_page

        for note in write_comparison_page(flags["html"], found):
            click.echo(f"jxc: note: {note}", err=True)
    if flags["as_json"]:
        write_json({"schema_version": 1, **found.as_json()}, "-")
    else:
        from ..tools.diff.output import print_comparison

        print_comparison(found, whole=flags["whole"])
    return _SAME if found.is_same else _DIFFERENT

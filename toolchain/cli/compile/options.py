"""The options of `jxc compile` and `jxc report`: their types, their flags, and the grouped help.

`CompileOptions` holds them under the names of their flags. `jxc report` takes some of them; the
others keep their defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ...backend.artifacts.stages import STAGES
from ...errors import UsageError

if TYPE_CHECKING:
    from ...backend.targets import Target

STAGES_TO_RESUME = ("stablehlo", "hlo-before", "hlo")
"""The stages that `--compile-from` reads."""

BUDGETS = ("max_memory", "max_flops", "max_compile_seconds", "forbid")
"""The flags that are budgets."""


@dataclass(frozen=True)
class CompileOptions:
    """What a command line asks for, under the names of its flags."""

    # What to compile: the fields of `LowerRequest`.
    specs: tuple[str, ...] = ()
    args_from: str | None = None
    static: tuple[str, ...] = ()
    transform: str | None = None
    device: str | None = None
    platform: str | None = None
    host_devices: int | None = None
    mesh: str | None = None
    in_sharding: tuple[str, ...] = ()
    out_sharding: tuple[str, ...] = ()
    sharding: str | None = None
    x64: bool = False
    # The passes, and what they may assume.
    passes: str | None = None
    pass_pipeline: str | None = None
    level: str | None = None
    load_pass: tuple[str, ...] = ()
    target: str = "cpu"
    assume: tuple[str, ...] = ()
    # XLA.
    xla_option: tuple[str, ...] = ()
    hlo_pass: str | None = None
    # Files to write.
    emit: str | None = None
    output: str = "-"
    dump_hlo_passes: str | None = None
    save: str | None = None
    compile_to: str | None = None
    compile_from: str | None = None
    # Running it here.
    run: bool = False
    inputs: str = "random"
    seed: int = 0
    bench: int | None = None
    diff_plain: bool = False
    # The report and its budgets.
    report: bool = False
    top: int | None = None
    all_rows: bool = False
    max_memory: str | None = None
    max_flops: str | None = None
    max_compile_seconds: float | None = None
    forbid: str | None = None
    as_json: bool = False

    def is_given(self, name: str) -> bool:
        """Whether a flag was given."""
        return getattr(self, name) not in (None, False)

    @property
    def writes_artifacts(self) -> bool:
        """Whether files are to be written; then nothing is run or reported."""
        return any(map(self.is_given, ("emit", "dump_hlo_passes", "save", "compile_to")))

    @property
    def has_budgets(self) -> bool:
        """Whether a budget was given."""
        return any(map(self.is_given, BUDGETS))

    def is_reported(self, targets: Sequence[Target]) -> bool:
        """Whether the program is compiled in other processes, and measured there."""
        is_here = [target.name for target in targets] == ["cpu"]
        return self.report or self.has_budgets or not is_here

    def xla_options(self) -> dict[str, Any]:
        """The options of `--xla-option` by name."""
        return parse_xla_options(self.xla_option)


def parse_xla_options(texts: Sequence[str]) -> dict[str, Any]:
    """XLA's options by name.

    Args:
        texts: each "NAME=VALUE"; a value is true, false, a whole number or a text.

    Raises:
        UsageError: a text has no "=".
    """
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--xla-option {text}: expected NAME=VALUE")
        options[name] = _literal(value)
    return options


def _literal(text: str) -> bool | int | str:
    known = {"true": True, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    return int(text) if text.lstrip("-").isdecimal() else text


# -- flags ----------------------------------------------------------------------------------------


def _added(command: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def xla_flags(command: Any) -> Any:
    """A decorator: options of XLA's compilation."""
    return _added(
        command,
        [
            click.option(
                "--xla-option",
                multiple=True,
                metavar="NAME=VALUE",
                help="Set an option of XLA for this compilation.",
            ),
            click.option(
                "--hlo-pass",
                metavar="FILE.py:FN",
                help="Run FN(hlo_text, context), which returns HLO or None, in this compilation. "
                "FN.stage is before (XLA's passes; the default), pre-scheduler or post-scheduler.",
            ),
        ],
    )


def artifact_flags(command: Any) -> Any:
    """A decorator: files to write, and where compilation starts and stops."""
    return _added(
        command,
        [
            click.option(
                "--emit",
                metavar="STAGE[,STAGE]...",
                help=f"Write stages of the program: {', '.join(STAGES)}; not every target has all. "
                "Several go into a folder, -o DIR.",
            ),
            click.option(
                "-o",
                "output",
                default="-",
                metavar="FILE|DIR",
                help="Write to this file or folder; stdout by default.",
            ),
            click.option(
                "--dump-hlo-passes",
                metavar="DIR",
                help="Write the module after each of XLA's passes that changed it, and print how "
                "many ran and how long they took.",
            ),
            click.option("--save", metavar="FILE", help="Write an executable for `jxc run`."),
            click.option(
                "--compile-to",
                type=click.Choice(("jaxpr", *STAGES_TO_RESUME)),
                help="Stop at a stage and write it whole, so that it can be edited and compiled.",
            ),
            click.option(
                "--compile-from",
                type=click.Choice(STAGES_TO_RESUME),
                help="Continue from a file of --compile-to. jxc's passes run only if they are "
                "named. Optimized HLO (hlo) is compiled to code without XLA's passes, on cpu.",
            ),
        ],
    )


def running_flags(command: Any) -> Any:
    """A decorator: running and timing on this machine."""
    return _added(
        command,
        [
            click.option("--run", is_flag=True, help="Run it once and print its results."),
            click.option(
                "--input",
                "inputs",
                default="random",
                metavar="random|zeros|@FILE",
                help="The arguments to run it with.",
            ),
            click.option("--seed", default=0, show_default=True, help="The seed of random inputs."),
            click.option(
                "--bench", type=click.IntRange(min=1), metavar="N", help="Time N rounds of calls."
            ),
            click.option(
                "--diff-plain", is_flag=True, help="Compare results and times with plain jax.jit."
            ),
        ],
    )


def budget_flags(command: Any) -> Any:
    """A decorator: budgets, and how much of the report is printed."""
    return _added(
        command,
        [
            click.option(
                "--top",
                type=click.IntRange(min=1),
                metavar="N",
                help="Print N rows of each section of the report; 8 by default.",
            ),
            click.option("--all", "all_rows", is_flag=True, help="Print all rows."),
            click.option(
                "--max-memory",
                metavar="BYTES",
                help="Fail above this peak memory of a device, such as 12GiB.",
            ),
            click.option(
                "--max-flops",
                metavar="N",
                help="Fail above this many flops, such as 2e12; an exponential or a sine is ten.",
            ),
            click.option(
                "--max-compile-seconds",
                type=float,
                metavar="S",
                help="Fail if XLA takes longer.",
            ),
            click.option(
                "--forbid",
                metavar="WORDS",
                help="Fail where one of these occurs: opcodes of the optimized HLO, element types, "
                "`collectives`, ops of the program: all-gather,f64,stablehlo.sort.",
            ),
        ],
    )


# -- help -----------------------------------------------------------------------------------------

_HEADINGS: Mapping[str, str] = {
    "Function": "args_from static transform device platform host_devices mesh in_sharding "
    "out_sharding sharding x64",
    "Passes and target": "passes pass_pipeline level load_pass target assume",
    "XLA": "xla_option hlo_pass",
    "Run on this machine": "run inputs seed bench diff_plain",
    "Report and budgets": "report top all_rows max_memory max_flops max_compile_seconds forbid",
    "Files to write": "emit output dump_hlo_passes save compile_to compile_from",
}


class GroupedCommand(click.Command):
    """A command whose `--help` lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading; those without one come last."""
        heading_of = {name: title for title, names in _HEADINGS.items() for name in names.split()}
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _HEADINGS}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                title = heading_of.get(parameter.name or "", "Output and help")
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

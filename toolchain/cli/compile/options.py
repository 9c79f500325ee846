"""The options of `jxc compile` and `jxc report`: their types, their flags, and the grouped help.

Each dataclass is a group of options under a heading of `--help`; `CompileOptions` holds them all.
`jxc report` takes some of the groups; the options of the others keep their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import click

from ...backend.artifacts.stages import STAGES
from ...errors import UsageError
from ...files import whole_number
from ...frontend import LowerRequest
from ..options import InputOptions, PassOptions, flag, option, read_options

if TYPE_CHECKING:
    from typing import Self

STAGES_TO_RESUME = ("stablehlo", "hlo-before", "hlo")
"""The stages that `--compile-from` reads."""


@dataclass(frozen=True)
class XlaOptions:
    """Options of XLA's compilation."""

    xla_option: tuple[str, ...] = option(
        multiple=True, metavar="NAME=VALUE", help="Set an option of XLA for this compilation."
    )


@dataclass(frozen=True)
class HloPassOptions(XlaOptions):
    """The same, and a pass among XLA's own."""

    hlo_pass: str | None = option(
        metavar="FILE.py:FN",
        help="Run FN(hlo_text, context), which returns HLO or None, in this compilation. FN.stage "
        "is before (XLA's passes; the default), pre-scheduler or post-scheduler.",
    )


@dataclass(frozen=True)
class FileOptions:
    """Files to write, and where compilation starts and stops."""

    emit: str | None = option(
        metavar="STAGE[,STAGE]...",
        help=f"Write stages of the program: {', '.join(STAGES)}; not every target has all. "
        "Several go into a folder, -o DIR.",
    )
    output: str = option(
        "-o",
        default="-",
        metavar="FILE|DIR",
        help="Write to this file or folder; stdout by default.",
    )
    dump_hlo_passes: str | None = option(
        metavar="DIR",
        help="Write the module after each of XLA's passes that changed it, and print how many ran "
        "and how long they took.",
    )
    save: str | None = option(metavar="FILE", help="Write an executable for `jxc run`.")
    compile_to: str | None = option(
        type=click.Choice(("jaxpr", *STAGES_TO_RESUME)),
        help="Stop at a stage and write it whole, so that it can be edited and compiled.",
    )
    compile_from: str | None = option(
        type=click.Choice(STAGES_TO_RESUME),
        help="Continue from a file of --compile-to. jxc's passes run only if they are named. "
        "Optimized HLO (hlo) is compiled to code without XLA's passes, on cpu.",
    )


@dataclass(frozen=True)
class RunOptions(InputOptions):
    """Running and timing on this machine."""

    run: bool = flag(help="Run it once and print its results.")
    bench: int | None = option(
        type=click.IntRange(min=1), metavar="N", help="Time N rounds of calls."
    )
    diff_plain: bool = flag(help="Compare results and times with plain jax.jit.")


@dataclass(frozen=True)
class BudgetOptions:
    """Budgets of the report."""

    max_memory: str | None = option(
        metavar="BYTES", help="Fail above this peak memory of a device, such as 12GiB."
    )
    max_flops: str | None = option(
        metavar="N",
        help="Fail above this many flops, such as 2e12; an exponential or a sine is ten.",
    )
    max_compile_seconds: float | None = option(
        type=float, metavar="S", help="Fail if XLA takes longer."
    )
    forbid: str | None = option(
        metavar="WORDS",
        help="Fail where one of these occurs: opcodes of the optimized HLO, element types, "
        "`collectives`, ops of the program: all-gather,f64,stablehlo.sort.",
    )


@dataclass(frozen=True)
class CompileOptions(RunOptions, FileOptions, HloPassOptions, PassOptions):
    """What a command line asks for, under the names of its flags; `request` is about a function."""

    request: LowerRequest = field(kw_only=True)
    as_json: bool = False

    @classmethod
    def read(cls, source: str, flags: Mapping[str, Any]) -> Self:
        """The options in the flags of a command on `source`."""
        request = read_options(LowerRequest, flags, target=source)
        return read_options(cls, flags, request=request)

    def is_given(self, name: str) -> bool:
        """Whether a flag was given."""
        return getattr(self, name) not in (None, False)

    @property
    def writes_artifacts(self) -> bool:
        """Whether files are to be written; then nothing is run."""
        return any(map(self.is_given, ("emit", "dump_hlo_passes", "save", "compile_to")))

    def xla_options(self) -> dict[str, Any]:
        """The options of `--xla-option` by name."""
        return parse_xla_options(self.xla_option)

    def with_xla_options(self, more: Mapping[str, Any]) -> Self:
        """The same with further options of XLA; those that were given come last and count."""
        texts = (f"{name}={str(value).lower()}" for name, value in more.items())
        return replace(self, xla_option=(*texts, *self.xla_option))


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
    number = whole_number(text.removeprefix("-"))
    return text if number is None else -number if text.startswith("-") else number


# Help

_HEADINGS = {
    "Function": LowerRequest,
    "Passes and target": PassOptions,
    "XLA": HloPassOptions,
    "Run on this machine": RunOptions,
    "Budgets": BudgetOptions,
    "Files to write": FileOptions,
}


class GroupedCommand(click.Command):
    """A command whose `--help` lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading; those without one come last."""
        heading_of = {"target": "Passes and target"}
        for title, cls in _HEADINGS.items():
            heading_of = {each.name: title for each in fields(cls)} | heading_of
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _HEADINGS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                title = heading_of.get(parameter.name or "", "Output and help")
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

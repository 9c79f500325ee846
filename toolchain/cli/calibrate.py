"""`jxc calibrate`: measure the rates of this machine, by which passes decide."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..cost.rates import SCHEMA_VERSION, Rates, rates_file, rates_of
from ..display.progress import progress
from ..errors import UsageError
from ..files import write_json
from .options import SECONDS_OR_0, json_option


@click.command(short_help="Measure this machine once, so that passes decide by its speed.")
@click.option(
    "--target",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    default="cpu",
    show_default=True,
    help="Which device of this machine.",
)
@click.option(
    "--seconds",
    type=SECONDS_OR_0,
    default=45.0,
    show_default=True,
    help="How long to measure, after compiling the probes.",
)
@click.option("-o", "output", metavar="FILE", help="The rates file to write.")
@click.option("--show", is_flag=True, help="Show the rates in use instead of measuring.")
@click.option("--reset", is_flag=True, help="Delete the rates file; shipped rates are used again.")
@json_option
def calibrate_command(
    target: str, seconds: float, output: str | None, show: bool, reset: bool, as_json: bool
) -> None:
    """Measure how fast this machine runs what XLA generates, and what passes put in its place.

    Passes decide by these rates whether a rewrite pays, in every program from then on. They are
    kept in the user's configuration directory; JXC_RATES=FILE names another file, JXC_RATES=shipped
    uses the rates that come with jxc. Measure while the machine is idle.
    """
    if show and reset:
        raise UsageError("--show and --reset: give one of them")
    file = Path(output) if output else rates_file()
    if file is None and not show:
        raise UsageError(
            "JXC_RATES=shipped: there is no rates file to write; unset it, or give -o FILE"
        )
    if file is not None:
        if reset:
            _reset(file)
            return
        if not show:
            os.environ.pop("JXC_PIPELINE", None)  # measure XLA without passes
            _measure(target, seconds, file)
        if output:
            os.environ["JXC_RATES"] = output
    _print(rates_of(target), as_json=as_json)


def _reset(file: Path) -> None:
    if not file.exists():
        click.echo(f"{file}: not there; shipped rates are in use", err=True)
        return
    try:
        file.unlink()
    except OSError as error:
        raise UsageError(f"{file}: cannot delete: {error.strerror}") from None
    click.echo(f"{file}: deleted; shipped rates are in use", err=True)


def _measure(target: str, seconds: float, file: Path) -> None:
    from ..tools.calibrate.calibrate import calibrate, save_rates

    with progress() as show:
        rates = calibrate(
            target,
            seconds=seconds,
            progress=lambda doing, done, of: show(f"{done}/{of}  {doing}"),
        )
    save_rates(file, target, rates)
    click.echo(f"{len(rates)} rates written to {file}", err=True)


def _print(rates: Rates, *, as_json: bool) -> None:
    from ..tools.calibrate import all_rates

    rows = [(name, rate, rates.measured.get(name)) for name, rate in sorted(all_rates().items())]
    if as_json:
        listed = [
            {"rate": name, "doc": rate.doc, "here": here, "shipped": rate.shipped}
            for name, rate, here in rows
        ]
        head = {"schema_version": SCHEMA_VERSION, "target": rates.target, "source": rates.source}
        write_json(head | {"rates": listed}, "-")
        return
    from rich import box
    from rich.table import Table

    from ..display.console import text_console
    from ..units import text_width

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("rate")
    table.add_column("here", justify="right", no_wrap=True)
    table.add_column("shipped", justify="right", no_wrap=True)
    table.add_column("what it is")
    for name, rate, here in rows:
        measured = "" if here is None else f"{here:.3g}"
        table.add_row(name, measured, f"{rate.shipped:.3g}", rate.doc)
    console = text_console(text_width(80))
    console.print(table)
    console.print(f"target {rates.target}: " + (rates.source or "shipped rates"), soft_wrap=True)

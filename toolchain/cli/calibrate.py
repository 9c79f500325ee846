"""`jxc calibrate`: measure the rates of this machine, by which passes decide."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..cost.rates import SCHEMA_VERSION, Rates, rates_file, rates_of
from ..display.progress import progress
from ..errors import UsageError
from ..files import write_json
from .options import json_option


@click.command(short_help="Measure this machine once, so that passes decide by its speed.")
@click.option(
    "--target",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    default="cpu",
    show_default=True,
    help="Which device of this machine.",
)
@click.option("--show", is_flag=True, help="Show the rates in use instead of measuring.")
@json_option
def calibrate_command(target: str, show: bool, as_json: bool) -> None:
    """Measure how fast this machine runs what XLA generates, and what passes put in its place.

    Passes decide by these rates whether a rewrite pays, in every program from then on. They are
    kept in a file in the user's configuration directory, which --show names; delete it to use the
    rates that come with jxc again. JXC_RATES=FILE names another file, JXC_RATES=shipped none.
    Measure while the machine is idle; it takes about a minute.
    """
    if not show:
        file = rates_file()
        if file is None:
            raise UsageError("JXC_RATES=shipped: there is no rates file to write; unset it")
        os.environ.pop("JXC_PIPELINE", None)  # measure XLA without passes
        _measure(target, file)
    _print(rates_of(target), as_json=as_json)


def _measure(target: str, file: Path) -> None:
    from ..tools.calibrate.calibrate import calibrate, save_rates

    with progress() as show:
        rates = calibrate(target, progress=lambda doing, done, of: show(f"{done}/{of}  {doing}"))
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

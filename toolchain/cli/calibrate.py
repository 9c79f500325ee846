"""`jxc calibrate`: how fast this machine is, measured once, for the decisions of passes."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..cost.rates import SCHEMA_VERSION, Rate, Rates, rates_file, rates_of
from ..errors import UsageError


@click.command(short_help="Measure this machine, once, for the decisions of passes.")
@click.option(
    "--target",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    default="cpu",
    show_default=True,
    help="Which of the devices that are present.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=45.0,
    show_default=True,
    help="How long to measure; compiling comes before it.",
)
@click.option("-o", "output", metavar="FILE", help="Where to keep the figures.")
@click.option("--show", is_flag=True, help="Measure nothing: show the figures in use.")
@click.option("--reset", is_flag=True, help="Forget what was measured; shipped figures serve.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def calibrate_command(
    target: str, seconds: float, output: str | None, show: bool, reset: bool, as_json: bool
) -> None:
    """Measure how long this machine takes for what XLA does and for what passes put in its place.

    Passes then decide by these figures, in every program, where those that jxc comes with would
    decide otherwise. They are kept in the user's configuration directory; JXC_RATES=FILE names
    another file, JXC_RATES=shipped uses none. Best run while the machine does nothing else.
    """
    if show and reset:
        raise UsageError("--show and --reset: give one of them")
    file = Path(output) if output else rates_file()
    if file is None and not show:
        raise UsageError("JXC_RATES=shipped: no file to keep figures in; unset it, or give -o FILE")
    if file is not None:
        if reset:
            _forget(file)
            return
        if not show:
            os.environ.pop("JXC_PIPELINE", None)  # what is measured is XLA, not what passes make
            _measure(target, seconds, file)
        os.environ["JXC_RATES"] = str(file)
    _print(rates_of(target), as_json=as_json)


def _forget(file: Path) -> None:
    if not file.exists():
        click.echo(f"{file}: not there; shipped figures are in use", err=True)
        return
    try:
        file.unlink()
    except OSError as error:
        raise UsageError(f"{file}: cannot delete: {error.strerror}") from None
    click.echo(f"{file}: deleted; shipped figures are in use", err=True)


def _measure(target: str, seconds: float, file: Path) -> None:
    from ..tools.calibrate.calibrate import calibrate, save_rates

    with _progress() as told:
        figures = calibrate(target, seconds=seconds, progress=told)
    save_rates(file, target, figures)
    click.echo(f"{len(figures)} figures kept in {file}", err=True)


@contextlib.contextmanager
def _progress() -> Iterator[Any]:
    """A bar on a terminal's stderr; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda doing, done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(20), TextColumn("{task.completed}/{task.total}  {task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("")
        yield lambda doing, done, of: shown.update(
            task, description=doing, completed=done, total=of
        )


def _print(rates: Rates, *, as_json: bool) -> None:
    if as_json:
        told = {"schema_version": SCHEMA_VERSION, "target": rates.target, "source": rates.source}
        rows = [
            {"rate": name, "doc": rate.doc, "here": here, "shipped": rate.shipped}
            for name, rate, here in _rows(rates)
        ]
        click.echo(json.dumps(told | {"rates": rows}, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("rate")
    table.add_column("here", justify="right", no_wrap=True)
    table.add_column("shipped", justify="right", no_wrap=True)
    table.add_column("what it is")
    for name, rate, here in _rows(rates):
        measured = "" if here is None else f"{here:.3g}"
        table.add_row(name, measured, f"{rate.shipped:.3g}", rate.doc)
    console = Console(highlight=False)
    console.print(table)
    console.print(f"target {rates.target}: " + (rates.source or "shipped figures"), soft_wrap=True)


def _rows(rates: Rates) -> list[tuple[str, Rate, float | None]]:
    from ..tools.calibrate.probes import all_rates

    return [(name, rate, rates.measured.get(name)) for name, rate in sorted(all_rates().items())]

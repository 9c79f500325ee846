"""`jxc targets`: the hardware that this machine can compile for, and what to install for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..files import write_json

if TYPE_CHECKING:
    from ..backend.targets import Offer


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def targets_command(as_json: bool) -> None:
    """List the values of `jxc compile --target`, and what to install for those that need more.

    A target's compiler must be installed; the hardware need not be present.
    """
    from ..backend.targets import all_offers

    offers = all_offers()
    if as_json:
        targets = [vars(offer) for offer in offers]
        write_json({"schema_version": 1, "targets": targets}, "-")
        return
    _print_table(offers)


_READY = ("present", "compiles")


def _print_table(offers: Sequence[Offer]) -> None:
    """One line for each target; the commands that install missing compilers as footnotes."""
    name_width = max(len(offer.name) for offer in offers) + 2
    what_width = max(len(offer.what) for offer in offers) + 2
    commands = list(dict.fromkeys(o.state for o in offers if o.state not in _READY))
    for offer in offers:
        state = offer.state
        if state not in _READY:
            state = f"needs [{commands.index(state) + 1}]"
        click.echo(f"{offer.name:{name_width}}{offer.what:{what_width}}{state}")
    for number, command in enumerate(commands, start=1):
        click.echo(f"[{number}] {command}")

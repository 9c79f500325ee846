"""`jxc targets`: what this machine can compile for, and what to install for the rest."""

from __future__ import annotations

from typing import Any

import click

from ..files import write_json


@click.command(short_help="List what can be compiled for here.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def targets_command(as_json: bool) -> None:
    """List the targets that `jxc compile --target` takes, and what is missing for each.

    The hardware need not be there: its compiler is enough.
    """
    from ..backend.targets import all_offers

    offers = all_offers()
    if as_json:
        told = {"schema_version": 1, "targets": [vars(offer) for offer in offers]}
        write_json(told, "-")
        return
    _print_table(offers)


def _print_table(offers: Any) -> None:
    width = max(len(offer.name) for offer in offers) + 2
    what = max(len(offer.what) for offer in offers) + 2
    to_install = list(dict.fromkeys(o.state for o in offers if o.state not in _READY))
    for offer in offers:
        state = offer.state
        if state not in _READY:
            state = f"needs [{to_install.index(state) + 1}]"
        click.echo(f"{offer.name:{width}}{offer.what:{what}}{state}")
    for number, command in enumerate(to_install, start=1):
        click.echo(f"[{number}] {command}")


_READY = ("present", "compiles")

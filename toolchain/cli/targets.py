"""`jxc targets`: the hardware that this machine can compile for, and what to install for more."""

from __future__ import annotations

import click

from ..files import write_json
from .options import json_option


@click.command()
@json_option
def targets_command(as_json: bool) -> None:
    """List the values of `jxc compile --target`, and what to install for those that need more.

    A target's compiler must be installed; the hardware need not be present.
    """
    from ..backend.targets import all_offers

    offers = all_offers()
    if as_json:
        write_json({"schema_version": 1, "targets": [vars(offer) for offer in offers]}, "-")
        return
    name_width = max(len(offer.name) for offer in offers) + 2
    what_width = max(len(offer.what) for offer in offers) + 2
    commands: list[str] = []  # which install missing compilers: footnotes
    for offer in offers:
        state = offer.state
        if state not in ("present", "compiles"):
            if state not in commands:
                commands.append(state)
            state = f"needs [{commands.index(state) + 1}]"
        click.echo(f"{offer.name:{name_width}}{offer.what:{what_width}}{state}")
    for number, command in enumerate(commands, start=1):
        click.echo(f"[{number}] {command}")

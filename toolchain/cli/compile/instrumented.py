"""What instrumenting passes saw in a run, printed."""

from __future__ import annotations

from typing import Any

import click


def print_seen(seen: Any, summary: dict[str, Any], *, quiet: bool) -> None:
    """Statistics of traced values, and where the first NaN comes from."""
    summary["values"] = [each.as_json() for each in seen.values]
    summary["values_left_out"] = seen.left_out
    summary["nans"] = seen.nans.as_json() if seen.nans else None
    if quiet:
        return
    for each in seen.values:
        click.echo(str(each))
    if seen.left_out:
        click.echo(f"{seen.left_out} more values have that name: most=N shows more")
    if seen.nans:
        click.echo(str(seen.nans))

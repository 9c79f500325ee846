"""What instrumenting passes saw in a run, printed."""

from __future__ import annotations

from typing import Any

import click


def print_seen(seen: Any, summary: dict[str, Any], *, quiet: bool) -> None:
    """Statistics of traced values, and where the first NaN comes from."""
    summary["values"] = [each.as_json() for each in seen.values]
    summary["nans"] = seen.nans.as_json() if seen.nans else None
    if quiet:
        return
    for each in (*seen.values, *([seen.nans] if seen.nans else [])):
        click.echo(str(each))

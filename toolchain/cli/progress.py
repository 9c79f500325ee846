"""One line on a terminal that says what a command is doing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(doing: str = "starting") -> Iterator[Callable[[str], None]]:
    """A function that changes the line, which stderr shows if it is a terminal; "" removes it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), text, TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task(doing)
        yield lambda text: bar.update(task, description=text) if text else bar.stop()

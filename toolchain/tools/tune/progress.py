"""The line on a terminal that says what O3 tries, once it takes noticeably long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

QUIET_SECONDS = 2.0
"""Tuning that takes less shows nothing."""


@contextmanager
def tuning_progress(
    program: str, tell: Callable[[str], None] | None = None
) -> Iterator[Callable[[str], None]]:
    """A function that says what is tried now.

    Args:
        program: its name.
        tell: called with each text instead; None for a line on stderr, if that is a terminal.
    """
    if tell is not None:
        yield tell
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda text: None
        return
    start, line = perf_counter(), _Line(f"O3 tunes {program}")
    with line:
        yield lambda text: line.show(text) if perf_counter() - start > QUIET_SECONDS else None


class _Line(ExitStack):
    """A line of rich's, which appears with the first text."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._bar: Any = None
        self._task: Any = None

    def show(self, text: str) -> None:
        if self._bar is None:
            self._start()
        self._bar.update(self._task, description=f"{self._title}: {text}")

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), text, TimeElapsedColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar = self.enter_context(progress)
        self._task = progress.add_task(self._title)

"""A line that says what takes long: on a terminal, or in a notebook, and nowhere else.

It appears after two seconds, and is removed at the end. Programs whose standard error is a pipe, a
file or the log of a CI service show nothing.
"""

from __future__ import annotations

import contextvars
import html
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

DELAY = 2.0
"""Work that takes fewer seconds shows nothing."""

_PERIOD = 0.5  # seconds between updates
_lock = threading.RLock()
_open: _Ticker | None = None


class _Line(Protocol):
    """A place for one line of text."""

    def show(self, text: str, seconds: float) -> None:
        """Show a text, and the seconds since the work began."""

    def remove(self) -> None:
        """Remove it."""


@contextmanager
def progress(doing: str = "starting", *, delay: float = DELAY) -> Iterator[Callable[[str], None]]:
    """A function that changes the line; "" removes it until the next text.

    Inside another block of `progress`, of any thread, the function changes the line of that block.

    Args:
        doing: the first text, such as "compiling step".
        delay: seconds until the line appears.
    """
    global _open
    with _lock:
        outer, line = _open, None if _open else line_of_process()
        ticker = _open = outer or (_Ticker(line, delay) if line else None)
    if ticker is None:
        yield lambda text: None
        return
    before, ticker.text = ticker.text, doing
    try:
        yield ticker.change
    finally:
        if outer is not None:
            outer.text = before
        else:
            with _lock:
                _open = None
            ticker.end()


class _Ticker:
    """Shows a text on a line, with the time that has passed, from a thread of its own."""

    def __init__(self, line: _Line, delay: float) -> None:
        self.text = ""
        self._line, self._delay, self._ended = line, delay, threading.Event()
        # The context says to which cell of a notebook the line belongs.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._tick,), daemon=True)
        self._thread.start()

    def change(self, text: str) -> None:
        self.text = text

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _tick(self) -> None:
        start, is_shown = perf_counter(), False
        wait = self._delay
        while not self._ended.wait(wait):
            wait = _PERIOD
            if self.text:
                self._line.show(self.text, perf_counter() - start)
            elif is_shown:
                self._line.remove()
            is_shown = bool(self.text)
        if is_shown:
            self._line.remove()


def line_of_process() -> _Line | None:
    """A line in the notebook or on the terminal of this process; None if it has neither."""
    if is_notebook():
        return _NotebookLine()
    if os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return _TerminalLine()


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


class _TerminalLine:
    """The last line of standard error."""

    def __init__(self) -> None:
        self._status: Any = None

    def show(self, text: str, seconds: float) -> None:
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        shown = Text(f"{text}  {seconds:.0f} s")
        if self._status is None:
            self._status = Status(shown, console=Console(stderr=True))
            self._status.start()
        self._status.update(shown)

    def remove(self) -> None:
        self._status.stop()
        self._status = None


class _NotebookLine:
    """An output of the cell that is replaced by each text."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, seconds: float) -> None:
        from IPython.display import HTML, display

        shown = HTML(f"<span style='opacity:.7'>{html.escape(text)}  {seconds:.0f} s</span>")
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def remove(self) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(""))

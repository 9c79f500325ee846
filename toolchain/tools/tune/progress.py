"""The line that says what O3 tries, once it takes noticeably long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...display.progress import progress


@contextmanager
def tuning_progress(
    program: str, tell: Callable[[str], None] | None = None
) -> Iterator[Callable[[str], None]]:
    """A function that says what is tried now.

    Args:
        program: its name.
        tell: called with each text instead; None for a line of its own.
    """
    if tell is not None:
        yield tell
        return
    with progress(f"O3 tunes {program}") as show:
        yield lambda text: show(f"O3 tunes {program}: {text}")

"""The Python files that programs come from, as they are when the page is written."""

from __future__ import annotations

import linecache
from typing import Any

from ...source import short_path
from .highlight import python_lines
from .links import Files, kind_of

MOST_CHARACTERS = 400_000  # of one file


def sources_of(files: Files) -> list[dict[str, Any]]:
    """For each file its name, its path, and the highlighted lines of what lines lead to.

    A file that cannot be read, or of more than 400,000 characters, has no lines.
    """
    return [_about(path) | _html(path, i in files.reached) for i, path in enumerate(files.paths)]


def _about(path: str) -> dict[str, Any]:
    return {"name": short_name(path), "path": path, "kind": kind_of(path)}


def _html(path: str, is_reached: bool) -> dict[str, Any]:
    if not is_reached:
        return {}
    linecache.checkcache(path)
    text = "".join(linecache.getlines(path))
    if not text or len(text) > MOST_CHARACTERS:
        return {}
    return {"html": "\n".join(python_lines(text.rstrip("\n")))}


def short_name(path: str) -> str:
    """A path from the current directory, or from the folder where packages are."""
    for folder in ("site-packages", "dist-packages"):
        _, found, rest = path.replace("\\", "/").rpartition(f"/{folder}/")
        if found:
            return rest
    return short_path(path)

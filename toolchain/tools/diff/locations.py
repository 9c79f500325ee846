"""From an op's location to the user's line behind it, and the op's name in the traced program."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from jaxlib.mlir import ir

from ...ir.frames import frames_of
from ...source.lines import Place, is_user_file
from .graph import Site

_HOME = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "")


class Locations:
    """What locations say, each read once: ops share them.

    Args:
        site: makes sites of places, see `make_sites`.
    """

    def __init__(self, site: Callable[[Place | None], Site | None]) -> None:
        self._site = site
        self._known: dict[ir.Location, tuple[Site | None, str]] = {}

    def of(self, location: ir.Location) -> tuple[Site | None, str]:
        """The user's innermost line, else None; the path without the program's own name."""
        found = self._known.get(location)
        if found is None:
            places = [Place(*frame) for frame in frames_of(location)]
            found = self._site(_best(places)), _path_of(location)
            self._known[location] = found
        return found


def _best(places: list[Place]) -> Place | None:
    """The user's innermost line; what called us to lower the program is no part of it."""
    for place in places:
        if _is_of_the_user(place.file):
            return place
        if _is_ours(place.file):
            return None
    return None


_is_of_the_user = cache(is_user_file)


def _is_ours(file: str) -> bool:
    return file.startswith(_HOME)


def _path_of(location: ir.Location) -> str:
    """`jit(step)/transpose(jvp())/mul` without `jit(step)/`, which is the program's name."""
    if isinstance(location, ir.CallSiteLoc):
        return "/".join(filter(None, map(_path_of, (location.caller, location.callee))))
    if not isinstance(location, ir.NameLoc):
        return ""
    first, slash, rest = location.name_str.partition("/")
    return rest if slash and first.startswith("jit(") else location.name_str

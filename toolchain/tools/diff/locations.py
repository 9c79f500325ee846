"""From an op's location to the user's line behind it, and the op's name in the traced program."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from jaxlib.mlir import ir

from ...ir.locations import frames_of
from ...source import SourceLine, innermost_user_line, is_jxc_file
from .graph import Site


class Locations:
    """What locations say, each read once: ops share them.

    Args:
        site: makes sites of places, see `make_sites`.
    """

    def __init__(self, site: Callable[[SourceLine | None], Site | None]) -> None:
        self._site = site
        self._known: dict[ir.Location, tuple[Site | None, str]] = {}

    def of(self, location: ir.Location) -> tuple[Site | None, str]:
        """The user's innermost line, else None; the path without the program's own name."""
        found = self._known.get(location)
        if found is None:
            lines = [SourceLine(*frame) for frame in frames_of(location)]
            # Whoever called jxc to lower the program is no part of it.
            program = itertools.takewhile(lambda line: not is_jxc_file(line.file), lines)
            line = innermost_user_line(reversed(list(program)))
            found = self._site(line), _path_of(location)
            self._known[location] = found
        return found


def _path_of(location: ir.Location) -> str:
    """`jit(step)/transpose(jvp())/mul` without `jit(step)/`, which is the program's name."""
    if isinstance(location, ir.CallSiteLoc):
        return "/".join(filter(None, map(_path_of, (location.caller, location.callee))))
    if not isinstance(location, ir.NameLoc):
        return ""
    first, slash, rest = location.name_str.partition("/")
    return rest if slash and first.startswith("jit(") else location.name_str

"""What a location tells: the path that JAX gave an op, and the Python frames behind it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

Frame = tuple[str, int, str]
"""File, line from 1, function; the function is empty where it is not known."""


def path_of(location: ir.Location) -> str:
    """The name that JAX gave an op, such as "jit(f)/jvp()/log"; empty where it has none."""
    match location:
        case ir.NameLoc(child_loc=ir.FileLineColLoc()):
            return ""  # names the function that the line is in
        case ir.NameLoc():
            return location.name_str
        case ir.CallSiteLoc():
            return path_of(location.callee)
        case ir.FusedLoc():
            return next(filter(None, map(path_of, location.locations)), "")
    return ""


def frames_of(location: ir.Location) -> list[Frame]:
    """The Python frames behind an op, innermost first."""
    return list(dict.fromkeys(_frames(location, "", 0)))


_MOST_FRAMES = 200  # deeper ones are not the user's own line


def _frames(location: ir.Location, function: str, depth: int) -> Iterator[Frame]:
    if depth > _MOST_FRAMES:
        return
    match location:
        case ir.FileLineColLoc():
            yield location.filename, location.start_line, function
        case ir.NameLoc():
            yield from _frames(location.child_loc, location.name_str, depth + 1)
        case ir.CallSiteLoc():
            yield from _frames(location.callee, "", depth + 1)
            yield from _frames(location.caller, "", depth + 1)
        case ir.FusedLoc():
            for part in location.locations:
                yield from _frames(part, "", depth + 1)

"""Locations: the name that JAX gave an op and the Python frames behind it, or a file's line."""

from __future__ import annotations

from jaxlib.mlir import ir

from .module import walk


def name_inlined(module: ir.Module) -> None:
    """Give what MLIR inlined locations that XLA reads, in the form in which JAX writes them.

    MLIR marks an inlined op `callsite("sin"(frames) at "jit(f)/jit(g)"(frames))`, of which XLA
    keeps "sin" alone: no path, no Python line. `"jit(f)/jit(g)/sin"(frames)` tells it both; the
    frames are those inside the callee, called from those of the caller.
    """
    with module.context:
        for op in walk(module.operation):
            location = op.location
            if isinstance(location, ir.CallSiteLoc):
                op.operation.location = _as_jax_writes(location)


def _as_jax_writes(location: ir.Location) -> ir.Location:
    path, frames = _path_and_frames(location)
    return ir.Location.name(path, frames) if path else frames or location


def _path_and_frames(location: ir.Location) -> tuple[str, ir.Location | None]:
    if isinstance(location, ir.NameLoc):
        return location.name_str, _unless_unknown(location.child_loc)
    if not isinstance(location, ir.CallSiteLoc):
        return "", _unless_unknown(location)
    path, inner = _path_and_frames(location.callee)
    caller_path, outer = _path_and_frames(location.caller)
    joined = "/".join(part for part in (caller_path, path) if part)
    if inner is None or outer is None:
        return joined, inner or outer
    return joined, ir.Location.callsite(inner, [outer])


def _unless_unknown(location: ir.Location) -> ir.Location | None:
    return None if isinstance(location, ir.UnknownLoc) else location


_UNNAMED = "-"  # the file that MLIR says a text is from that it was given in memory


def name_file(module: ir.Module, name: str) -> None:
    """Give the ops that are located in a text without a name that of its file."""
    with module.context:
        for op in walk(module.operation):
            location = op.location
            if isinstance(location, ir.FileLineColLoc) and location.filename == _UNNAMED:
                line, column = location.start_line, location.start_col
                op.operation.location = ir.Location.file(name, line, column)

"""Locations of MLIR: the name stack that JAX gave an op, the Python frames behind it, its file.

JAX writes a location as `"jit(f)/block_1/conv/mul"("f"("model.py":12:4 to :30) at ...)`: a name
stack around call sites. XLA keeps the name stack as the `op_name` of an instruction, so the
functions on name stacks (`scopes_of` and those after it) read texts. `jxc.source` decides which of
the frames is the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlib.mlir import ir, passmanager

from ._private import register_inliner
from .module import register_native_passes, walk

Frame = tuple[str, int, str]
"""File, line counted from 1, function; the function is empty where it is not known."""

_TEXT_IN_MEMORY = "-"  # the file name that MLIR gives to a text that is parsed from memory


# Names and frames of one location


def path_of(location: ir.Location) -> str:
    """The name stack that JAX gave an op, such as "jit(f)/jvp()/log"; empty where it has none."""
    match location:
        case ir.NameLoc(child_loc=ir.FileLineColLoc()):
            return ""  # the name is that of the function around the line
        case ir.NameLoc():
            return str(location.name_str)
        case ir.CallSiteLoc():
            return path_of(location.callee)
        case ir.FusedLoc():
            return next(filter(None, map(path_of, location.locations)), "")
    return ""


def frames_of(location: ir.Location) -> list[Frame]:
    """The Python frames behind an op, innermost first."""
    return list(dict.fromkeys(_frames(location, "", 0)))


_MOST_FRAMES = 200  # deeper frames are not the user's own line


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


def format_location(location: ir.Location, name: str = _TEXT_IN_MEMORY) -> str:
    """`file:line:col` where the location has one, else MLIR's spelling of it.

    Args:
        location: any location.
        name: the file name to print for a module that was parsed from memory.
    """
    text = str(location)
    if found := re.search(r'"([^"]+)":(\d+):(\d+)', text):
        file = name if found[1] == _TEXT_IN_MEMORY else found[1]
        return f"{file}:{found[2]}:{found[3]}"
    return text


def name_file(module: ir.Module, name: str) -> None:
    """Replace the placeholder file of a module that was parsed from memory by `name`."""
    with module.context:
        for op in walk(module.operation):
            location = op.location
            if isinstance(location, ir.FileLineColLoc) and location.filename == _TEXT_IN_MEMORY:
                line, column = location.start_line, location.start_col
                op.operation.location = ir.Location.file(name, line, column)


# Scopes: the parts of a name stack that a user or a library wrote

_TRANSFORMED = re.compile(r"(\w+)\((.*)\)$")
_FUNCTIONS = frozenset({"jit", "pjit", "pmap", "xla_call"})
_STRUCTURE = re.compile(
    r"(while|body|cond|(body|cond)_(jaxpr|fun)|branch_\d+_fun|scan|closed_call|core_call|eval_jaxpr"
    r"|checkpoint|remat\d?|rematted_computation|shard_map|custom_(jvp|vjp|vmap)_call(_jaxpr)?)$"
)
_SCOPES_SHOWN = 2  # the innermost; the outer ones are the same for a whole network
_DERIVED = re.compile(r"(\w+ of )?(.*)$", re.DOTALL)


def scopes_of(op_name: str) -> list[str]:
    """The named scopes on an op's name stack, the outermost first.

    JAX's own entries are left out: the traced function, transformations (`jvp(...)`), functions
    under `jax.jit`, loops and branches, and the primitive at the end.

    Args:
        op_name: as XLA keeps it: "jit(step)/transpose(jvp(conv1))/mul", also with a prefix for an
            instruction that XLA derived from the op: "copy of jit(step)/add".
    """
    _, path = _split(op_name)
    return [scope for part in path[:-1] for scope in _named(part)]


def scope_of(op_name: str) -> str:
    """The innermost named scopes of an op, as "block_1/conv"; "" where there are none.

    Ops of a transposed function are in the "gradient of" their scope.
    """
    scope = "/".join(scopes_of(op_name)[-_SCOPES_SHOWN:])
    return f"gradient of {scope}" if scope and "transpose(" in op_name else scope


def op_in_scope(op_name: str) -> str:
    """A name stack as a phrase: "add in block_1/conv", or "add" where there is no scope."""
    scope = scope_of(op_name)
    return f"{primitive_of(op_name)} in {scope}" if scope else primitive_of(op_name)


def primitive_of(op_name: str) -> str:
    """The JAX primitive at the end of a name stack: "add", or "copy of add" as XLA derived it."""
    prefix, path = _split(op_name)
    return f"{prefix}{path[-1]}"


def _split(op_name: str) -> tuple[str, list[str]]:
    """XLA's prefix of a name stack ("copy of " or ""), and the entries of the name stack."""
    prefix, path = _DERIVED.match(op_name).groups("")  # type: ignore[union-attr]
    return prefix, list(_entries(path.partition(";")[0]))  # merged ops follow after a semicolon


def _entries(path: str) -> Iterator[str]:
    """The parts of `path` between slashes outside of parentheses."""
    start, depth = 0, 0
    for at, character in enumerate(path):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "/" and depth == 0:
            yield path[start:at]
            start = at + 1
    yield path[start:]


def _named(entry: str) -> Iterator[str]:
    """The scopes in one entry of a name stack."""
    transformed = _TRANSFORMED.match(entry)
    if transformed is None:
        if entry and not _STRUCTURE.match(entry):
            yield entry
        return
    transformation, inner = transformed.groups()
    if transformation not in _FUNCTIONS:
        for each in _entries(inner):
            yield from _named(each)


# Inlining, which changes locations

INLINE = "inline{default-pipeline=},symbol-dce"
"""The passes that inline every call, and remove the functions that were called."""


def inline_calls(module: ir.Operation) -> None:
    """Inline every call in `module`, in place. Name stacks and Python frames survive."""
    if not any(op.operation.name == "func.call" for op in walk(module)):
        return
    register_native_passes()
    register_inliner(module.context)
    passmanager.PassManager.parse(f"builtin.module({INLINE})", module.context).run(module)
    restore_name_stacks(module)


def restore_name_stacks(module: ir.Module | ir.Operation) -> None:
    """Rewrite the locations of inlined ops to the form in which JAX writes them, which XLA reads.

    MLIR gives an inlined op `callsite("sin"(frames) at "jit(f)/jit(g)"(frames))`, of which XLA
    keeps "sin" alone: no name stack, no Python line. The new location
    `"jit(f)/jit(g)/sin"(frames)` has both; its frames are those inside the callee, called from
    those of the caller.
    """
    with module.context:
        for op in walk(module.operation):
            location = op.location
            if isinstance(location, ir.CallSiteLoc):
                path, frames = _path_and_frames(location)
                new = ir.Location.name(path, frames) if path else frames or location
                op.operation.location = new


def _path_and_frames(location: ir.Location) -> tuple[str, ir.Location | None]:
    """The name stack and the frames of a location; None for unknown frames."""
    if isinstance(location, ir.CallSiteLoc):
        path, inner = _path_and_frames(location.callee)
        caller_path, outer = _path_and_frames(location.caller)
        joined = "/".join(filter(None, (caller_path, path)))
        is_call = inner is not None and outer is not None
        return joined, ir.Location.callsite(inner, [outer]) if is_call else inner or outer
    path = location.name_str if isinstance(location, ir.NameLoc) else ""
    frames = location.child_loc if isinstance(location, ir.NameLoc) else location
    return path, None if isinstance(frames, ir.UnknownLoc) else frames

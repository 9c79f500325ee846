"""Meshes and partition specs as a user writes them, by path into a pytree, checked against shapes.

A mesh is `data=4,model=2`: axes in order, each with a number of devices. A spec says by which axes
each dimension is split: `data,None` the first over `data`, `data+model` a dimension over both; an
empty spec (or `None`) is replicated. A path is what JAX prints: `params['layers'][0]['w']`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from ..errors import UsageError, did_you_mean

Spec = tuple[tuple[str, ...], ...]
"""For each dimension the axes that split it, major first; dimensions left out are whole."""


# Meshes


def parse_mesh(text: str) -> dict[str, int]:
    """The axes of `data=4,model=2`, in order; spaces separate as commas do.

    Raises:
        UsageError: it is not that, an axis is there twice, or a size is not positive.
    """
    mesh: dict[str, int] = {}
    for word in re.split(r"[,\s]+", text.strip(", ")):
        name, equals, size = word.partition("=")
        if not (equals and _is_axis(name) and size.isdecimal() and int(size)):
            raise UsageError(
                f"mesh '{text}': expected AXIS=SIZE,... with sizes from 1, such as data=4,model=2; "
                f"found '{word}'"
            )
        if name in mesh:
            raise UsageError(f"mesh '{text}': the axis '{name}' is given twice")
        mesh[name] = int(size)
    return mesh


def _is_axis(name: str) -> bool:
    return name.isidentifier() and name != "None"


def format_mesh(mesh: Mapping[str, int]) -> str:
    """A mesh as `parse_mesh` reads it."""
    return ",".join(f"{name}={size}" for name, size in mesh.items())


def devices_of(mesh: Mapping[str, int]) -> int:
    """How many devices a mesh has."""
    return math.prod(mesh.values())


def meshes_of(module: ir.Module | ir.Operation) -> dict[str, dict[str, int]]:
    """The meshes of a module by the names of their `sdy.mesh` ops; those without axes left out."""
    ops = module.operation.regions[0].blocks[0].operations
    found = [op for op in ops if isinstance(op, sdy.MeshOp)]
    meshes = {ir.StringAttr(op.sym_name).value: _axes_of(op) for op in found}
    return {name: axes for name, axes in meshes.items() if axes}


def _axes_of(op: sdy.MeshOp) -> dict[str, int]:
    axes = [sdy.MeshAxisAttr(axis) for axis in sdy.MeshAttr(op.mesh).axes]
    return {axis.name: axis.size for axis in axes}


# Specs


def parse_spec(text: str) -> Spec:
    """The spec that `data,None` or `data+model` stands for.

    Raises:
        UsageError: an entry is neither `None` nor names joined by `+`.
    """
    if text.strip() in ("", "None"):
        return ()
    return tuple(_parse_entry(text, entry.strip()) for entry in text.split(","))


def _parse_entry(text: str, entry: str) -> tuple[str, ...]:
    if entry == "None":
        return ()
    axes = tuple(axis.strip() for axis in entry.split("+"))
    if not all(_is_axis(axis) for axis in axes):
        raise UsageError(
            f"partition spec '{text}': expected the axes of each dimension or None, such as "
            f"data,None or data+model; found '{entry}'"
        )
    return axes


def format_spec(spec: Spec) -> str:
    """A spec as `parse_spec` reads it."""
    return ",".join("+".join(axes) or "None" for axes in spec)


def trimmed(spec: Spec) -> Spec:
    """A spec without the whole dimensions at its end, which say nothing."""
    return trimmed(spec[:-1]) if spec and not spec[-1] else spec


def misfit(spec: Spec, mesh: Mapping[str, int], shape: Sequence[object]) -> str | None:
    """Why an array cannot be split like this, and what could be; None where it can.

    Args:
        spec: how it is to be split.
        mesh: the sizes of the axes.
        shape: extents; those that are not positive integers (symbolic, dynamic) cannot be split.
    """
    named = [axis for axes in spec for axis in axes]
    for axis in named:
        if axis not in mesh:
            return f"the mesh {format_mesh(mesh)} has no axis '{axis}'." + did_you_mean(
                axis, list(mesh)
            )
        if named.count(axis) > 1:
            return f"the axis '{axis}' stands there twice; it can split one dimension, once"
    if len(spec) > len(shape) and named:
        return f"it has {len(spec)} entries, more than the array has dimensions: {len(shape)}"
    for dimension, axes in enumerate(spec):
        if axes and (why := _indivisible(dimension, axes, mesh, shape)):
            return why
    return None


def _indivisible(
    dimension: int, axes: tuple[str, ...], mesh: Mapping[str, int], shape: Sequence[object]
) -> str | None:
    count = math.prod(mesh[axis] for axis in axes)
    if _divides(count, shape[dimension]):
        return None
    fitting = [str(d) for d, size in enumerate(shape) if _divides(count, size)]
    offer = f"dimension {' or '.join(fitting)} does" if fitting else "no dimension does"
    return (
        f"dimension {dimension}, of size {shape[dimension]}, does not split into the {count} of "
        f"'{'+'.join(axes)}'; {offer}"
    )


def _divides(count: int, size: object) -> bool:
    return isinstance(size, int) and size >= 0 and size % count == 0


# Paths

_PART = r"\.\w+|\[(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\]]*)\]"


@lru_cache(maxsize=4096)
def prefixes(path: str) -> tuple[str, ...]:
    """A path and what contains it, the outermost first.

    `params['w'][0]` gives `params`, `params['w']` and `params['w'][0]`.
    """
    head = re.match(r"[^.\[]+", path)
    ends = [head.end()] if head else []
    ends += [part.end() for part in re.finditer(_PART, path)]
    return tuple(path[:end] for end in ends) or (path,)


def distance(pattern: str, paths: Iterable[str]) -> int | None:
    """How far above a leaf that goes by one of `paths` a pattern names it; None: not at all.

    A pattern is the path of the leaf (0) or of what contains it; `*` stands for anything but
    brackets, `**` for anything.
    """
    expression = _expression(pattern)
    above = [
        up
        for path in paths
        for up, prefix in enumerate(reversed(prefixes(path)))
        if expression.fullmatch(prefix)
    ]
    return min(above, default=None)


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*?)", pattern.strip())
    return re.compile("".join(_WILD.get(part) or re.escape(part) for part in parts))


_WILD = {"*": r"[^\[\]]*", "**": ".*"}


def unmatched(pattern: str, paths: Iterable[str]) -> str:
    """A sentence for a pattern that matches none of `paths`: what is close, else what there is."""
    known = list(paths)
    names = list(dict.fromkeys(prefix for path in known for prefix in prefixes(path)))
    offer = did_you_mean(pattern, names)
    more = [f"and {len(known) - _SHOWN} more"] if len(known) > _SHOWN else []
    return offer or f" There is {', '.join(known[:_SHOWN] + more) or 'none'}."


_SHOWN = 12

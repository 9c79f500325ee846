"""Meshes, partition specs and pytree paths as a user writes them, and as modules hold them.

A mesh is `data=4,model=2`: its axes in order, each with a number of devices. A spec names the axes
that split each dimension: `data,None` splits the first over `data`, `data+model` splits a dimension
over both; an empty spec (or `None`) is replicated. A path is what JAX prints for a leaf of a
pytree: `params['layers'][0]['w']`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from ..errors import JxcError, UsageError, did_you_mean
from ..files import whole_number
from .module import functions, module_of

SHARDY, _GSPMD = "sdy.sharding", "mhlo.sharding"

Spec = tuple[tuple[str, ...], ...]
"""For each dimension the axes that split it, major first; dimensions beyond are not split."""


# Meshes


_MOST_DEVICES = 1 << 20  # of a mesh: no system has more, and JAX makes an object for each


def parse_mesh(text: str) -> dict[str, int]:
    """The sizes of the axes of `data=4,model=2`, in order; spaces separate as commas do.

    Raises:
        UsageError: the text is malformed, an axis occurs twice, or a size is not positive.
    """
    mesh: dict[str, int] = {}
    for word in re.split(r"[,\s]+", text.strip(", ")):
        name, equals, size = word.partition("=")
        number = whole_number(size) or 0
        if not (equals and _is_axis(name) and 0 < number <= _MOST_DEVICES):
            raise UsageError(
                f"mesh '{text:.80}': expected AXIS=SIZE,... with sizes from 1 to {_MOST_DEVICES}, "
                f"such as data=4,model=2; found '{word:.80}'"
            )
        if name in mesh:
            raise UsageError(f"mesh '{text}': the axis '{name}' is given twice")
        mesh[name] = number
    return mesh


def _is_axis(name: str) -> bool:
    return name.isidentifier() and name != "None"


def format_mesh(mesh: Mapping[str, int]) -> str:
    """The text of a mesh, as `parse_mesh` reads it."""
    return ",".join(f"{name}={size}" for name, size in mesh.items())


def device_count(mesh: Mapping[str, int]) -> int:
    """The number of devices of a mesh."""
    return math.prod(mesh.values())


def meshes_of(module: ir.Module | ir.Operation) -> dict[str, dict[str, int]]:
    """The meshes with axes of a module, by the name of their `sdy.mesh` op."""
    meshes = {
        ir.StringAttr(op.sym_name).value: {
            axis.name: axis.size for axis in map(sdy.MeshAxisAttr, sdy.MeshAttr(op.mesh).axes)
        }
        for op in module.operation.regions[0].blocks[0].operations
        if isinstance(op, sdy.MeshOp)
    }
    return {name: axes for name, axes in meshes.items() if axes}


# Shardings of a module's arguments


def argument_specs(module: ir.Module, devices: int) -> tuple[dict[str, int], list[Spec | None]]:
    """The mesh of a module, and the spec of each argument of @main; None where XLA decides.

    Args:
        module: a module that is partitioned by Shardy.
        devices: how many devices it is for. Without a mesh they make up one axis "devices".

    Raises:
        JxcError: it has several meshes, or a sharding that is not by whole axes of a mesh.
    """
    meshes = list(meshes_of(module).values()) or [{"devices": devices}]
    if any(mesh != meshes[0] for mesh in meshes) or device_count(meshes[0]) != devices:
        found = ", ".join(map(format_mesh, meshes))
        raise JxcError(
            f"the module is for {devices} devices: expected one such mesh, found {found}"
        )
    main = functions(module)["main"]
    count = len(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs)
    if "arg_attrs" not in main.attributes:
        return meshes[0], [None] * count
    given = [ir.DictAttr(each) for each in ir.ArrayAttr(main.attributes["arg_attrs"])]
    return meshes[0], [_spec_in(each, f"@main's argument {i}") for i, each in enumerate(given)]


def _spec_in(attributes: ir.DictAttr, where: str) -> Spec | None:
    if _GSPMD in attributes and SHARDY not in attributes:
        raise JxcError(
            f"{where} is sharded by {_GSPMD}, which names no axes: expected {SHARDY}, which JAX "
            "writes with jax_use_shardy_partitioner, its default"
        )
    if SHARDY not in attributes:
        return None
    spec = []
    for each in sdy.TensorShardingAttr(attributes[SHARDY]).dimension_shardings:
        axes = [sdy.AxisRefAttr(axis) for axis in sdy.DimensionShardingAttr(each).axes]
        if any(axis.sub_axis_info is not None for axis in axes):
            raise JxcError(
                f"{where} is split over a part of an axis: a PartitionSpec has whole axes"
            )
        spec.append(tuple(axis.name for axis in axes))
    return without_trailing(tuple(spec))


# Specs


def parse_spec(text: str) -> Spec:
    """The spec of a text such as `data,None` or `data+model`.

    Raises:
        UsageError: an entry is neither `None` nor names joined by `+`.
    """
    if text.strip() in ("", "None"):
        return ()
    spec = []
    for entry in map(str.strip, text.split(",")):
        axes = () if entry == "None" else tuple(map(str.strip, entry.split("+")))
        if not all(map(_is_axis, axes)):
            raise UsageError(
                f"partition spec '{text}': expected the axes of each dimension or None, such as "
                f"data,None or data+model; found '{entry}'"
            )
        spec.append(axes)
    return tuple(spec)


def format_spec(spec: Spec) -> str:
    """The text of a spec, as `parse_spec` reads it."""
    return ",".join("+".join(axes) or "None" for axes in spec)


def without_trailing(spec: Spec) -> Spec:
    """A spec without trailing dimensions that are not split: equal for equal shardings."""
    return without_trailing(spec[:-1]) if spec and not spec[-1] else spec


def sharding_problem(spec: Spec, mesh: Mapping[str, int], shape: Sequence[object]) -> str | None:
    """Why an array cannot be split by `spec`, and what could be; None if it can.

    Args:
        spec: the axes for each dimension.
        mesh: the sizes of the axes.
        shape: the array's extents; symbolic and dynamic ones cannot be split.
    """
    named = [axis for axes in spec for axis in axes]
    for axis in named:
        if axis not in mesh:
            return f"the mesh {format_mesh(mesh)} has no axis '{axis}'." + did_you_mean(
                axis, list(mesh)
            )
        if named.count(axis) > 1:
            return f"the axis '{axis}' occurs twice; an axis can split one dimension"
    if len(spec) > len(shape) and named:
        return f"the spec is for rank {len(spec)} or more, the array has rank {len(shape)}"
    for dimension, axes in enumerate(spec):
        count = math.prod(mesh[axis] for axis in axes)
        if axes and not _divides(count, shape[dimension]):
            fitting = [str(d) for d, size in enumerate(shape) if _divides(count, size)]
            offer = f"dimension {' or '.join(fitting)} is" if fitting else "no dimension is"
            return (
                f"dimension {dimension}, of size {shape[dimension]}, is not divisible by the "
                f"{count} devices of '{'+'.join(axes)}'; {offer}"
            )
    return None


def _divides(count: int, size: object) -> bool:
    return isinstance(size, int) and size >= 0 and size % count == 0


# Paths

_PART = r"\.\w+|\[(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\]]*)\]"


@lru_cache(maxsize=4096)
def path_prefixes(path: str) -> tuple[str, ...]:
    """The path of a leaf and of everything that contains it, the outermost first.

    `params['w'][0]` gives `params`, `params['w']` and `params['w'][0]`.
    """
    head = re.match(r"[^.\[]+", path)
    ends = [head.end()] if head else []
    ends += [part.end() for part in re.finditer(_PART, path)]
    return tuple(path[:end] for end in ends) or (path,)


def levels_above(pattern: str, paths: Iterable[str]) -> int | None:
    """How many levels above a leaf a pattern matches: 0 for the leaf itself; None if it does not.

    Args:
        pattern: the path of the leaf or of what contains it; `*` stands for any text without
            brackets, `**` for any text.
        paths: the paths by which the leaf is known.
    """
    expression = _expression(pattern.strip())
    return min(
        (
            up
            for path in paths
            for up, prefix in enumerate(reversed(path_prefixes(path)))
            if expression.fullmatch(prefix)
        ),
        default=None,
    )


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    wild = {"*": r"[^\[\]]*", "**": ".*"}
    parts = re.split(r"(\*\*?)", pattern)
    return re.compile("".join(wild.get(part) or re.escape(part) for part in parts))


def suggest_paths(pattern: str, paths: Iterable[str]) -> str:
    """A sentence on what a pattern that matches none of `paths` could be: close paths, else all."""
    known = list(paths)
    names = list(dict.fromkeys(prefix for path in known for prefix in path_prefixes(path)))
    more = [f"and {len(known) - _SHOWN} more"] if len(known) > _SHOWN else []
    everything = ", ".join(known[:_SHOWN] + more) or "none"
    return did_you_mean(pattern, names) or f" There is {everything}."


_SHOWN = 12


# Modules that are partitioned over devices

PARTITIONS, REPLICAS = "mhlo.num_partitions", "mhlo.num_replicas"
"""The module attributes that count the devices that share one program, and the copies of it."""


def module_device_count(module: ir.Module | ir.ModuleOp | ir.Operation) -> int:
    """How many devices a module is for: its partitions times its replicas."""
    return _count(module, PARTITIONS) * _count(module, REPLICAS)


def replica_count(module: ir.Module | ir.ModuleOp | ir.Operation) -> int:
    """How many copies of the program a module is for."""
    return _count(module, REPLICAS)


def is_partitioned(module: ir.ModuleOp | ir.Operation) -> bool:
    """Whether XLA will split the arrays of a module over several devices."""
    return _count(module, PARTITIONS) > 1


def is_partitioned_here() -> bool:
    """The same for the module of the current insertion point."""
    return is_partitioned(module_of(ir.InsertionPoint.current.block.owner))


def _count(module: ir.Module | ir.ModuleOp | ir.Operation, attribute: str) -> int:
    value = module.operation.attributes.get(attribute)
    return 1 if value is None else ir.IntegerAttr(value).value


def is_local(op: ir.OpView | ir.Operation) -> bool:
    """Whether an op of a partitioned program works on one device's own arrays.

    That is so in the body of `jax.shard_map` over all axes of the mesh.
    """
    axes: set[str] = set()
    operation = op.operation
    while operation.name != "builtin.module":
        if operation.name == "sdy.manual_computation":
            axes.update(sdy.ManualAxesAttr(operation.attributes["manual_axes"]))
        operation = operation.parent.operation
    if not axes:
        return False
    split = {axis for mesh in meshes_of(operation).values() for axis, n in mesh.items() if n > 1}
    return split <= axes

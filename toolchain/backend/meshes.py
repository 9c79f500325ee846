"""Programs for several devices: how arguments are split, read from a module, and JAX's mesh."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from ..errors import JxcError
from ..ir import functions
from ..ir.shardings import Spec, device_count, format_mesh, meshes_of, without_trailing

_OWN = "sdy.sharding"
_GSPMD = "mhlo.sharding"


def argument_specs(module: ir.Module, devices: int) -> tuple[dict[str, int], list[Spec | None]]:
    """The mesh of a module for so many devices, and for each argument of @main how it is split.

    None is for an argument that the module says nothing of: XLA decides.

    Raises:
        JxcError: it has several meshes, or shardings in a form that no mesh's axes can express.
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
    if _OWN in attributes:
        own = sdy.TensorShardingAttr(attributes[_OWN])
        return without_trailing(tuple(_axes_in(each, where) for each in own.dimension_shardings))
    if _GSPMD in attributes:
        raise JxcError(
            f"{where} is sharded by {_GSPMD}, which names no axes: expected {_OWN}, which JAX "
            "writes with jax_use_shardy_partitioner, its default"
        )
    return None


def _axes_in(dimension: Any, where: str) -> tuple[str, ...]:
    axes = [sdy.AxisRefAttr(each) for each in sdy.DimensionShardingAttr(dimension).axes]
    if any(axis.sub_axis_info is not None for axis in axes):
        raise JxcError(f"{where} is split over a part of an axis: only whole axes can be told JAX")
    return tuple(axis.name for axis in axes)


def sharding_over(mesh: Any, spec: Spec) -> Any:
    """JAX's sharding by a spec over a mesh."""
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(mesh, PartitionSpec(*(axes or None for axes in spec)))


def spec_of(sharding: Any) -> Spec | None:
    """What `sharding_over` made a sharding of; None where it is of another kind."""
    from jax.sharding import NamedSharding

    if not isinstance(sharding, NamedSharding):
        return None
    entries = (() if entry is None else entry for entry in sharding.spec)
    return without_trailing(tuple((e,) if isinstance(e, str) else tuple(e) for e in entries))

"""Other shapes of a mesh over the same devices, and the time of their collectives.

No shape is compiled. The collectives of the compiled program are priced again, on the assumption
that every array stays evenly split. The array of an all-reduce, an all-gather or a reduce-scatter
then changes in inverse proportion to the product of the other axes. What a device sends in a
permute or an all-to-all is its own part, which stays as large. Only axes that the mesh splits are
considered, because the program has no collectives along others. The time of the computation is not
estimated. It grows if an extent is not divisible by its new axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any

from jaxlib.mlir import ir

from ..cost.network import Fabric, Groups
from ..errors import JxcError
from ..ir import functions
from ..ir.shardings import argument_specs, format_mesh, sharding_problem
from .collectives import Collective, groups_along

_MOST_SHAPES = 64
_LEAST_GAIN = 0.9  # of the time of the collectives: a shape above it is not worth a compilation


@dataclass(frozen=True)
class MeshShape:
    """A mesh and the time of the program's collectives on it.

    Attributes:
        sizes: of each axis.
        network_seconds: the estimated time of all collectives, hidden or not.
    """

    sizes: Mapping[str, int]
    network_seconds: float

    def __str__(self) -> str:
        return format_mesh(self.sizes)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {"mesh": dict(self.sizes), "network_seconds": self.network_seconds}


def fitting_shapes(module: ir.Module, mesh: Mapping[str, int]) -> list[dict[str, int]]:
    """The shapes over which the arguments of @main can be split as they are over a mesh.

    None for a mesh of one axis, and for shardings that are not by whole axes.
    """
    if sum(size > 1 for size in mesh.values()) < 2:
        return []
    try:
        _, specs = argument_specs(module, prod(mesh.values()))
    except JxcError:
        return []
    arguments = functions(module)["main"].regions[0].blocks[0].arguments
    dims = [ir.RankedTensorType(each.type).shape for each in arguments]
    split = {(spec, tuple(shape)) for spec, shape in zip(specs, dims, strict=True) if spec}
    return [
        sizes
        for sizes in shapes_of(mesh)
        if not any(sharding_problem(spec, sizes, shape) for spec, shape in split)
    ]


def shapes_of(mesh: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The first 64 meshes with as many devices, and the same axes of more than one device.

    Axes of one device stay so; others may become so.
    """
    names = [name for name, size in mesh.items() if size > 1]
    for sizes in islice(_factors(prod(mesh.values()), len(names)), _MOST_SHAPES):
        yield {**mesh, **dict(zip(names, sizes, strict=True))}


def _factors(count: int, axes: int) -> Iterator[tuple[int, ...]]:
    if axes == 0:
        return
    if axes == 1:
        yield (count,)
        return
    for size in range(1, count + 1):
        if count % size == 0:
            for rest in _factors(count // size, axes - 1):
                yield (size, *rest)


def mesh_shapes(
    collectives: Sequence[Collective],
    mesh: Mapping[str, int],
    shapes: Sequence[Mapping[str, int]],
    fabric: Fabric,
    orders: Mapping[str, Sequence[int]],
) -> list[MeshShape]:
    """The shapes whose collectives take less time than those of the mesh, the best first.

    Args:
        collectives: of the program; none are found if one is not along whole axes.
        mesh: that of the program.
        shapes: the candidates.
        fabric: the network, with the devices in the order of the mesh.
        orders: for a shape as text, the number in `fabric` of each of its devices; for shapes that
            are left out, the same order.
    """
    if not collectives or any(each.axes is None for each in collectives):
        return []
    own = _seconds(collectives, mesh, mesh, fabric)
    found = []
    for sizes in shapes:
        order = orders.get(format_mesh(sizes))
        devices = tuple(fabric.devices[n] for n in order) if order else fabric.devices
        seconds = _seconds(collectives, mesh, sizes, replace(fabric, devices=devices))
        if own is not None and seconds is not None and seconds < _LEAST_GAIN * own:
            found.append(MeshShape(sizes, seconds))
    return sorted(found, key=lambda each: each.network_seconds)


def _seconds(
    collectives: Sequence[Collective],
    mesh: Mapping[str, int],
    sizes: Mapping[str, int],
    fabric: Fabric,
) -> float | None:
    """The time of the collectives on a mesh of other sizes; None if a price is not known."""
    total = 0.0
    for each in collectives:
        axes = each.axes or ()
        others = [name for name in mesh if name not in axes]
        scale = 1.0
        if each.kind in ("all-reduce", "all-gather", "reduce-scatter"):
            scale = prod(mesh[name] for name in others) / prod(sizes[name] for name in others)
        groups = groups_along(axes, sizes)
        if each.kind == "collective-permute":
            groups = _shifts(groups)
        price = fabric.price(each.kind, each.payload * scale, groups)
        if price is None:
            return None
        total += price.seconds * each.times
    return total


def _shifts(groups: Groups) -> Groups:
    """Each device of a group sends to the next one."""
    return tuple(
        pair for group in groups for pair in zip(group, (*group[1:], group[0]), strict=True)
    )

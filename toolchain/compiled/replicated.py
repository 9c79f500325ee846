"""Arguments that every device has whole, and how they could be split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

from jaxlib.mlir import ir

from ..cost.flops import bytes_of
from ..hlo import Module
from ..ir import argument_names, functions

MIN_SPLIT_BYTES = 1 << 20
"""Bytes of an argument below which the advice to split it is not worth a gather."""


@dataclass(frozen=True)
class Split:
    """A sharding of one dimension of an array.

    Attributes:
        dimension: the number of the dimension.
        axes: of the mesh.
        parts: into how many parts they split it.
    """

    dimension: int
    axes: tuple[str, ...]
    parts: int

    def __str__(self) -> str:
        """The sharding as `--sharding` reads it: "None,data+model"."""
        return "None," * self.dimension + "+".join(self.axes)


@dataclass(frozen=True)
class Replicated:
    """An argument of which every device has the whole.

    Attributes:
        name: of the argument.
        bytes: on each device.
        devices: the number of devices.
        dims: its extents.
    """

    name: str
    bytes: int
    devices: int
    dims: tuple[int, ...] = ()

    @property
    def wasted(self) -> int:
        """Bytes on all devices that splitting it evenly would save."""
        return self.bytes * (self.devices - 1)

    def split(self, mesh: Mapping[str, int]) -> Split | None:
        """The finest even split of one dimension over axes of a mesh; None if there is none.

        Of several, that of the first dimension.
        """
        names = [name for name, size in mesh.items() if size > 1]
        found = [
            Split(dimension, axes, parts)
            for dimension, extent in enumerate(self.dims)
            for count in range(1, len(names) + 1)
            for axes in combinations(names, count)
            if extent % (parts := prod(mesh[axis] for axis in axes)) == 0
        ]
        return max(found, key=lambda each: each.parts, default=None)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "name": self.name,
            "kind": "argument",
            "bytes": self.bytes,
            "devices": self.devices,
            "wasted_bytes": self.wasted,
        }


def replicated_arguments(module: Module, arguments: Sequence[tuple[str, int]]) -> list[Replicated]:
    """Arguments that are not split over the devices, the largest first.

    Args:
        module: the optimized HLO of one device.
        arguments: for each parameter of @main its name and the bytes of the whole array.

    Raises:
        ValueError: there are more or fewer of them in the module.
    """
    shapes = [leaf for each in module.entry.parameters for leaf in each.shape.leaves]
    if len(arguments) != len(shapes):
        raise ValueError(f"@main has {len(arguments)} arguments, the HLO has {len(shapes)}")
    devices = module.num_partitions
    found = [
        Replicated(name, size, devices, shape.dims)
        for (name, size), shape in zip(arguments, shapes, strict=True)
        if devices > 1 and shape.elements > 1 and shape.bytes == size
    ]
    return sorted(found, key=lambda each: -each.bytes)


def global_arguments(module: ir.Module) -> list[tuple[str, int]]:
    """The name and the bytes of each argument of @main, before it is split over devices."""
    main = functions(module)["main"]
    sizes = [bytes_of(argument.type) for argument in main.regions[0].blocks[0].arguments]
    return list(zip(argument_names(main), sizes, strict=True))

"""Arguments that every device has whole, although they could be split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from ...cost.flops import bytes_of
from ...hlo import Module
from ...ir import argument_names, functions


@dataclass(frozen=True)
class Replicated:
    """An argument of which every device has the whole.

    Attributes:
        name: of the argument.
        bytes: on each device.
        devices: the number of devices.
    """

    name: str
    bytes: int
    devices: int

    @property
    def wasted(self) -> int:
        """Bytes on all devices that splitting it evenly would save."""
        return self.bytes * (self.devices - 1)

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
        Replicated(name, size, devices)
        for (name, size), shape in zip(arguments, shapes, strict=True)
        if devices > 1 and shape.elements > 1 and shape.bytes == size
    ]
    return sorted(found, key=lambda each: -each.bytes)


def global_arguments(module: ir.Module) -> list[tuple[str, int]]:
    """The name and the bytes of each argument of @main, before it is split over devices."""
    main = functions(module)["main"]
    sizes = [bytes_of(argument.type) for argument in main.regions[0].blocks[0].arguments]
    return list(zip(argument_names(main), sizes, strict=True))

"""Programs to vary: a module with its constants read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ConstantOp

from ...ir import walk
from .elements import ELEMENTS, Number
from .literals import numbers_of


@dataclass(frozen=True)
class SeedProgram:
    """A module that stands as the model for its variants.

    Attributes:
        module: with a function @main; is left as it is.
        types: of its values, each once.
        numbers: the elements of each constant that can be read, by its result.
    """

    module: ir.Module
    types: Sequence[ir.Type]
    numbers: dict[ir.Value, list[Number]]

    @staticmethod
    def of(module: ir.Module) -> SeedProgram:
        """The program that a module is."""
        types: dict[ir.Type, None] = {}
        numbers = {}
        for op in walk(module.operation):
            types.update((value.type, None) for value in _defined_by(op))
            if isinstance(op, ConstantOp) and _element(op) in ELEMENTS:
                numbers[op.result] = numbers_of(op)
        return SeedProgram(module, list(types), numbers)


def _defined_by(op: ir.OpView) -> list[ir.Value]:
    blocks = [block for region in op.regions for block in region.blocks]
    return [*op.results, *(value for block in blocks for value in block.arguments)]


def _element(op: ConstantOp) -> str:
    return str(ir.RankedTensorType(op.result.type).element_type)

"""Programs to vary, and their constants, which are read once and written into every variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import walk
from jxc.ir.constants import array_of

from .draws import (
    COMPLEX,
    ELEMENTS,
    Draws,
    Number,
    cast,
    dtype_of,
    near_number,
    parts_of,
    translate,
)

_MOST_DRAWN = 64  # the maximum number of elements of a constant that are redrawn one by one


def numbers_of(op: hlo.ConstantOp) -> list[Number]:
    """The elements of a constant in row-major order; one element for a splat.

    Raises:
        TypeError, ValueError: they cannot be read.
    """
    found = array_of(op.result)
    if found is None:
        raise ValueError("a constant that cannot be read")
    if found.size and found.strides and not any(found.strides):
        found = found.reshape(-1)[:1]
    return [cast(number, _spelled(op)) for number in found.reshape(-1).tolist()]


def _spelled(op: hlo.ConstantOp) -> str:
    return str(ir.RankedTensorType(op.result.type).element_type)


def vary_numbers(numbers: Sequence[Number], old: str, new: str, change: Draws) -> list[Number]:
    """The numbers of a constant in another type, sometimes redrawn."""
    random = change.random
    if change.chance(0.12):
        return [change.number(new)]
    if change.chance(0.08):
        return [change.number(new) for _ in range(random.randint(2, 5))]
    if change.chance(0.25):
        numbers = [near_number(each, old, random) for each in numbers]
    moved = [translate(each, old, new, random) for each in numbers[:_MOST_DRAWN]]
    if moved and len(numbers) > 1 and change.chance(0.2):
        moved[random.randrange(len(moved))] = change.number(new)
    return moved if len(numbers) <= _MOST_DRAWN else _moved(numbers, moved, old, new, change)


def _moved(
    numbers: Sequence[Number], first: list[Number], old: str, new: str, change: Draws
) -> list[Number]:
    rest = numbers[_MOST_DRAWN:]
    return first + [translate(each, old, new, change.random) for each in rest]


def constant(numbers: Sequence[Number], kind: ir.RankedTensorType) -> ir.Value:
    """A constant of the numbers, tiled or cut to the type's size, at the insertion point.

    Raises:
        ir.MLIRError: the type cannot hold them.
    """
    element = str(kind.element_type)
    text = _dense([_spell(number, element) for number in numbers], tuple(kind.shape))
    op = ir.Operation.parse(
        f'%c = "stablehlo.constant"() <{{value = {text} : {kind}}}> : () -> {kind}'
    )
    ir.InsertionPoint.current.insert(op)
    return op.results[0]


def _dense(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    size = int(np.prod(shape))
    if not size or not texts:
        return "dense<>" if not size else "dense<0>"
    if len(texts) == 1:
        return f"dense<{texts[0]}>"
    repeated = [texts[i % len(texts)] for i in range(size)]
    return f"dense<{_nested(repeated, shape)}>"


def _nested(texts: Sequence[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    parts = (_nested(texts[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return f"[{', '.join(parts)}]"


def _spell(number: Number, element: str) -> str:
    if element == "i1":
        return "true" if number else "false"
    if element in COMPLEX:
        part = parts_of(element)
        value = complex(number)
        return f"({_spell(value.real, part)}, {_spell(value.imag, part)})"
    dtype = dtype_of(element)
    if dtype.kind in "iu" or "int" in dtype.name:
        return str(int(number.real))
    with np.errstate(all="ignore"):
        bits = np.asarray(number, dtype).view(f"u{dtype.itemsize}")
    return f"0x{int(bits):0{2 * dtype.itemsize}X}"


@dataclass(frozen=True)
class SeedProgram:
    """A program to vary.

    Attributes:
        module: has a function @main; it is not changed.
        types: the types of its values, each once.
        numbers: the elements of each constant that can be read, by its result.
    """

    module: ir.Module
    types: Sequence[ir.Type]
    numbers: dict[ir.Value, list[Number]]

    @staticmethod
    def of(module: ir.Module) -> SeedProgram:
        """The program of a module, with its types and constants read."""
        types: dict[ir.Type, None] = {}
        numbers = {}
        for op in walk(module.operation):
            types.update((value.type, None) for value in _defined_by(op))
            if isinstance(op, hlo.ConstantOp) and _element(op) in ELEMENTS:
                numbers[op.result] = numbers_of(op)
        return SeedProgram(module, list(types), numbers)


def _defined_by(op: ir.OpView) -> list[ir.Value]:
    blocks = [block for region in op.regions for block in region.blocks]
    return [*op.results, *(value for block in blocks for value in block.arguments)]


def _element(op: hlo.ConstantOp) -> str:
    return str(ir.RankedTensorType(op.result.type).element_type)

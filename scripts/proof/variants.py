"""The same program on other element types, and with other constants."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build, functions, walk
from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.retype import retype
from jxc.ir.values import element_type

from .elements import Integer, element_of

INTEGERS = ("i1", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")
FLOATS = ("f8E3M4", "f8E4M3", "f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64")
_PAIRED = ("i1", "i4", "ui4", "i8", "ui8", "f8E4M3", "f8E5M2", "f16", "bf16", "f32")
_IN_THREES = ("i1", "i4", "ui8", "f8E4M3", "f16", "bf16")
"""The types that are combined if a program has two or three element types."""

_MOST_CONSTANTS = 2  # constants that vary at the same time
_MOST_ELEMENTS = 32  # elements of a constant whose type may change
_VARIED = ("i1", "i4", "ui4", "f8E4M3")
"""The types on which other constants are tried: small ones, on which z3 is fast."""

_EDGE_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 240.0, math.inf, -math.inf, math.nan)


class DoesNotExist(Exception):
    """A program has no such variant: an op or a constant does not fit the types."""


def variants(program: ir.Module) -> Iterator[tuple[str, ir.Module]]:
    """The unchanged program, then on other types, and on small types with other constants.

    Args:
        program: a module with @main.

    Yields:
        The types, and the variant in the same context.
    """
    own = tuple(name for name in element_types(program) if name in INTEGERS + FLOATS)
    for types in dict.fromkeys([own, *_choices(len(own))]):
        mapping = dict(zip(own, types, strict=True))
        for numbers in _other_constants(program, mapping):
            try:
                found = variant(program, mapping, numbers)
            except DoesNotExist:
                continue
            yield ", ".join(element_types(found)), found


def element_types(program: ir.Module) -> tuple[str, ...]:
    """The element types in @main, in order; `i1` only if there are no others."""
    (block,) = functions(program)["main"].regions[0].blocks
    values = [*block.arguments, *(value for op in block.operations for value in op.results)]
    kinds = (v.type.element_type for v in values if isinstance(v.type, ir.RankedTensorType))
    found = dict.fromkeys(map(str, kinds))
    return tuple(name for name in found if name != "i1" or len(found) == 1)


def _choices(count: int) -> Iterator[tuple[str, ...]]:
    if count == 1:
        yield from ((name,) for name in INTEGERS + FLOATS)
    elif count == 2:
        yield from product(_PAIRED, repeat=2)
    elif count == 3:
        yield from product(_IN_THREES, repeat=3)


def _other_constants(
    program: ir.Module, mapping: Mapping[str, str]
) -> Iterator[Mapping[ir.Value, float]]:
    """Replacements for constants; the first is empty."""
    yield {}
    places = {
        op.result: mapping.get(name := str(element_type(op.result)), name)
        for op in walk(program.operation)
        if isinstance(op, hlo.ConstantOp)
    }
    is_small = all(name in _VARIED for name in (*mapping.values(), *places.values()))
    if is_small and 0 < len(places) <= _MOST_CONSTANTS:
        with program.context:
            choices = [_edge_numbers(name) for name in places.values()]
        for numbers in product(*choices):
            yield dict(zip(places, numbers, strict=True))


def _edge_numbers(name: str) -> Sequence[float]:
    """Numbers that rules match, and some others."""
    element = element_of(ir.Type.parse(name))
    if not isinstance(element, Integer):
        return _EDGE_FLOATS
    low, high = element.range
    return sorted({low, low + 1, max(low, -1), 0, 1, min(2, high), min(3, high), high})


def variant(
    program: ir.Module, mapping: Mapping[str, str], numbers: Mapping[ir.Value, float]
) -> ir.Module:
    """The program on other types.

    Args:
        program: the program, which is not changed.
        mapping: the new name for each element type.
        numbers: new splat numbers for constants of `program`. Other constants keep their number or
            its role: the least or greatest number of its type, or all bits set.

    Raises:
        DoesNotExist: the result would not be valid.
    """

    def map_type(kind: ir.Type) -> ir.Type:
        if not isinstance(kind, ir.RankedTensorType) or str(kind.element_type) not in mapping:
            return kind
        return ir.RankedTensorType.get(kind.shape, ir.Type.parse(mapping[str(kind.element_type)]))

    def map_op(op: ir.OpView, operands: list[ir.Value]) -> list[ir.Value] | None:
        if isinstance(op, hlo.ConstantOp):
            return [_constant(op, map_type(op.result.type), numbers.get(op.result))]
        if isinstance(op, hlo.CompareOp) and "TOTALORDER" not in str(op.compare_type):
            direction, results = op.comparison_direction, [map_type(op.result.type)]
            return [hlo.CompareOp(*operands, direction, results=results).result]
        if isinstance(op, hlo.BitcastConvertOp) and _bits(operands[0].type) != _bits(
            map_type(op.result.type)
        ):
            raise DoesNotExist(
                "a bitcast between types of different sizes"
            )  # MLIR does not check this
        return None

    try:
        return retype(program, map_type, map_op)
    except ir.MLIRError as error:
        raise DoesNotExist(str(error)) from error


def _bits(kind: ir.Type) -> int:
    """The number of bits of all elements; 0 if the shape is dynamic."""
    tensor = ir.RankedTensorType(kind)
    count = math.prod(tensor.shape) if tensor.has_static_shape else 0
    return count * element_of(tensor).width


def _constant(op: hlo.ConstantOp, kind: ir.Type, number: float | None) -> ir.Value:
    if kind == op.result.type and number is None:
        return op.operation.clone().results[0]
    old, new = element_type(op.result), ir.RankedTensorType(kind).element_type
    if number is not None:
        return build.dense(np.array(number).astype(numpy_dtype(new)), kind)
    own = array_of(op.result)
    if own is None or own.dtype.kind == "c" or own.size > _MOST_ELEMENTS:
        raise DoesNotExist(f"a constant of {old}, or one with many elements")
    numbers = [_translated(each, old, new) for each in own.reshape(-1).tolist()]
    with np.errstate(invalid="ignore"):
        return build.dense(np.array(numbers).reshape(own.shape).astype(numpy_dtype(new)), kind)


def _translated(number: float, old: ir.Type, new: ir.Type) -> float:
    """The number in a new type, or the number of the same role there."""
    becomes, extreme = element_of(new), _extreme(number, old)
    if not isinstance(becomes, Integer):
        return _held(number if extreme is None else (-math.inf, math.inf)[extreme], new)
    if extreme is not None:
        return becomes.range[extreme]
    if number == -1 and isinstance(old, ir.IntegerType):
        return -1 if becomes.is_signed else becomes.range[1]  # every bit set
    return _held(number, new)


def _extreme(number: float, kind: ir.Type) -> int | None:
    """0 for the least number of a type, 1 for the greatest; None for others, and for 0 and 1."""
    element = element_of(kind) if isinstance(kind, ir.IntegerType) else None
    if not isinstance(element, Integer):
        return int(number > 0) if math.isinf(number) else None
    return None if number in (0, 1) or number not in element.range else int(number > 0)


def _held(number: float, kind: ir.Type) -> float:
    """The number, if `kind` can represent it; raises `DoesNotExist` otherwise."""
    element = element_of(kind)
    if isinstance(element, Integer):
        low, high = element.range
        if not low <= number <= high or number != int(number):
            raise DoesNotExist(f"{kind} has no number {number}")
        return int(number)
    with np.errstate(all="ignore"):
        found = float(np.array(number).astype(numpy_dtype(kind)))
    if found != number and not math.isnan(number):
        raise DoesNotExist(f"{kind} has no number {number}")
    return number

"""The turns of a loop of integer arithmetic, what is known of them computed at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    BroadcastInDimOp,
    ConstantOp,
    ConvertOp,
    ReshapeOp,
    SliceOp,
    SubtractOp,
    WhileOp,
)

from jxc.ir import build
from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import element_type, shape_of, splat_attr

_MOST_KNOWN = 16  # elements of a constant that is computed with, unless it is a splat
_Known: TypeAlias = ir.Value | np.ndarray
"""A value, or what it is known to be: an array of its shape, or its only element for a splat."""


class Turns:
    """Copies of what the body of `loop` does, in front of it."""

    def __init__(self, loop: WhileOp) -> None:
        *self._work, self._end = loop.body.blocks[0].operations
        self._arguments = list(loop.body.blocks[0].arguments)
        self._carried = [_known(value) for value in loop.operand]
        self._constants: dict[tuple[bytes, ir.Type], ir.Value] = {}

    def take(self) -> None:
        """One turn."""
        values: dict[ir.Value, _Known] = dict(zip(self._arguments, self._carried, strict=True))
        for op in self._work:
            values[op.results[0]] = self._done(op, values)
        self._carried = [values.get(value, value) for value in self._end.operands]

    def carried(self) -> list[ir.Value]:
        """What is carried after the turns taken."""
        return [self._built(*each) for each in zip(self._carried, _types(self._end), strict=True)]

    def _done(self, op: ir.OpView, values: Mapping[ir.Value, _Known]) -> _Known:
        if isinstance(op, ConstantOp) and isinstance(known := _known(op.result), np.ndarray):
            return known
        operands = [values[v] if v in values else _known(v) for v in op.operands]
        arrays = [each for each in operands if isinstance(each, np.ndarray)]
        if arrays and len(arrays) == len(operands) and (found := _computed(op, arrays)) is not None:
            return found
        built = [self._built(*each) for each in zip(operands, _types(op), strict=True)]
        copy = op.operation.clone()
        for index, value in enumerate(built):
            copy.operands[index] = value
        return copy.results[0]

    def _built(self, value: _Known, kind: ir.Type) -> ir.Value:
        if isinstance(value, ir.Value):
            return value
        key = value.tobytes(), kind
        if key not in self._constants:
            self._constants[key] = build.dense(value, kind)
        return self._constants[key]


def _types(op: ir.OpView) -> list[ir.Type]:
    return [value.type for value in op.operands]


def _known(value: ir.Value) -> _Known:
    elements = array_of(value)
    if elements is None:
        return value
    if splat_attr(value) is not None:
        return elements.reshape(-1)[:1].reshape(())
    return elements if elements.size <= _MOST_KNOWN else value


def _computed(op: ir.OpView, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    """What an op makes of constants; None where it is not one that loops prepare numbers with."""
    x, *others = operands
    match op:
        case SliceOp() if x.ndim:
            bounds = op.start_indices, op.limit_indices, op.strides
            return x[tuple(slice(*each) for each in zip(*bounds, strict=True))]
        case ReshapeOp() if x.ndim:
            return x.reshape(shape_of(op.result))
        case SliceOp() | ReshapeOp():
            return x
        case BroadcastInDimOp() if x.size == 1:
            return x.reshape(())
        case AddOp() | SubtractOp():
            compute = np.add if isinstance(op, AddOp) else np.subtract
            with np.errstate(over="ignore"):
                return np.asarray(compute(x, others[0]))
        case ConvertOp():
            converted = x.astype(numpy_dtype(element_type(op.result)))
            return converted if (converted.astype(object) == x.astype(object)).all() else None
    return None

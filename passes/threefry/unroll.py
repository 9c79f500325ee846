"""Loops of integer arithmetic, unrolled: the body is copied once for each iteration.

Ops on known constants, such as the rotation amounts that the loop carries, are computed here with
numpy, so that the shifts have constant amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import trip_count
from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.module import module_of
from jxc.ir.shardings import is_partitioned
from jxc.ir.values import element_type, is_integer, shape_of, splat_attr
from jxc.rewrite import exact, rule

from .._shared.recomputed import is_computed_once
from . import cost

_ARITHMETIC = (
    *(hlo.AddOp, hlo.AndOp, hlo.NotOp, hlo.OrOp, hlo.SubtractOp, hlo.XorOp),
    *(hlo.ShiftLeftOp, hlo.ShiftRightArithmeticOp, hlo.ShiftRightLogicalOp),
)
_MOVING = (hlo.BroadcastInDimOp, hlo.ConstantOp, hlo.ConvertOp, hlo.ReshapeOp, hlo.SliceOp)


@rule(exact, targets=("cpu",))
def unroll_integer_loop(op: hlo.WhileOp) -> Sequence[ir.Value] | None:
    """while(x, i < 3, f) -> f(f(f(x))), if f only adds, shifts and masks integers."""
    iterations = trip_count(op)
    if iterations is None or not is_short_integer_loop(op):
        return None
    if is_partitioned(module_of(op)) and not is_computed_once(op.results):
        return None  # jaxlib 0.10.2 cannot materialize values of partitioned programs
    unrolled = UnrolledLoop(op)
    for _ in range(iterations):
        unrolled.append_iteration()
    return unrolled.carried()


def is_short_integer_loop(op: hlo.WhileOp) -> bool:
    """Whether a loop only adds, shifts and masks integers, in few iterations of some work."""
    iterations, body = trip_count(op), op.body.blocks[0]
    if iterations is None or not cost.may_unroll(iterations):
        return False
    *work, _ = body.operations
    if not all(map(_is_integer_work, work)) or not _only_counts(op):
        return False
    if not cost.is_enough_work(sum(isinstance(each, _ARITHMETIC) for each in work)):
        return False
    values = list(op.operand)
    if [value.type for value in values] != [result.type for result in op.results]:
        return False
    return all(isinstance(value.type, ir.RankedTensorType) for value in values)  # no token


def _is_integer_work(op: ir.OpView) -> bool:
    if not isinstance(op, _ARITHMETIC + _MOVING):
        return False
    return all(_is_static_integer(value) for value in (*op.operands, *op.results))


def _is_static_integer(value: ir.Value) -> bool:
    return ir.RankedTensorType(value.type).has_static_shape and is_integer(value)


def _only_counts(op: hlo.WhileOp) -> bool:
    """Whether the condition does nothing but compare."""
    test = op.cond.blocks[0].operations
    return all(isinstance(each, (hlo.CompareOp, hlo.ConstantOp, hlo.ReturnOp)) for each in test)


_MOST_KNOWN = 16  # elements of a constant that is computed with, unless it is a splat
_Known: TypeAlias = ir.Value | np.ndarray
"""A value, or its elements if they are known: an array of its shape, or of rank 0 for a splat."""


class UnrolledLoop:
    """Copies of the body of `loop`, inserted before it."""

    def __init__(self, loop: hlo.WhileOp) -> None:
        *self._work, self._end = loop.body.blocks[0].operations
        self._arguments = list(loop.body.blocks[0].arguments)
        self._carried = [_known(value) for value in loop.operand]
        self._constants: dict[tuple[bytes, ir.Type], ir.Value] = {}

    def append_iteration(self) -> None:
        """Insert a copy of the body."""
        values: dict[ir.Value, _Known] = dict(zip(self._arguments, self._carried, strict=True))
        for op in self._work:
            values[op.results[0]] = self._done(op, values)
        self._carried = [values.get(value, value) for value in self._end.operands]

    def carried(self) -> list[ir.Value]:
        """The carried values after the iterations so far."""
        return [self._built(*each) for each in zip(self._carried, _types(self._end), strict=True)]

    def _done(self, op: ir.OpView, values: Mapping[ir.Value, _Known]) -> _Known:
        if isinstance(op, hlo.ConstantOp) and isinstance(known := _known(op.result), np.ndarray):
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
    """The value of an op on constants; None for ops that are not computed here."""
    x, *others = operands
    match op:
        case hlo.SliceOp() if x.ndim:
            bounds = op.start_indices, op.limit_indices, op.strides
            return x[tuple(slice(*each) for each in zip(*bounds, strict=True))]
        case hlo.ReshapeOp() if x.ndim:
            return x.reshape(shape_of(op.result))
        case hlo.SliceOp() | hlo.ReshapeOp():
            return x
        case hlo.BroadcastInDimOp() if x.size == 1:
            return x.reshape(())
        case hlo.AddOp() | hlo.SubtractOp():
            compute = np.add if isinstance(op, hlo.AddOp) else np.subtract
            with np.errstate(over="ignore"):
                return np.asarray(compute(x, others[0]))
        case hlo.ConvertOp():
            converted = x.astype(numpy_dtype(element_type(op.result)))
            return converted if (converted.astype(object) == x.astype(object)).all() else None
    return None

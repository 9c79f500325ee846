"""What the rules about motion share: which ops work element by element, and how to rebuild one."""

from __future__ import annotations

import math
import typing
from collections.abc import Sequence
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo

from jxc.ir.values import element_type, shape_of

Elementwise: TypeAlias = (
    stablehlo.AbsOp
    | stablehlo.AddOp
    | stablehlo.AndOp
    | stablehlo.Atan2Op
    | stablehlo.CbrtOp
    | stablehlo.CeilOp
    | stablehlo.ClampOp
    | stablehlo.ClzOp
    | stablehlo.CompareOp
    | stablehlo.ComplexOp
    | stablehlo.ConvertOp
    | stablehlo.CosineOp
    | stablehlo.DivOp
    | stablehlo.ExpOp
    | stablehlo.Expm1Op
    | stablehlo.FloorOp
    | stablehlo.ImagOp
    | stablehlo.IsFiniteOp
    | stablehlo.Log1pOp
    | stablehlo.LogOp
    | stablehlo.LogisticOp
    | stablehlo.MaxOp
    | stablehlo.MinOp
    | stablehlo.MulOp
    | stablehlo.NegOp
    | stablehlo.NotOp
    | stablehlo.OrOp
    | stablehlo.PopulationCountOp
    | stablehlo.PowOp
    | stablehlo.RealOp
    | stablehlo.ReducePrecisionOp
    | stablehlo.RemOp
    | stablehlo.RoundNearestEvenOp
    | stablehlo.RoundOp
    | stablehlo.RsqrtOp
    | stablehlo.SelectOp
    | stablehlo.ShiftLeftOp
    | stablehlo.ShiftRightArithmeticOp
    | stablehlo.ShiftRightLogicalOp
    | stablehlo.SignOp
    | stablehlo.SineOp
    | stablehlo.SqrtOp
    | stablehlo.SubtractOp
    | stablehlo.TanOp
    | stablehlo.TanhOp
    | stablehlo.XorOp
    | chlo.AcosOp
    | chlo.AcoshOp
    | chlo.AsinOp
    | chlo.AsinhOp
    | chlo.AtanOp
    | chlo.AtanhOp
    | chlo.BesselI1eOp
    | chlo.ConjOp
    | chlo.CoshOp
    | chlo.DigammaOp
    | chlo.ErfInvOp
    | chlo.ErfOp
    | chlo.ErfcOp
    | chlo.IsInfOp
    | chlo.LgammaOp
    | chlo.MulhiOp
    | chlo.NextAfterOp
    | chlo.PolygammaOp
    | chlo.SinhOp
    | chlo.SquareOp
    | chlo.TanOp
    | chlo.ZetaOp
)
"""Ops whose result has, at each index, a function of their operands at that index.

Scalars beside larger operands (the predicate of `select`, the bounds of `clamp`) meet all of them.
"""

ELEMENTWISE: tuple[type, ...] = typing.get_args(Elementwise)
"""The same, for the rules that look for them among producers."""

_KINDS = frozenset(ELEMENTWISE)


def is_elementwise(op: object) -> bool:
    """Whether `op`, an op or the block of an argument, is one of `Elementwise`."""
    return type(op) in _KINDS


def numeric_shape(*values: ir.Value) -> tuple[int, ...] | None:
    """The extents of the first of `values`, if all are plain static tensors of numbers.

    Quantised types may name the dimension that their scales follow, and an encoding may describe
    dimensions too: what moves dimensions leaves both alone.
    """
    for value in values:
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            return None
        element = kind.element_type
        if not isinstance(element, ir.IntegerType | ir.FloatType | ir.ComplexType):
            return None
        if kind.encoding is not None:
            return None
    return shape_of(values[0])


def is_used_once(value: ir.Value) -> bool:
    """Whether exactly one operand of one op is `value`."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def is_used_only_by(value: ir.Value, op: ir.OpView) -> bool:
    """Whether `value` is dead once `op` is gone."""
    return all(use.owner == op for use in value.uses)


def with_shape(value: ir.Value, shape: Sequence[int]) -> ir.RankedTensorType:
    """The type of a tensor of that shape with the elements of `value`."""
    return ir.RankedTensorType.get(shape, element_type(value))


def rebuilt(op: ir.OpView, operands: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
    """The same op with the same attributes on other operands, its result being of that shape."""
    copy = op.operation.clone()
    for index, operand in enumerate(operands):
        copy.operands[index] = operand
    copy.results[0].set_type(with_shape(copy.results[0], shape))
    return copy.results[0]


def size_of(value: ir.Value) -> int:
    """How many elements a static tensor has."""
    return math.prod(shape_of(value))

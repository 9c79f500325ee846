"""Elementwise ops: ops whose results at an index are functions of their operands at that index."""

from __future__ import annotations

import typing
from typing import TypeAlias

from jaxlib.mlir.dialects import chlo, stablehlo as hlo

_Arithmetic: TypeAlias = hlo.AddOp | hlo.SubtractOp | hlo.MulOp | hlo.DivOp | hlo.RemOp | hlo.NegOp
_Choice: TypeAlias = hlo.ClampOp | hlo.CompareOp | hlo.MaxOp | hlo.MinOp | hlo.SelectOp
_Logic: TypeAlias = hlo.AndOp | hlo.NotOp | hlo.OrOp | hlo.XorOp | hlo.ClzOp | hlo.PopulationCountOp
_Shift: TypeAlias = hlo.ShiftLeftOp | hlo.ShiftRightArithmeticOp | hlo.ShiftRightLogicalOp
_Type: TypeAlias = hlo.ComplexOp | hlo.ConvertOp | hlo.ImagOp | hlo.RealOp | hlo.ReducePrecisionOp
_Rounding: TypeAlias = hlo.CeilOp | hlo.FloorOp | hlo.RoundNearestEvenOp | hlo.RoundOp
_Sign: TypeAlias = hlo.AbsOp | hlo.IsFiniteOp | hlo.SignOp
_Power: TypeAlias = hlo.CbrtOp | hlo.PowOp | hlo.RsqrtOp | hlo.SqrtOp
_Exponential: TypeAlias = hlo.ExpOp | hlo.Expm1Op | hlo.Log1pOp | hlo.LogOp | hlo.LogisticOp
_Angle: TypeAlias = hlo.Atan2Op | hlo.CosineOp | hlo.SineOp | hlo.TanOp | hlo.TanhOp
_ChloAngle: TypeAlias = chlo.AcosOp | chlo.AsinOp | chlo.AtanOp | chlo.TanOp
_ChloHyperbolic: TypeAlias = chlo.AcoshOp | chlo.AsinhOp | chlo.AtanhOp | chlo.CoshOp | chlo.SinhOp
_ChloError: TypeAlias = chlo.ErfInvOp | chlo.ErfOp | chlo.ErfcOp
_ChloGamma: TypeAlias = chlo.DigammaOp | chlo.LgammaOp | chlo.PolygammaOp | chlo.ZetaOp
_ChloOther: TypeAlias = (
    chlo.BesselI1eOp | chlo.ConjOp | chlo.IsInfOp | chlo.MulhiOp | chlo.NextAfterOp | chlo.SquareOp
)
_Stablehlo: TypeAlias = (
    _Arithmetic | _Choice | _Logic | _Shift | _Type | _Rounding | _Sign | _Power | _Exponential
)
Elementwise: TypeAlias = (
    _Stablehlo | _Angle | _ChloAngle | _ChloHyperbolic | _ChloError | _ChloGamma | _ChloOther
)
"""Ops whose result at each index is a function of their operands at that index.

A scalar operand (the predicate of `select`, the bounds of `clamp`) is used at each index.
"""

ELEMENTWISE: tuple[type, ...] = typing.get_args(Elementwise)
"""The same as a tuple, for the `producer` of a rule."""

_KINDS = frozenset(ELEMENTWISE)


def is_elementwise(op: object) -> bool:
    """Whether `op`, an op or the block of an argument, is one of `Elementwise`."""
    return type(op) in _KINDS

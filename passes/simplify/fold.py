"""Elementwise ops on constants, evaluated: exactly, as StableHLO defines them.

Not folded: transcendental functions, whose last bit differs between a host's library and XLA's own
code; integers divided by zero; conversions that StableHLO leaves to the implementation.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import (
    AbsOp,
    AddOp,
    AndOp,
    BitcastConvertOp,
    CeilOp,
    ClampOp,
    ClzOp,
    CompareOp,
    ComplexOp,
    ConvertOp,
    DivOp,
    FloorOp,
    ImagOp,
    IsFiniteOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    NotOp,
    OrOp,
    PopulationCountOp,
    RealOp,
    RemOp,
    RoundNearestEvenOp,
    RoundOp,
    SelectOp,
    ShiftLeftOp,
    ShiftRightArithmeticOp,
    ShiftRightLogicalOp,
    SignOp,
    SqrtOp,
    SubtractOp,
    XorOp,
)

from jxc.ir import build
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import direction_of, element_type, shape_of
from jxc.rewrite import exact, rule

from .fold_arithmetic import compare, evaluate
from .fold_conversion import converted, joined
from .fold_operands import LITERALS, literals

_OfOne: TypeAlias = (
    AbsOp
    | CeilOp
    | ClzOp
    | FloorOp
    | IsFiniteOp
    | NegOp
    | NotOp
    | PopulationCountOp
    | RoundNearestEvenOp
    | RoundOp
    | SignOp
    | SqrtOp
)
_OfTwo: TypeAlias = (
    AddOp
    | AndOp
    | DivOp
    | MaxOp
    | MinOp
    | MulOp
    | OrOp
    | RemOp
    | ShiftLeftOp
    | ShiftRightArithmeticOp
    | ShiftRightLogicalOp
    | SubtractOp
    | XorOp
)


def _constant(array: np.ndarray | None, op: ir.OpView) -> ir.Value | None:
    return None if array is None else build.dense(array, op.results[0].type)


@rule(exact, producer=LITERALS)
def fold_arithmetic(op: _OfOne | _OfTwo | ClampOp) -> ir.Value | None:
    """f(c, d) -> dense<f(c, d)>, integers wrapping around, floats rounded correctly."""
    operands = literals(op)
    if operands is None:
        return None
    name = op.operation.name.removeprefix("stablehlo.")
    return _constant(evaluate(name, operands, element_type(op.operands[-1])), op)


@rule(exact, producer=LITERALS)
def fold_compare(op: CompareOp) -> ir.Value | None:
    """c < d -> dense<c < d>; booleans are unsigned; in the total order -0.0 is before 0.0."""
    operands = literals(op)
    if operands is None:
        return None
    is_total = "TOTALORDER" in str(op.compare_type)
    return _constant(compare(direction_of(op), *operands, in_total_order=is_total), op)


@rule(exact, producer=LITERALS)
def fold_select(op: SelectOp) -> ir.Value | None:
    """select(c, d, e) -> dense<..>."""
    operands = literals(op)
    return None if operands is None else _constant(np.where(*operands), op)


@rule(exact, producer=LITERALS)
def fold_convert(op: ConvertOp) -> ir.Value | None:
    """convert(dense<c>) -> dense<c>, where every implementation comes to the same number."""
    operands = literals(op)
    dtype = numpy_dtype(element_type(op.result))
    if operands is None or dtype is None:
        return None
    return _constant(converted(operands[0], dtype), op)


@rule(exact, producer=LITERALS)
def fold_complex(op: ComplexOp) -> ir.Value | None:
    """complex(c, d) -> dense<(c, d)>."""
    operands = literals(op)
    return None if operands is None else _constant(joined(*operands), op)


@rule(exact, producer=LITERALS)
def fold_part(op: RealOp | ImagOp) -> ir.Value | None:
    """real(dense<(c, d)>) -> dense<c>, imag(dense<(c, d)>) -> dense<d>."""
    operands = literals(op)
    if operands is None or operands[0].dtype.kind != "c":
        return None
    return _constant(operands[0].real if isinstance(op, RealOp) else operands[0].imag, op)


@rule(exact, producer=LITERALS)
def fold_bitcast(op: BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(dense<c>) -> dense<..>, between types of one width, of whole bytes."""
    operands = literals(op)
    dtype = numpy_dtype(element_type(op.result))
    if operands is None or dtype is None or operands[0].dtype.itemsize != dtype.itemsize:
        return None
    if not _are_bytes(operands[0].dtype) or not _are_bytes(dtype):
        return None
    if operands[0].shape != shape_of(op.result):
        return None
    (x,) = operands
    return _constant(np.ascontiguousarray(x).view(dtype).reshape(x.shape), op)


def _are_bytes(dtype: np.dtype) -> bool:
    return dtype.kind != "b" and dtype.name.lstrip("u") not in ("int2", "int4", "float4_e2m1fn")

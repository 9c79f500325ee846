"""Ops that undo each other, and signs that cancel."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    AbsOp,
    AddOp,
    BitcastConvertOp,
    ComplexOp,
    DivOp,
    ImagOp,
    MulOp,
    NegOp,
    NotOp,
    RealOp,
    SubtractOp,
)

from jxc.ir.values import as_result, is_complex, is_float
from jxc.rewrite import exact, rule


@rule(exact, producer=NegOp)
def negate_of_negate(op: NegOp) -> ir.Value | None:
    """-(-x) -> x; integers wrap back."""
    match op.operand.owner:
        case NegOp(operand=x):
            return as_result(x, op)
    return None


@rule(exact, producer=NotOp)
def not_of_not(op: NotOp) -> ir.Value | None:
    """not(not(x)) -> x."""
    match op.operand.owner:
        case NotOp(operand=x):
            return as_result(x, op)
    return None


@rule(exact, producer=SubtractOp)
def negate_of_subtract(op: NegOp) -> ir.Value | None:
    """-(x - y) -> y - x, on integers: for equal floats one is -0.0 and the other 0.0."""
    match op.operand.owner:
        case SubtractOp(lhs=x, rhs=y) if not is_float(x) and not is_complex(x):
            return stablehlo.subtract(y, x, results=[op.result.type])
    return None


@rule(exact, targets=("cpu", "tpu"), producer=NegOp)
def add_of_negate(op: AddOp) -> ir.Value | None:
    """x + (-y) -> x - y, and (-y) + x -> x - y: that is how IEEE 754 defines x - y.

    Not for GPU, where both are one instruction of a kernel, and a loop of NUTS kept one kernel more
    a turn (0.5% of its time on H100 by their rooflines).
    """
    for x, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        match other.owner:
            case NegOp(operand=y):
                return stablehlo.subtract(x, y, results=[op.result.type])
    return None


@rule(exact, producer=NegOp)
def subtract_of_negate(op: SubtractOp) -> ir.Value | None:
    """x - (-y) -> x + y."""
    match op.rhs.owner:
        case NegOp(operand=y):
            return stablehlo.add(op.lhs, y, results=[op.result.type])
    return None


@rule(exact, producer=NegOp)
def multiply_of_negates(op: MulOp) -> ir.Value | None:
    """(-x) * (-y) -> x * y, on real numbers."""
    match op.lhs.owner, op.rhs.owner:
        case NegOp(operand=x), NegOp(operand=y) if not is_complex(x):
            return stablehlo.multiply(x, y, results=[op.result.type])
    return None


@rule(exact, producer=NegOp)
def divide_of_negates(op: DivOp) -> ir.Value | None:
    """(-x) / (-y) -> x / y, on floats: integers overflow where x is the least and y is 1."""
    match op.lhs.owner, op.rhs.owner:
        case NegOp(operand=x), NegOp(operand=y) if is_float(x):
            return stablehlo.divide(x, y, results=[op.result.type])
    return None


@rule(exact, producer=NegOp)
def abs_of_negate(op: AbsOp) -> ir.Value | None:
    """|-x| -> |x|, on real numbers; the least integer is its own negative."""
    match op.operand.owner:
        case NegOp(operand=x) if not is_complex(x):
            return stablehlo.abs(x, results=[op.result.type])
    return None


@rule(exact, producer=AbsOp)
def abs_of_abs(op: AbsOp) -> ir.Value | None:
    """||x|| -> |x|."""
    match op.operand.owner:
        case AbsOp(result=inner):
            return as_result(inner, op)
    return None


@rule(exact, producer=ComplexOp)
def real_of_complex(op: RealOp) -> ir.Value | None:
    """real(complex(x, y)) -> x."""
    match op.operand.owner:
        case ComplexOp(lhs=x):
            return as_result(x, op)
    return None


@rule(exact, producer=ComplexOp)
def imag_of_complex(op: ImagOp) -> ir.Value | None:
    """imag(complex(x, y)) -> y."""
    match op.operand.owner:
        case ComplexOp(rhs=y):
            return as_result(y, op)
    return None


@rule(exact, producer=RealOp)
def complex_of_parts(op: ComplexOp) -> ir.Value | None:
    """complex(real(z), imag(z)) -> z."""
    match op.lhs.owner, op.rhs.owner:
        case RealOp(operand=z), ImagOp(operand=w) if z == w:
            return as_result(z, op)
    return None


@rule(exact, producer=BitcastConvertOp)
def bitcast_of_bitcast(op: BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(bitcast_convert(x)) -> x, back to the type of x."""
    match op.operand.owner:
        case BitcastConvertOp(operand=x):
            return as_result(x, op)
    return None

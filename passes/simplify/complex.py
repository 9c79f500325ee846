"""Real and imaginary parts, taken before the numbers are put together or worked with."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    ComplexOp,
    ConvertOp,
    ImagOp,
    NegOp,
    RealOp,
    SelectOp,
    SubtractOp,
)

from jxc.ir import build
from jxc.ir.values import as_result, element_type, is_complex, is_float, static_shape
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once


def _part(op: RealOp | ImagOp, z: ir.Value) -> ir.Value:
    """The part of `z` that `op` takes."""
    return stablehlo.real(z) if isinstance(op, RealOp) else stablehlo.imag(z)


@rule(exact)
def part_of_real(op: RealOp | ImagOp) -> ir.Value | None:
    """real(x) -> x, imag(x) -> 0, of real numbers."""
    if is_complex(op.operand):
        return None
    if isinstance(op, RealOp):
        return as_result(op.operand, op)
    return None if static_shape(op.result) is None else build.splat(0.0, op.result.type)


@rule(exact, producer=(AddOp, SubtractOp))
def part_of_sum(op: RealOp | ImagOp) -> ir.Value | None:
    """real(z + w) -> real(z) + real(w), with minus too, if one is made of parts or none is needed.

    A product mixes the parts.
    """
    match op.operand.owner:
        case AddOp(lhs=z, rhs=w) | SubtractOp(lhs=z, rhs=w) as producer if is_complex(z):
            is_apart = isinstance(z.owner, ComplexOp) or isinstance(w.owner, ComplexOp)
            if not is_apart and not is_used_once(op.operand):
                return None
            build_op = stablehlo.add if isinstance(producer, AddOp) else stablehlo.subtract
            return build_op(_part(op, z), _part(op, w), results=[op.result.type])
    return None


@rule(exact, producer=NegOp)
def part_of_negate(op: RealOp | ImagOp) -> ir.Value | None:
    """real(-z) -> -real(z), if z is made of parts or the other part is not used."""
    match op.operand.owner:
        case NegOp(operand=z) if is_complex(z):
            if isinstance(z.owner, ComplexOp) or is_used_once(op.operand):
                return stablehlo.negate(_part(op, z), results=[op.result.type])
    return None


@rule(exact, producer=SelectOp)
def part_of_select(op: RealOp | ImagOp) -> ir.Value | None:
    """real(select(p, z, w)) -> select(p, real(z), real(w)), of two made of parts."""
    match op.operand.owner:
        case SelectOp(pred=p, on_true=z, on_false=w):
            if isinstance(z.owner, ComplexOp) and isinstance(w.owner, ComplexOp):
                return stablehlo.select(p, _part(op, z), _part(op, w), results=[op.result.type])
    return None


@rule(exact, producer=ConvertOp)
def part_of_convert(op: RealOp | ImagOp) -> ir.Value | None:
    """real(convert(z)) -> convert(real(z)), of a complex z as in `part_of_sum`; of a real x,
    real(convert(x)) -> convert(x) and imag(convert(x)) -> 0."""
    match op.operand.owner:
        case ConvertOp(operand=z) if is_complex(op.operand):
            if is_complex(z):
                is_apart = isinstance(z.owner, ComplexOp) or is_used_once(op.operand)
                return stablehlo.convert(op.result.type, _part(op, z)) if is_apart else None
            if isinstance(op, RealOp):
                return _converted(z, op.result.type)
            if static_shape(op.result) is not None:
                return build.splat(0.0, op.result.type)
    return None


@rule(exact, producer=ComplexOp)
def convert_of_complex(op: ConvertOp) -> ir.Value | None:
    """convert(complex(x, y)) -> convert(x), to real floats: the real part is kept."""
    match op.operand.owner:
        case ComplexOp(lhs=x) if is_float(op.result):
            return _converted(x, op.result.type)
    return None


def _converted(x: ir.Value, kind: ir.Type) -> ir.Value:
    same = element_type(x) == ir.RankedTensorType(kind).element_type
    return x if same and x.type == kind else stablehlo.convert(kind, x)

"""Complex numbers: parts are taken before numbers are made of parts, added or converted."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import as_result, is_complex, is_float
from jxc.rewrite import equation, exact, rule

from .._shared.elementwise import is_used_once


def _part(op: hlo.RealOp | hlo.ImagOp, z: ir.Value) -> ir.Value:
    """The part of `z` that `op` takes."""
    return hlo.real(z) if isinstance(op, hlo.RealOp) else hlo.imag(z)


@equation(exact)
def real_of_complex() -> None:
    """real(complex(x, y)) -> x."""


@equation(exact)
def imag_of_complex() -> None:
    """imag(complex(x, y)) -> y."""


@equation(exact)
def complex_of_parts() -> None:
    """complex(real(z), imag(z)) -> z."""


@rule(exact)
def part_of_real(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(x) -> x, imag(x) -> 0, of real numbers."""
    if is_complex(op.operand):
        return None
    is_real = isinstance(op, hlo.RealOp)
    return as_result(op.operand, op) if is_real else build.splat_result(0.0, op)


@rule(exact, producer=(hlo.AddOp, hlo.SubtractOp))
def part_of_sum(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(z + w) -> real(z) + real(w), also for z - w and for imag.

    If z or w is made of parts, or nothing else uses the sum.
    """
    match op.operand.owner:
        case hlo.AddOp(lhs=z, rhs=w) | hlo.SubtractOp(lhs=z, rhs=w) as producer if is_complex(z):
            if _is_apart(z) or _is_apart(w) or is_used_once(op.operand):
                build_op = hlo.add if isinstance(producer, hlo.AddOp) else hlo.subtract
                return build_op(_part(op, z), _part(op, w), results=[op.result.type])
    return None


def _is_apart(z: ir.Value) -> bool:
    return isinstance(z.owner, hlo.ComplexOp)


@rule(exact, producer=hlo.NegOp)
def part_of_negate(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(-z) -> -real(z), also for imag, if z is made of parts or nothing else uses -z."""
    match op.operand.owner:
        case hlo.NegOp(operand=z) if is_complex(z):
            if _is_apart(z) or is_used_once(op.operand):
                return hlo.negate(_part(op, z), results=[op.result.type])
    return None


@rule(exact, producer=hlo.SelectOp)
def part_of_select(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(select(p, z, w)) -> select(p, real(z), real(w)), also for imag, if both have parts."""
    match op.operand.owner:
        case hlo.SelectOp(pred=p, on_true=z, on_false=w):
            if _is_apart(z) and _is_apart(w):
                return hlo.select(p, _part(op, z), _part(op, w), results=[op.result.type])
    return None


@rule(exact, producer=hlo.ConvertOp)
def part_of_convert(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(convert(z)) -> convert(real(z)), also for imag.

    If z is made of parts, or nothing else uses convert(z). Of a real x: real(convert(x)) ->
    convert(x), imag(convert(x)) -> 0.
    """
    match op.operand.owner:
        case hlo.ConvertOp(operand=z) if is_complex(op.operand):
            if is_complex(z):
                if not _is_apart(z) and not is_used_once(op.operand):
                    return None
                return hlo.convert(op.result.type, _part(op, z))
            is_real = isinstance(op, hlo.RealOp)
            return _converted(z, op.result.type) if is_real else build.splat_result(0.0, op)
    return None


@rule(exact, producer=hlo.ComplexOp)
def convert_of_complex(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(complex(x, y)) -> convert(x), to a type of real floats, which drops y."""
    match op.operand.owner:
        case hlo.ComplexOp(lhs=x) if is_float(op.result):
            return _converted(x, op.result.type)
    return None


def _converted(x: ir.Value, kind: ir.Type) -> ir.Value:
    return x if x.type == kind else hlo.convert(kind, x)

"""Clamps that are a maximum or a minimum, or that repeat what another one has done."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ClampOp

from jxc.ir import build
from jxc.ir.values import SPLATS, is_same, shape_of, splat_attr, static_shape
from jxc.rewrite import exact, rule

from .identities import is_extreme


@rule(exact, producer=SPLATS)
def clamp_to_minimum(op: ClampOp) -> ir.Value | None:
    """clamp(the least value of its type, x, b) -> min(x, b): -inf on floats."""
    if not is_extreme(op.min, least=True) or not _fits(op.max, op):
        return None
    return stablehlo.minimum(op.operand, _widened(op.max, op), results=[op.result.type])


@rule(exact, producer=SPLATS)
def clamp_to_maximum(op: ClampOp) -> ir.Value | None:
    """clamp(a, x, the greatest value of its type) -> max(x, a): inf on floats."""
    if not is_extreme(op.max, least=False) or not _fits(op.min, op):
        return None
    return stablehlo.maximum(op.operand, _widened(op.min, op), results=[op.result.type])


def _fits(bound: ir.Value, op: ClampOp) -> bool:
    """Whether a bound has the shape of the result, or is a constant that can be made so."""
    if bound.type == op.operand.type == op.result.type:
        return True
    return splat_attr(bound) is not None and static_shape(op.result) is not None


def _widened(bound: ir.Value, op: ClampOp) -> ir.Value:
    element = splat_attr(bound)
    if shape_of(bound) == shape_of(op.result) or element is None:
        return bound
    return build.splat(element, op.result.type)


@rule(exact, producer=ClampOp)
def clamp_of_clamp(op: ClampOp) -> ir.Value | None:
    """clamp(a, clamp(a, x, b), b) -> clamp(a, x, b)."""
    match op.operand.owner:
        case ClampOp(min=a, max=b, result=inner) if inner.type == op.result.type:
            if is_same(a, op.min) and is_same(b, op.max):
                return inner
    return None

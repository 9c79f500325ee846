"""Cube roots."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import CbrtOp

from jxc.passes.elementary import cost as cost
from jxc.rewrite import approximates, rule

from .arithmetic import Bits, polynomial, where
from .operands import elements_of, is_spread, narrowed, result, single, widened

_GUESS = 0x553EF0FF
"""Less a third of the upper bits of an f64, these are near those of 1 over its cube root."""


@rule(approximates(ulps=0.501), targets=("cpu",))
def cube_root_to_iteration(op: CbrtOp) -> ir.Value | None:
    """cbrt(x) -> x y y, y two steps of an iteration towards 1 / cbrt(|x|); x itself if infinite."""
    if elements_of(op.operand) < cost.LEAST_ELEMENTS or is_spread(op.result):
        return None
    x = single(op.operand)
    wide = widened(x)
    size = abs(wide)
    y = ((_GUESS - (Bits.of(size) >> 32).to(32) // 3).to(64) << 32).as_f64()
    y = y * polynomial(1.0 - size * y * y * y, (1.0, 1 / 3, 2 / 9, 14 / 81))
    y = y * polynomial(1.0 - size * y * y * y, (1.0, 1 / 3, 2 / 9))
    return result(where(abs(x).equals(float("inf")), x, narrowed(wide * y * y)), op)

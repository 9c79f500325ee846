"""Absolute values that are written with other ops."""

from jaxlib.mlir.dialects.stablehlo import AbsOp, MaxOp, NegOp
from jaxlib.mlir.ir import Value

import jxc


@jxc.rule(jxc.exact, producer=NegOp)
def max_of_negate(op: MaxOp) -> Value | None:
    """max(x, -x) -> |x|, on floats."""
    if not jxc.ir.is_float(op.lhs):
        return None
    for x, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        match other.owner:
            case NegOp(operand=negated) if negated == x:
                return AbsOp(x).result
    return None

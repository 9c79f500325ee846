"""A rule that is wrong only for NaN and infinities, which `jxc verify` must find."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import SubtractOp

from jxc import exact, rule
from jxc.ir.build import splat


@rule(exact)
def subtract_of_same(op: SubtractOp) -> ir.Value | None:
    """x - x -> 0: wrong if x is NaN or infinite."""
    return splat(0, op.result.type) if op.lhs == op.rhs else None

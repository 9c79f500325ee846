"""A wrong rule that `--diff-plain` must find."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import SineOp

from jxc import exact, rule


@rule(exact)
def wrong_sine(op: SineOp) -> ir.Value | None:
    """sin x -> cos x: wrong."""
    return stablehlo.cosine(op.operand)

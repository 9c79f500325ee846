"""A wrong rule, which `--diff-plain` must catch."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import SineOp

from jxc import exact, rule


@rule(exact)
def wrong_sine(op: SineOp) -> ir.Value | None:
    """sin x -> cos x, which it is not."""
    return stablehlo.cosine(op.operand)

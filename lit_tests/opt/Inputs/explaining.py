"""A rule that says why it leaves an op alone."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import AddOp, SubtractOp

from jxc import exact, rule
from jxc.rewrite import NoMatch, no_match


@rule(exact)
def difference_of_sum(op: SubtractOp) -> ir.Value | NoMatch:
    """(x + y) - y -> x, on integers: floats round."""
    match op.lhs.owner:
        case AddOp(lhs=x, rhs=y) if y == op.rhs:
            return x
    return no_match("the minuend isn't a sum")

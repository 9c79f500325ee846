"""log(exp(x) + exp(y)), as JAX writes it."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir.values import direction_of

_NAMES = (
    *("maximum", "subtract", "compare", "add", "abs", "negate", "exponential", "log_plus_one"),
    *("add", "select", "return"),
)


def logaddexp(x: ir.Value, y: ir.Value) -> ir.Value:
    """log(exp(x) + exp(y)) without overflow; x + y where the difference is NaN."""
    greatest = stablehlo.maximum(x, y)
    difference = stablehlo.subtract(x, y)
    unequal = stablehlo.ComparisonDirectionAttr.get("NE")
    is_nan = stablehlo.compare(difference, difference, unequal)
    both = stablehlo.add(x, y)
    distance = stablehlo.negate(stablehlo.abs(difference))
    rest = stablehlo.log_plus_one(stablehlo.exponential(distance))
    return stablehlo.select(is_nan, both, stablehlo.add(greatest, rest))


def is_logaddexp(block: ir.Block) -> bool:
    """Whether the body of a reduction is that, op by op, in the order in which JAX writes it."""
    ops = list(block.operations)
    if tuple(op.operation.name.removeprefix("stablehlo.") for op in ops) != _NAMES:
        return False
    x, y = block.arguments
    top, gap, nan, both, size, minus, exp, log, total, chosen = (op.results[0] for op in ops[:-1])
    expected = (
        *((x, y), (x, y), (gap, gap), (x, y), (gap,), (size,), (minus,), (exp,)),
        *((top, log), (nan, both, total), (chosen,)),
    )
    wired = all(tuple(op.operands) == of for op, of in zip(ops, expected, strict=True))
    return wired and direction_of(ops[2]) == "NE"

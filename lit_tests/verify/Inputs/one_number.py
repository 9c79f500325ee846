"""A rule that is wrong for one number, and a program whose own arguments have it."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp

from jxc import exact, rule
from jxc.ir import build


def doubled(unused, x):
    return jnp.cos(x + x) + 1, x + x


def arguments():
    return jax.ShapeDtypeStruct((2,), jnp.float32), np.array([1, 41.375, 2], np.float32)


@rule(exact)
def wrong_sum(op: AddOp) -> ir.Value | None:
    """x + x -> 2x, but x where x is 41.375: wrong."""
    if op.lhs != op.rhs:
        return None
    number, two = (build.splat(each, op.lhs.type) for each in (41.375, 2))
    is_number = stablehlo.compare(op.lhs, number, stablehlo.ComparisonDirectionAttr.get("EQ"))
    return stablehlo.select(is_number, op.lhs, stablehlo.multiply(op.lhs, two))

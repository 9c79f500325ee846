"""Sums that start from 0.0, as StableHLO's do: the sum of -0.0 alone is 0.0, not -0.0.

XLA's importer folds `0.0 + x` and `x - -0.0` into `x`, which is wrong where x is -0.0: then
`atan2(sum, -1.0)` is -pi instead of pi. These functions use a `select` on `x == 0.0`, which neither
XLA nor the passes fold. Its cost is within noise in kernels that sum three terms or more.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import copysign

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_float, shape_of, splat_of


def plus_zero(x: ir.Value) -> ir.Value:
    """x + 0.0: floats with 0.0 in place of -0.0. Integers and complex numbers stay as they are."""
    if not is_float(x):
        return x
    zero = build.splat(0, x.type)
    return hlo.select(build.compare("EQ", x, zero), zero, x)


def add_to_initial(initial: ir.Value, x: ir.Value) -> ir.Value:
    """initial + x in the type of x, for the initial value of a reduction, a scalar."""
    if (number := splat_of(initial)) == 0:
        return plus_zero(x) if copysign(1, number) > 0 else x
    start = build.broadcast(build.convert(initial, element_type(x)), shape_of(x), [])
    return hlo.add(start, x)


def sum_from_zero(terms: Iterable[ir.Value]) -> ir.Value:
    """0.0 + terms[0] + terms[1] + ..., added in this order; at least one term."""
    first, *rest = terms
    return reduce(hlo.add, rest, plus_zero(first))

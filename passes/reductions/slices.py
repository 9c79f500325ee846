"""Reductions over few elements: one slice for each, combined in order."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu import are_few_wide_rows
from jxc.cost.rates import IS_OLD
from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, shape_of, static_shape, users
from jxc.rewrite import reassociates, rule

from .._shared.reduce_body import combiner_of, is_neutral
from .._shared.signed_zero import add_to_initial

MOST_SLICES = 16
"""The most neighbors that are written as slices to be priced.

In jaxlib 0.10 more, of rows of many elements: 32 rows of 100,000 f32 were added in 29 ms, and as
slices in 0.2.
"""

_MOST_VISITED = 8  # ops after the reduction

_COMBINE = {"add": hlo.add, "maximum": hlo.maximum, "minimum": hlo.minimum}


@rule(reassociates, priced=True)
def reduce_to_slices(op: hlo.ReduceOp) -> ir.Value | None:
    """reduce(x: [n, 3], a) -> a + x[:, 0] + x[:, 1] + x[:, 2], for sums and extrema of floats.

    16-bit floats are combined in f32, as in XLA. A neutral `a` is left out, except that sums start
    from 0.0 if it is 0.0.
    """
    shape, dims = static_shape(*op.operands), sorted(op.dimensions)
    if shape is None or len(op.results) > 1:
        return None
    kept, count = shape_of(op.result), prod(shape[dim] for dim in dims)
    is_wide = dims == list(range(len(dims))) and are_few_wide_rows(count, prod(kept))
    if count < 2 or (count > MOST_SLICES and not (IS_OLD and is_wide)):
        return None
    combine = _COMBINE.get(combiner_of(op) or "")
    accumulator = _accumulator(op.inputs[0])
    if combine is None or accumulator is None:
        return None
    if count > MOST_SLICES and combine is not hlo.add and accumulator != element_type(op.result):
        return None  # XLA may take extrema of 16-bit floats in their own type
    terms = [
        build.convert(build.reshape(each, kept), accumulator)
        for each in _slices(op.inputs[0], dims)
    ]
    initial = op.init_values[0]
    if combine is hlo.add:
        terms[0] = add_to_initial(initial, terms[0])
    elif not is_neutral(combiner_of(op) or "", initial):
        terms.insert(0, build.broadcast(build.convert(initial, accumulator), kept, []))
    result = build.convert(functools.reduce(combine, terms), element_type(op.result))
    is_read_again = len(users(op.result)) > 1 or (is_wide and _is_repeated(op.result))
    return materialize(result) if is_read_again else result


def _is_repeated(value: ir.Value) -> bool:
    """Whether XLA would combine the terms again for each element of a broadcast of their sum."""
    pending = [value]
    for _ in range(_MOST_VISITED):
        if not pending:
            break
        for user in users(pending.pop()):
            if isinstance(user, hlo.BroadcastInDimOp) and _grows(user):
                return True
            if is_elementwise(user) or isinstance(user, hlo.BroadcastInDimOp | hlo.ReshapeOp):
                pending += user.results
    return False


def _grows(op: hlo.BroadcastInDimOp) -> bool:
    return prod(shape_of(op.result)) > prod(shape_of(op.operand))


def _accumulator(value: ir.Value) -> ir.Type | None:
    """The type that floats are combined in; None for types that were not measured."""
    match str(element_type(value)):
        case "f32" | "f64":
            return element_type(value)
        case "f16" | "bf16":
            return ir.F32Type.get()
    return None


def _slices(value: ir.Value, dims: Sequence[int]) -> Iterator[ir.Value]:
    """Yield a slice for each position in `dims`, of extent 1 there."""
    shape = shape_of(value)
    for positions in product(*(range(shape[dim]) for dim in dims)):
        at = zip(dims, positions, strict=True)
        yield build.slice_along(value, {dim: range(i, i + 1) for dim, i in at})

"""Argmax and argmin as two plain reductions: the value first, then its first position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import direction_of, element_type, is_splat, is_used, shape_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.reduce_body import is_neutral

MOST_COUNTED = 1 << 24
"""Positions up to this one are exact in f32."""

MOST_STORED = 1 << 20
"""The most elements: XLA may materialize them and their positions, 4 bytes each.

XLA's own argmax needs a few hundred bytes. Prices do not include memory.
"""

_CHOICES: dict[str, tuple[str, Callable[..., ir.Value]]] = {
    "GT": ("maximum", hlo.maximum),
    "LT": ("minimum", hlo.minimum),
}


@rule(exact, priced=True)
def argument_to_two_reductions(op: hlo.ReduceOp) -> Sequence[ir.Value] | None:
    """argmax(x) -> min(select(x == max(x), position, inf)), and the same for argmin, of f32.

    The result is the first position of the greatest element or of a NaN, as in JAX: positions of
    NaNs are counted from below 0, because XLA:CPU's max may ignore a NaN. Positions are f32, which
    XLA reduces fastest.
    """
    shape = static_shape(*op.operands)
    if shape is None or len(op.inputs) != 2 or len(op.dimensions) != 1 or is_used(op.results[0]):
        return None
    x, positions = op.inputs
    (dim,) = op.dimensions
    if not 0 < shape[dim] <= MOST_COUNTED or prod(shape) > MOST_STORED:
        return None
    if str(element_type(x)) != "f32":
        return None
    direction = _direction(op)
    if direction not in _CHOICES or not _counts(positions, dim):
        return None
    name, choose = _CHOICES[direction]
    if not is_neutral(name, op.init_values[0]) or not is_splat(op.init_values[1], 0):
        return None
    best = build.reduce(x, op.init_values[0], [dim], choose)
    places = _positions_of(x, best, dim)
    infinity = build.scalar(float("inf"), element_type(x))
    first = build.reduce(places, infinity, [dim], hlo.minimum)
    return [best, build.convert(_from_front(first, shape[dim]), element_type(positions))]


def _counts(value: ir.Value, dim: int) -> bool:
    """Whether `value` is an iota along `dim`, of i32 or ui32 or wider."""
    element = element_type(value)
    is_wide = isinstance(element, ir.IntegerType) and element.width >= 32
    match value.owner:
        case hlo.IotaOp(iota_dimension=along):
            return is_wide and along.value == dim
    return False


def _direction(op: hlo.ReduceOp) -> str | None:
    """ "GT" where the body is JAX's argmax, "LT" where it is its argmin."""
    block = op.body.blocks[0]
    x, i, y, j = block.arguments
    match list(block.operations[len(block.operations) - 1].operands):
        case [ir.Value(owner=hlo.SelectOp(pred=better, on_true=a, on_false=b)), place]:
            chosen = place.owner
            if (a, b) != (x, y) or not isinstance(chosen, hlo.SelectOp):
                return None
            if (chosen.on_true, chosen.on_false) != (i, j):
                return None
            return _better(better, x, y) if _or_earlier(chosen.pred, better, block) else None
    return None


def _better(value: ir.Value, x: ir.Value, y: ir.Value) -> str | None:
    """The direction of (x > y) | (x != x)."""
    match value.owner:
        case hlo.OrOp(lhs=compared, rhs=is_nan) if _compares(is_nan, x, x) == "NE":
            return _compares(compared, x, y)
    return None


def _or_earlier(value: ir.Value, better: ir.Value, block: ir.Block) -> bool:
    """Whether `value` is better | ((x == y) & (i < j))."""
    x, i, y, j = block.arguments
    match value.owner:
        case hlo.OrOp(lhs=first, rhs=second) if first == better:
            match second.owner:
                case hlo.AndOp(lhs=same, rhs=earlier):
                    return _compares(same, x, y) == "EQ" and _compares(earlier, i, j) == "LT"
    return False


def _compares(value: ir.Value, x: ir.Value, y: ir.Value) -> str | None:
    """How `value` compares x with y; None where it does something else."""
    match value.owner:
        case hlo.CompareOp(lhs=lhs, rhs=rhs) as op if (lhs, rhs) == (x, y):
            return None if "TOTALORDER" in str(op.compare_type) else direction_of(op)
    return None


def _positions_of(x: ir.Value, best: ir.Value, dim: int) -> ir.Value:
    """The positions of the best along `dim`, minus the extent for NaNs; infinity elsewhere."""
    shape = shape_of(x)
    broadcast = build.broadcast(best, shape, [i for i in range(len(shape)) if i != dim])
    positions = hlo.iota(x.type, dim)
    below = hlo.subtract(positions, build.splat(shape[dim], x.type))
    elsewhere = build.splat(float("inf"), x.type)
    of_best = hlo.select(build.compare("EQ", x, broadcast), positions, elsewhere)
    return hlo.select(build.compare("NE", x, x), below, of_best)


def _from_front(positions: ir.Value, size: int) -> ir.Value:
    """The positions, those below 0 counted from the end of an axis of `size`."""
    is_below = build.compare("LT", positions, build.splat(0, positions.type))
    above = hlo.add(positions, build.splat(size, positions.type))
    return hlo.select(is_below, above, positions)

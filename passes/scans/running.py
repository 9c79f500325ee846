"""Cumulative sums, products, maxima and the like: windows as long as the operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import direction_of, element_type, is_float, shape_of
from jxc.rewrite import PassContext, exact, reassociates, rule

from .._shared.reduce_body import combiner_of, is_exact_in_any_order, is_neutral_start
from .._shared.window import WindowAxis
from ..pooling import geometry
from . import cost
from .cost import Scan
from .loop import Fold, scanned

Combiner = Callable[[ir.Value, ir.Value], ir.Value]

_LOGADDEXP_OPS = (
    *("maximum", "subtract", "compare", "add", "abs", "negate", "exponential", "log_plus_one"),
    *("add", "select", "return"),
)


def logaddexp(x: ir.Value, y: ir.Value) -> ir.Value:
    """log(exp(x) + exp(y)) without overflow; x + y where the difference is NaN."""
    greatest = hlo.maximum(x, y)
    difference = hlo.subtract(x, y)
    is_nan = build.compare("NE", difference, difference)
    both = hlo.add(x, y)
    distance = hlo.negate(hlo.abs(difference))
    rest = hlo.log_plus_one(hlo.exponential(distance))
    return hlo.select(is_nan, both, hlo.add(greatest, rest))


def is_logaddexp(block: ir.Block) -> bool:
    """Whether a reduction's body is `logaddexp`, op by op, in JAX's order."""
    ops = list(block.operations)
    if tuple(op.operation.name.removeprefix("stablehlo.") for op in ops) != _LOGADDEXP_OPS:
        return False
    x, y = block.arguments
    top, gap, nan, both, size, minus, exp, log, total, chosen = (op.results[0] for op in ops[:-1])
    expected = (
        *((x, y), (x, y), (gap, gap), (x, y), (gap,), (size,), (minus,), (exp,)),
        *((top, log), (nan, both, total), (chosen,)),
    )
    wired = all(tuple(op.operands) == of for op, of in zip(ops, expected, strict=True))
    return wired and direction_of(ops[2]) == "NE"


_FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)

_COMBINERS: dict[str, Combiner] = {
    "add": hlo.add,
    "multiply": hlo.multiply,
    "maximum": hlo.maximum,
    "minimum": hlo.minimum,
    "and": hlo.and_,
    "or": hlo.or_,
    "logaddexp": logaddexp,
}

_ROUNDED = ("add", "multiply", "logaddexp")


@rule(exact, targets=("cpu",), by_rates=True)
def running_reduction_to_loop(op: hlo.ReduceWindowOp, context: PassContext) -> ir.Value | None:
    """reduce_window(x, f) -> y[i] = f(y[i - 1], x[i]), for windows of all elements up to each.

    For f whose order cannot matter: maximum and minimum, integers, booleans. Also from the last
    element on, and in blocks whose totals are scanned and combined with the following blocks.
    """
    name = combiner_of(op)
    if name is None or not is_exact_in_any_order(name, op.inputs[0]):
        return None
    return _looped(op, name, context)


@rule(reassociates, targets=("cpu",), by_rates=True)
def running_sum_to_loop(op: hlo.ReduceWindowOp, context: PassContext) -> ir.Value | None:
    """reduce_window(x, f) -> y[i] = f(y[i - 1], x[i]), for windows of all elements up to each.

    For sums of floats, products from the first element on, and log-sum-exp; 16-bit floats in f32. A
    NaN or an infinity affects only the elements after it.
    """
    x = op.inputs[0]
    name = combiner_of(op) or ("logaddexp" if is_logaddexp(op.body.blocks[0]) else None)
    if name not in _ROUNDED or not is_float(x) or is_exact_in_any_order(name, x):
        return None
    return _looped(op, name, context)


def _looped(op: hlo.ReduceWindowOp, name: str, context: PassContext) -> ir.Value | None:
    (x,), (start,) = op.inputs, op.init_values
    axes = geometry.read(op, x, op.results[0])
    if axes is None or not _is_plain(x) or not is_neutral_start(name, start):
        return None
    dim = _dimension(axes)
    if dim is None:
        return None
    scan = _scan(x, dim, name)
    plan = cost.plan_of(context.rates, scan)
    if plan is None or (scan.is_ordered and (axes[dim].high or len(plan) > 1)):
        return None
    fold = Fold(
        combine=_COMBINERS[name],
        start=build.convert(start, _accumulator(x, name)),
        is_reverse=axes[dim].high > 0,
    )
    return scanned(x, dim, fold, plan)


def _is_plain(x: ir.Value) -> bool:
    element = element_type(x)
    return isinstance(element, _FLOATS) or (
        isinstance(element, ir.IntegerType) and element.width not in (2, 4)
    )


def _must_keep_order(name: str, x: ir.Value) -> bool:
    """Whether order matters: a product of floats may underflow or overflow in some orders only."""
    return name == "multiply" and is_float(x)


def _dimension(axes: Sequence[WindowAxis]) -> int | None:
    """The one dimension along which windows hold all elements up to each, or all from each on."""
    moved = [dim for dim, axis in enumerate(axes) if axis != WindowAxis(axis.size, 1, axis.size)]
    if len(moved) != 1 or (axis := axes[moved[0]]).size < cost.SHORTEST:
        return None
    whole = WindowAxis(axis.size, axis.size, axis.size)
    runs = (replace(whole, low=axis.size - 1), replace(whole, high=axis.size - 1))
    return moved[0] if axis in runs else None


def _scan(x: ir.Value, dim: int, name: str) -> Scan:
    shape = shape_of(x)
    return Scan(
        outer=prod(shape[:dim]),
        length=shape[dim],
        inner=prod(shape[dim + 1 :]),
        bytes=-(-element_type(x).width // 8),
        is_log=name == "logaddexp",
        is_rounded=name != "multiply" and not is_exact_in_any_order(name, x),
        is_ordered=_must_keep_order(name, x),
    )


def _accumulator(x: ir.Value, name: str) -> ir.Type:
    """f32 for sums of 16-bit floats, whose errors would add up."""
    element = element_type(x)
    if isinstance(element, (ir.F16Type, ir.BF16Type)) and not is_exact_in_any_order(name, x):
        return ir.F32Type.get()
    return element

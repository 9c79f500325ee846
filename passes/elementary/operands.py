"""What the rules share: which tensors they take, and the way to float64 and back."""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import BroadcastInDimOp, ConvertOp, ReduceOp, ReshapeOp

from jxc.ir import build
from jxc.ir.values import element_type, shape_of, users

from .arithmetic import Real

_NARROW = (ir.F32Type, ir.F16Type, ir.BF16Type)
_LOOKED_AT = 16


def elements_of(value: ir.Value) -> int:
    """How many elements there are; 0 unless they are f32, f16 or bf16 of static shape."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not isinstance(kind.element_type, _NARROW):
        return 0
    return prod(kind.shape) if kind.has_static_shape and kind.encoding is None else 0


def single(value: ir.Value) -> Real:
    """As f32."""
    return Real(build.convert(value, ir.F32Type.get()))


def widened(x: Real) -> Real:
    """As f64, in which every operation on an f32 has 29 bits or more to spare."""
    return x.to(ir.F64Type.get())


def narrowed(x: Real) -> Real:
    """Rounded to f32."""
    return x.to(ir.F32Type.get())


def result(value: Real, op: ir.OpView) -> ir.Value:
    """What replaces `op`: kept from being computed again in each of several users."""
    found = build.convert(value.value, element_type(op.results[0]))
    return found if len(users(op.results[0])) < 2 else stablehlo.optimization_barrier([found])


def is_spread(value: ir.Value) -> bool:
    """Whether an element is used for a whole row: XLA may compute it alone, not as a vector."""
    return any(_spreads(user) for user in users(value))


def _spreads(user: ir.OpView) -> bool:
    match user:
        case ReshapeOp() | ConvertOp():
            return is_spread(user.result)
        case BroadcastInDimOp():
            shape, kept = shape_of(user.result), list(user.broadcast_dimensions)
            is_kept = len(shape) - 1 in kept and shape_of(user.operand)[-1] == shape[-1]
            return shape[-1:] > (1,) and not is_kept
    return False


def meets_reduction(op: ir.OpView) -> bool:
    """Whether XLA may make one kernel of `op` and a `stablehlo.reduce` before or after it."""
    if len(users(op.results[0])) > 1:
        return False
    near: list[ir.OpView] = [op]
    for each in near:
        if isinstance(each, ReduceOp):
            return True
        if len(near) < _LOOKED_AT:
            near += [user for result in each.results for user in users(result)]
    producers = [value.owner for value in op.operands]
    return any(isinstance(producer, ReduceOp) for producer in producers)

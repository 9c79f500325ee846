"""The tensors that the rules of this family accept, and conversions to f64 and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.materialize import is_read_elsewhere, materialize
from jxc.ir.values import element_type, shape_of, users

from . import cost
from .arithmetic import Tensor, where

_NARROW = ("f32", "f16", "bf16")
_MOST_VISITED = 16


def is_eligible(op: ir.OpView, elements: Sequence[str] = _NARROW) -> bool:
    """Whether `op` has enough elements, of these types, and its result is not broadcast."""
    return has_enough_elements(op, elements) and not is_broadcast(op.results[0])


def has_enough_elements(op: ir.OpView, elements: Sequence[str] = _NARROW) -> bool:
    """Whether operands and results have enough elements, of these types, and static shapes."""
    for value in (*op.operands, *op.results):
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            return False
        if str(kind.element_type) not in elements or kind.encoding is not None:
            return False
        if prod(kind.shape) < cost.LEAST_ELEMENTS:
            return False
    return True


def single(value: ir.Value) -> Tensor:
    """`value` as f32.

    If an elementwise result is reshaped by more than extents of 1, and only sines and cosines or
    one op read it, it is materialized: XLA would compute the index of each element by divisions.
    """
    owner = value.owner
    if isinstance(owner, hlo.ReshapeOp) and is_elementwise(owner.operand.owner):
        before, after = (
            [size for size in shape_of(each) if size > 1] for each in (owner.operand, value)
        )
        if before != after and not is_read_elsewhere(value, (hlo.SineOp, hlo.CosineOp)):
            value = materialize(value)
    return Tensor(build.convert(value, ir.F32Type.get()))


def widened(x: Tensor) -> Tensor:
    """`x` as f64, whose significand has 29 bits more than that of f32."""
    return x.to(ir.F64Type.get())


def narrowed(x: Tensor) -> Tensor:
    """`x` rounded to f32."""
    return x.to(ir.F32Type.get())


def result(value: Tensor, op: ir.OpView) -> ir.Value:
    """The replacement of `op`, in its element type."""
    if meets_reduction(op):
        # XLA's library kernels for reductions stop at a select. Without it they fuse parts of the
        # formula, and a sum of softplus was 5 times slower than XLA's own.
        value = where(value.equals(value), value, float("nan"))
    return materialized(build.convert(value.value, element_type(op.results[0])), op)


def materialized(value: ir.Value, op: ir.OpView) -> ir.Value:
    """`value` as the replacement of `op`, materialized if XLA would compute it repeatedly.

    XLA computes ops that it considers cheap again in each fusion, and these formulas are among
    them. A kernel that concatenates is not vectorized: sines and cosines of 4096 angles by 24 took
    1.4 ms, materialized 0.3 ms.
    """
    y = op.results[0]
    return materialize(value) if _is_repeated(y) or _is_concatenated(y) else value


def _is_repeated(value: ir.Value) -> bool:
    found = users(value)
    if len(found) != 1:
        return len(found) > 1
    match found[0]:
        case hlo.ReshapeOp() | hlo.ConvertOp():
            return _is_repeated(found[0].result)
        case hlo.BroadcastInDimOp(result=larger):
            return prod(shape_of(larger)) > prod(shape_of(value)) or _is_repeated(larger)
    return False


def _is_concatenated(value: ir.Value) -> bool:
    """Whether the only user of `value`, elementwise ops aside, concatenates."""
    for _ in range(_MOST_VISITED):
        found = users(value)
        if len(found) != 1 or len(found[0].results) != 1:
            return False
        if isinstance(found[0], hlo.ConcatenateOp):
            return True
        if not _is_by_element(found[0], value):
            return False
        value = found[0].results[0]
    return False


def is_broadcast(value: ir.Value) -> bool:
    """Whether an element is broadcast to a row: XLA may then compute it as a scalar."""
    for user in users(value):
        match user:
            case hlo.ReshapeOp() | hlo.ConvertOp() if is_broadcast(user.result):
                return True
            case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=kept):
                shape = shape_of(user.result)
                is_kept = len(shape) - 1 in list(kept) and shape_of(x)[-1] == shape[-1]
                if shape[-1:] > (1,) and not is_kept:
                    return True
    return False


def meets_reduction(op: ir.OpView) -> bool:
    """Whether XLA may fuse `op` with a `stablehlo.reduce` before or after it.

    Such kernels include elementwise ops and end at a select.
    """
    if any(isinstance(value.owner, hlo.ReduceOp) for value in op.operands):
        return True
    near = list(op.results)
    for value in near if len(users(near[0])) < 2 else ():
        for user in users(value) if len(near) < _MOST_VISITED else ():
            if isinstance(user, hlo.ReduceOp):
                return True
            if _is_by_element(user, value):
                near += user.results
    return False


def _is_by_element(op: ir.OpView, operand: ir.Value) -> bool:
    if isinstance(op, hlo.SelectOp | hlo.DotGeneralOp) or len(op.results) != 1:
        return False
    kind = op.results[0].type
    if not isinstance(kind, ir.RankedTensorType):
        return False
    return isinstance(op, hlo.ReshapeOp) or tuple(kind.shape) == shape_of(operand)

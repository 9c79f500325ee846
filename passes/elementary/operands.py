"""What the rules share: the tensors that they accept, and the way to float64 and back."""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, shape_of, users
from jxc.passes._shared.elementwise import is_elementwise

from .arithmetic import Real, where

_NARROW = (ir.F32Type, ir.F16Type, ir.BF16Type)
_MOST_VISITED = 16


def elements_of(value: ir.Value) -> int:
    """The number of elements; 0 unless they are f32, f16 or bf16 of static shape."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not isinstance(kind.element_type, _NARROW):
        return 0
    return _static_elements(kind)


def complex_elements_of(value: ir.Value) -> int:
    """The number of elements; 0 unless they are complex numbers of f32, of static shape."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return 0
    element = kind.element_type
    if not isinstance(element, ir.ComplexType) or not isinstance(element.element_type, ir.F32Type):
        return 0
    return _static_elements(kind)


def _static_elements(kind: ir.RankedTensorType) -> int:
    return prod(kind.shape) if kind.has_static_shape and kind.encoding is None else 0


def single(value: ir.Value) -> Real:
    """As f32. A reshaped operand is materialized: XLA would divide to find each element."""
    return Real(
        build.convert(materialize(value) if _is_reshaped(value) else value, ir.F32Type.get())
    )


def _is_reshaped(value: ir.Value) -> bool:
    """Whether an elementwise result is reshaped, extents of 1 apart."""
    owner = value.owner
    if not isinstance(owner, hlo.ReshapeOp) or not is_elementwise(owner.operand.owner):
        return False
    before, after = shape_of(owner.operand), shape_of(value)
    return [size for size in before if size > 1] != [size for size in after if size > 1]


def widened(x: Real) -> Real:
    """As f64, in which every operation on an f32 has 29 bits or more to spare."""
    return x.to(ir.F64Type.get())


def narrowed(x: Real) -> Real:
    """Rounded to f32."""
    return x.to(ir.F32Type.get())


def result(value: Real, op: ir.OpView) -> ir.Value:
    """The replacement of `op`, in its element type."""
    if meets_reduction(op):
        value = _unfused(value)
    return materialized(build.convert(value.value, element_type(op.results[0])), op)


def _unfused(value: Real) -> Real:
    """`value` through a select, at which XLA's library kernels for reductions stop.

    They would fuse sums and products of f64 before the reduction, a part of the formula at a time:
    a sum of softplus was 5 times slower than XLA's own.
    """
    return where(value.equals(value), value, float("nan"))


def materialized(value: ir.Value, op: ir.OpView) -> ir.Value:
    """`value` as the replacement of `op`, stored if XLA would compute it repeatedly.

    XLA recomputes what it counts as cheap in each fusion, formulas included. A kernel that
    concatenates values decides for each element which one it is, and computes one at a time: sines
    and cosines of 4096 angles by 24 took 1.4 ms so, materialized 0.3 ms.
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
    """Whether an element is broadcast to a row: XLA may compute it alone, not as a vector."""
    return any(_broadcasts(user) for user in users(value))


def _broadcasts(user: ir.OpView) -> bool:
    match user:
        case hlo.ReshapeOp() | hlo.ConvertOp():
            return is_broadcast(user.result)
        case hlo.BroadcastInDimOp():
            shape, kept = shape_of(user.result), list(user.broadcast_dimensions)
            is_kept = len(shape) - 1 in kept and shape_of(user.operand)[-1] == shape[-1]
            return shape[-1:] > (1,) and not is_kept
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

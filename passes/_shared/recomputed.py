"""The number of kernels in which XLA would compute random numbers.

XLA:CPU fuses cheap elementwise ops into each of their users, and computes them there as often as an
element is read. An `optimization_barrier` does not prevent that.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, func, stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import is_integer, shape_of, users

_MOST_VISITED = 100  # users
_LEAST_SEARCHED = 32  # an argmax of as many elements becomes two reductions in most programs
EXPENSIVE = (
    hlo.CosineOp,
    hlo.ExpOp,
    hlo.Expm1Op,
    hlo.Log1pOp,
    hlo.LogOp,
    hlo.PowOp,
    hlo.SineOp,
    hlo.SqrtOp,
    hlo.TanhOp,
)
"""Ops that XLA does not compute again in each kernel that reads them."""

_READING = (
    *(
        hlo.CaseOp,
        hlo.ConvolutionOp,
        hlo.CustomCallOp,
        hlo.DotGeneralOp,
        hlo.DynamicUpdateSliceOp,
        hlo.IfOp,
        hlo.ReturnOp,
    ),
    *(hlo.SortOp, hlo.WhileOp, func.CallOp, func.ReturnOp),
)
_PASSING = (hlo.BitcastConvertOp, hlo.ReshapeOp, hlo.SliceOp, hlo.TransposeOp, chlo.ErfInvOp)


def is_computed_once(values: Iterable[ir.Value]) -> bool:
    """Whether one kernel would compute the random numbers `values`, and each element once."""
    values = list(values)
    return _kernels_with(values) == 1 and not _feeds_wide_product(values)


def _kernels_with(values: Iterable[ir.Value]) -> int | None:
    """The number of kernels that would compute `values`, if each computes an element once.

    None if they are more than one, or one would compute elements repeatedly.
    """
    pending = list(values)
    seen = set(pending)
    kernels, inside = 0, len(seen)
    while pending:
        using = users(pending.pop())
        reading = [user for user in using if isinstance(user, _READING)]
        ending = [user for user in using if _ends_kernel(user)]
        passing = [user for user in using if user not in reading and user not in ending]
        if not all(map(_is_passed_on, passing)) or _reads_parts(passing):
            return None
        if any(isinstance(each, EXPENSIVE) and _is_searched(each) for each in ending):
            return None
        kernels += bool(reading) + len(ending)
        following = {value for user in passing for value in user.results} - seen
        pending += following
        seen |= following
        if kernels > 1 or len(seen) > inside + _MOST_VISITED:
            return None
    return kernels


def _feeds_wide_product(values: Iterable[ir.Value]) -> bool:
    """Whether a product may compute `values` for each element of a broadcast of them."""
    return any(
        isinstance(user, hlo.BroadcastInDimOp)
        and prod(shape_of(user.operand)) < prod(shape_of(user.result))
        and any(isinstance(each, hlo.DotGeneralOp) for each in _readers(user.results))
        for user in _readers(values)
    )


def _is_searched(op: ir.OpView) -> bool:
    """Whether the kernel of `op` may be an argmax over a few elements, or a similar search.

    XLA computes such a kernel one element at a time. An argmax of more elements becomes two
    reductions.
    """
    return any(
        isinstance(each, hlo.ReduceOp)
        and len(each.inputs) > 1
        and prod(shape_of(each.inputs[0])[dim] for dim in each.dimensions) < _LEAST_SEARCHED
        for each in _readers(op.results)
    )


def _readers(values: Iterable[ir.Value]) -> list[ir.OpView]:
    """The ops that read `values`, also through ops that XLA fuses into them."""
    pending, found = list(values), list[ir.OpView]()
    while pending and len(found) < _MOST_VISITED:
        following = users(pending.pop())
        found += following
        pending += [
            result
            for each in following
            if isinstance(each, hlo.BroadcastInDimOp) or _is_passed_on(each)
            for result in each.results
        ]
    return found


def _ends_kernel(op: ir.OpView) -> bool:
    """Whether XLA does not fuse `op` into its users, and `op` reads each element once."""
    match op:
        case hlo.DivOp() | hlo.RemOp():
            return is_integer(op.result)
        case hlo.ReduceOp(inputs=inputs):
            return len(inputs) == 1
        case hlo.BroadcastInDimOp():
            return _extends_behind(op)
    return isinstance(op, EXPENSIVE)


def _is_passed_on(op: ir.OpView) -> bool:
    """Whether users of `op` read its operands element for element, or a part of them."""
    match op:
        case hlo.ConcatenateOp(inputs=inputs, dimension=dim):
            return all(shape_of(each)[dim.value] == 1 for each in inputs)
        case hlo.BroadcastInDimOp(operand=x):
            return prod(shape_of(x)) == prod(shape_of(op.result))
    return isinstance(op, _PASSING) or is_elementwise(op)


def _reads_parts(using: list[ir.OpView]) -> bool:
    """Whether a kernel may read a slice of a value, and the value or another slice of it."""
    return len(using) > 1 and any(isinstance(each, hlo.SliceOp) for each in using)


def _extends_behind(op: hlo.BroadcastInDimOp) -> bool:
    """Whether only the last dimensions are broadcast: each element is computed once for all."""
    extents, result = shape_of(op.operand), shape_of(op.result)
    kept = {to for to, e in zip(op.broadcast_dimensions, extents, strict=True) if e > 1}
    repeated = {dim for dim, e in enumerate(result) if e > 1} - kept
    return bool(repeated) and max(kept, default=-1) < min(repeated)

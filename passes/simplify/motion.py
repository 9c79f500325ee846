"""Rearrangements and broadcasts move after elementwise ops, where they can meet and cancel.

A rearrangement is a reshape, reverse or transpose. It moves past an elementwise op if the other
operands can be rearranged without a new op: splats, rearrangements of the same kind, and some
broadcasts and iotas (`_moved_freely`). A rule must decide before it builds an op, so each operand
is first represented by a `_Build`, a function that builds it later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import ELEMENTWISE, Elementwise, is_elementwise
from jxc.ir.values import shape_of, splat_attr, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.elementwise import (
    is_converted_boolean,
    is_used_once,
    is_used_only_by,
    moved,
    numeric_shape,
    rebuilt,
    size_of,
    with_shape,
)
from .broadcast import broadcast_as
from .rearrange import groups_of, without_ones
from .reduce import dimensions_before_transpose

_Build: TypeAlias = Callable[[], ir.Value]


@rule(exact, producer=hlo.BroadcastInDimOp)
def elementwise_of_broadcasts(op: Elementwise) -> ir.Value | None:
    """f(broadcast_in_dim(x), broadcast_in_dim(y)) -> broadcast_in_dim(f(x, y)): less to compute.

    The dimensions of y must be among those of x. Other operands may be splats.
    """
    broadcasts = []
    for value in op.operands:
        owner = value.owner
        if isinstance(owner, hlo.BroadcastInDimOp):
            broadcasts.append(owner)
        elif not isinstance(owner, hlo.ConstantOp) and shape_of(value):
            return None
    if not any(is_used_only_by(each.result, op) for each in broadcasts):
        return None
    sources = [each.operand for each in broadcasts]
    if numeric_shape(op.result, *op.operands, *sources) is None:
        return None
    widest = max(broadcasts, key=lambda each: size_of(each.operand))
    builds = [found for value in op.operands if (found := _narrowed(value, widest))]
    if len(builds) < len(op.operands) or size_of(widest.operand) >= size_of(op.result):
        return None
    small = rebuilt(op, [each() for each in builds], shape_of(widest.operand))
    return hlo.broadcast_in_dim(op.result.type, small, widest.broadcast_dimensions)


def _narrowed(value: ir.Value, widest: hlo.BroadcastInDimOp) -> _Build | None:
    """A builder of `value` in the shape of the operand of `widest`; None if that is impossible."""
    shape = shape_of(widest.operand)
    if (constant := _as_shaped(value, shape_of(widest.result), shape)) is not None:
        return constant
    match value.owner:
        case hlo.BroadcastInDimOp(operand=y, broadcast_dimensions=dims):
            inner_dim = {dim: i for i, dim in enumerate(widest.broadcast_dimensions)}
            inner = [inner_dim[dim] for dim in dims if dim in inner_dim]
            sizes = zip(shape_of(y), inner, strict=False)
            if len(inner) == len(dims) and all(size in (1, shape[i]) for size, i in sizes):
                return partial(build.broadcast, y, shape, inner)
    return None


def _as_shaped(value: ir.Value, of: Sequence[int], shape: Sequence[int]) -> _Build | None:
    """A builder of a scalar operand, or of a splat of shape `of`, for an op of shape `shape`."""
    if not shape_of(value) and of:
        return lambda: value
    if (element := splat_attr(value)) is not None:
        return lambda: build.splat(element, with_shape(value, shape))
    return None


_Moving: TypeAlias = hlo.ReshapeOp | hlo.ReverseOp | hlo.TransposeOp


class Move(NamedTuple):
    """A reshape, reverse or transpose from one shape to another, by `dims`."""

    kind: type[ir.OpView]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dims: tuple[int, ...]

    def inverse(self) -> Move:
        """The rearrangement that undoes it."""
        dims = self.dims
        if self.kind is hlo.TransposeOp:
            dims = tuple(dims.index(i) for i in range(len(dims)))
        return Move(self.kind, self.after, self.before, dims)

    def build(self, value: ir.Value) -> ir.Value:
        """The rearranged `value`."""
        if self.kind is hlo.TransposeOp:
            return build.transpose(value, self.dims)
        if self.kind is hlo.ReverseOp:
            return hlo.reverse(value, self.dims)
        return build.reshape(value, self.after)


def move_of(op: _Moving) -> Move:
    """The rearrangement of `op`, which has static extents."""
    dims: Sequence[int] = ()
    match op:
        case hlo.TransposeOp(permutation=dims) | hlo.ReverseOp(dimensions=dims):
            pass
    return Move(type(op), shape_of(op.operand), shape_of(op.result), tuple(dims))


@rule(exact, producer=(hlo.ReshapeOp, hlo.ReverseOp, hlo.TransposeOp))
def elementwise_of_rearranged(op: Elementwise) -> ir.Value | None:
    """f(transpose(x), transpose(y)) -> transpose(f(x, y)), also for reshape and reverse.

    Other operands may be splats, broadcasts and iotas. A single reshape that only adds extents of 1
    stays, unless it can be merged with a reshape that follows. An operand with other uses is moved
    only to a reduction, into which a transpose is merged. Booleans are converted last.
    """
    movers = [each for value in op.operands if isinstance(each := value.owner, _Moving)]
    if not movers or is_converted_boolean(op.results[0]):
        return None
    is_free = any(is_used_only_by(each.result, op) for each in movers)
    if not is_free and not _vanishes(movers[0], op):
        return None
    meets_reshape = any(isinstance(user, hlo.ReshapeOp) for user in users(op.results[0]))
    if len(movers) == 1 and _is_of_ones(movers[0]) and not meets_reshape:
        return None
    if not numeric_shape(op.result, *op.operands) or _has_scalar(op):
        return None
    move = move_of(movers[0])
    undo = move.inverse()
    builds = [found for value in op.operands if (found := _moved_freely(value, undo))]
    if len(builds) < len(op.operands):
        return None
    return move.build(rebuilt(op, [each() for each in builds], move.before))


def _has_scalar(op: ir.OpView) -> bool:
    """Whether `op` is a select or clamp with a scalar operand that is not constant."""
    scalars = [value for value in op.operands if not shape_of(value)]
    return bool(shape_of(op.results[0])) and not all(splat_attr(each) for each in scalars)


def _vanishes(mover: _Moving, op: ir.OpView) -> bool:
    """Whether `mover` can be merged into the only user of `op`, a reduction."""
    match mover:
        case hlo.TransposeOp(permutation=order) if is_used_once(op.results[0]):
            (use,) = op.results[0].uses
            match use.owner:
                case hlo.ReduceOp(inputs=inputs) as reduction if len(inputs) == 1:
                    return dimensions_before_transpose(reduction, list(order)) is not None
    return False


def _is_of_ones(mover: _Moving) -> bool:
    """Whether `mover` is a reshape that only adds extents of 1, which costs nothing anywhere."""
    before, after = shape_of(mover.operand), shape_of(mover.result)
    is_wider = isinstance(mover, hlo.ReshapeOp) and len(before) < len(after)
    return is_wider and without_ones(before) == without_ones(after)


def _moved_freely(value: ir.Value, move: Move) -> _Build | None:
    """A builder of `value` after `move`, without an op for the move; None if it needs one."""
    if (constant := _as_shaped(value, move.before, move.after)) is not None:
        return constant
    match value.owner:
        case hlo.ReshapeOp() | hlo.ReverseOp() | hlo.TransposeOp() as owner:
            return (lambda: owner.operand) if move_of(owner) == move.inverse() else None
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            return _moved_broadcast(value, x, list(dims), move)
        case hlo.IotaOp(iota_dimension=dim):
            if move.kind is hlo.TransposeOp:
                kind = with_shape(value, move.after)
                return lambda: hlo.iota(kind, move.dims.index(dim.value))
            if move.kind is hlo.ReverseOp and dim.value not in move.dims:
                return lambda: value
    return None


def _moved_broadcast(value: ir.Value, x: ir.Value, dims: list[int], move: Move) -> _Build | None:
    result = with_shape(value, move.after)
    if move.kind is hlo.TransposeOp:
        moved = [move.dims.index(dim) for dim in dims]
        return lambda: hlo.broadcast_in_dim(result, x, moved)
    if move.kind is hlo.ReverseOp:
        varying = [dim for dim, size in zip(dims, shape_of(x), strict=True) if size != 1]
        return None if set(varying) & set(move.dims) else lambda: value
    if without_ones(move.before) != without_ones(move.after):
        return None
    return lambda: broadcast_as(result, x, dims, move.before)


@rule(exact, producer=ELEMENTWISE)
def rearranged_elementwise(op: _Moving) -> ir.Value | None:
    """transpose(f(transpose(x), y)) -> f(x, transpose(y)), also for reshape and reverse.

    If the outer one undoes the inner one, and fewer ops remain.
    """
    producer = op.operand.owner
    if not is_elementwise(producer) or not is_used_once(op.operand):
        return None
    operands = list(producer.operands)
    inner = [value for value in operands if isinstance(value.owner, type(op))]
    if not inner or not numeric_shape(op.result, *operands) or _has_scalar(producer):
        return None
    move = move_of(op)
    builds = [_moved_freely(value, move) for value in operands]
    is_undone = any(free for value, free in zip(operands, builds, strict=True) if value in inner)
    removed, added = 1 + sum(map(is_used_once, inner)), builds.count(None)  # 1 is `op`
    if not is_undone or removed <= added:
        return None
    after = [
        free() if free else moved(value, move.build)
        for value, free in zip(operands, builds, strict=True)
    ]
    return rebuilt(producer, after, move.after)


@rule(exact, producer=hlo.TransposeOp)
def reshape_of_transpose(op: hlo.ReshapeOp) -> ir.Value | None:
    """reshape(transpose(x)) -> transpose(reshape(x)), if it joins only adjacent dimensions of x."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation) if is_used_once(op.operand):
            shape, result = numeric_shape(x, op.operand, op.result), shape_of(op.result)
            if shape is None or 0 in shape:
                return None
            groups = []  # of dimensions of x, each with the dimensions of the result it becomes
            for before, after in groups_of(shape_of(op.operand), result):
                own = [dim for dim in list(permutation)[before] if shape[dim] != 1]
                groups.append((own, list(range(len(result)))[after]))
            order = sorted((own, becomes) for own, becomes in groups if own)
            large = [dim for dim, size in enumerate(shape) if size != 1]
            if [dim for own, _ in order for dim in own] != large:
                return None
            dims = [dim for _, becomes in order for dim in becomes]
            dims += [dim for own, ones in groups if not own for dim in ones]
            operand = build.reshape(x, [result[dim] for dim in dims])
            return build.transpose(operand, [dims.index(i) for i in range(len(dims))])
    return None


@rule(exact, producer=hlo.TransposeOp)
def reverse_of_transpose(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(transpose(x)) -> transpose(reverse(x))."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation) if is_used_once(op.operand):
            if numeric_shape(x, op.result) is None:
                return None
            dims = sorted(permutation[dim] for dim in op.dimensions)
            return hlo.transpose(hlo.reverse(x, dims), permutation)
    return None


@rule(exact, producer=hlo.TransposeOp)
def broadcast_of_transpose(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(transpose(x), dims) -> broadcast_in_dim(x, permuted dims)."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation) if static_shape(x) is not None:
            dims = op.broadcast_dimensions
            permuted = [dims[list(permutation).index(i)] for i in range(len(permutation))]
            return hlo.broadcast_in_dim(op.result.type, x, permuted)
    return None

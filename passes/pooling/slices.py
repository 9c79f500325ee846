"""Windows that combine elements, as shifted slices of the padded operand.

If the order does not matter, the dimensions are combined one after the other, with as many ops as
the sum of the window's extents. Otherwise the elements are combined in StableHLO's order, with a
slice for each element of the window. Bodies of several ops are unrolled over these elements.

In StableHLO, padding has the initial value and is combined like other elements. XLA skips it. Both
agree if the initial value is neutral or the body idempotent, and the rules require one of these for
windows that cover padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import element_type, is_splat, shape_of, splat_of, static_shape
from jxc.rewrite import PassContext, exact, reassociates, rule

from .._shared.elementwise import is_used_once
from .._shared.reduce_body import (
    can_inline,
    combiner_of,
    inline,
    is_exact_in_any_order,
    is_idempotent,
    is_neutral,
    is_neutral_start,
)
from .._shared.signed_zero import add_to_initial
from .._shared.window import WindowAxis, pad, tapped
from . import geometry

MOST_SLICES = 32
"""The most slices along one dimension that are built to be priced."""

MOST_IN_ORDER = 25
"""The most elements of a window that are combined in StableHLO's order: a slice for each."""

LONGEST_BODY = 8
"""The most ops in an unrolled body. Max pooling's derivative along a direction has 3."""


@rule(exact, producer=hlo.PadOp, priced=True)
def window_of_dilated_to_broadcast(op: hlo.ReduceWindowOp) -> ir.Value | None:
    """Sums of pad(x) -> init + x, broadcast, if each window holds one element of x.

    This is the gradient of an average over adjacent windows: between the elements lie as many zeros
    as the window is long, less one.
    """
    axes = _added(op)
    if axes is None:
        return None
    x = _dilated(op, axes)
    if x is None:
        return None
    sums = add_to_initial(op.init_values[0], x)
    image = _repeated(sums, [axis.window for axis in axes])
    return _moved(image, _offsets(op.inputs[0].owner, axes), op)


def _added(op: hlo.ReduceWindowOp) -> tuple[WindowAxis, ...] | None:
    """The window of a sum with stride 1 and without padding."""
    if combiner_of(op) != "add" or not _is_plain(op.inputs[0]):
        return None
    axes = geometry.read(op, op.inputs[0], op.results[0])
    if axes is None or not any(axis.window > 1 for axis in axes):
        return None
    is_simple = all(
        axis.stride == axis.window_dilation == 1 and not axis.is_padded for axis in axes
    )
    return axes if is_simple else None


def _dilated(op: hlo.ReduceWindowOp, axes: Sequence[WindowAxis]) -> ir.Value | None:
    """The x such that each window holds at most one element of it, and zeros otherwise."""
    padded = op.inputs[0].owner
    if not isinstance(padded, hlo.PadOp) or static_shape(padded.operand) is None:
        return None
    if not is_splat(padded.padding_value, 0) or splat_of(op.init_values[0]) != 0:
        return None
    shape = shape_of(padded.operand)
    for between, size, axis in zip(padded.interior_padding, shape, axes, strict=True):
        if size == 0 or (between != axis.window - 1 and (size > 1 or axis.window == 1)):
            return None
    return padded.operand


def _offsets(padded: hlo.PadOp, axes: Sequence[WindowAxis]) -> list[int]:
    """Along each dimension, the start of the first window, counted in broadcast elements."""
    lows = zip(axes, padded.edge_padding_low, strict=True)
    return [axis.window - 1 - low for axis, low in lows]


def _repeated(x: ir.Value, repeats: Sequence[int]) -> ir.Value:
    """Each element of `x` repeated so many times along each dimension."""
    wide: list[int] = []
    dimensions = []
    for size, times in zip(shape_of(x), repeats, strict=True):
        dimensions.append(len(wide))
        wide += [size, times] if times > 1 else [size]
    whole = [size * times for size, times in zip(shape_of(x), repeats, strict=True)]
    return build.reshape(build.broadcast(x, wide, dimensions), whole)


def _moved(image: ir.Value, offsets: Sequence[int], op: hlo.ReduceWindowOp) -> ir.Value:
    """`image` from `offsets` on, in the shape of the result, padded where it is too short."""
    shape = shape_of(op.results[0])
    low = [-offset for offset in offsets]
    high = [n - m - a for n, m, a in zip(shape, shape_of(image), low, strict=True)]
    if not any((*low, *high)):
        return image
    return hlo.pad(image, op.inputs[0].owner.padding_value, low, high, [0] * len(low))


@rule(exact, priced=True)
def window_of_any_order_to_slices(op: hlo.ReduceWindowOp, context: PassContext) -> ir.Value | None:
    """reduce_window(x, f) -> f(slice(pad(x)), ...), one dimension after the other.

    If the order cannot matter: maximum and minimum, integers, booleans.
    """
    name = combiner_of(op)
    if name is None or not is_exact_in_any_order(name, op.inputs[0]):
        return None
    return _combined(op, name, context)


@rule(exact, priced=True)
def window_sum_to_slices(op: hlo.ReduceWindowOp, context: PassContext) -> ir.Value | None:
    """reduce_window(x, f) -> f(f(init, slice(pad(x))), ...), in StableHLO's order.

    For sums and products of floats over small windows.
    """
    name = _rounding(op)
    axes = None if name is None else _worthwhile(op, name, context)
    if axes is None or prod(axis.window for axis in axes) > MOST_IN_ORDER:
        return None
    image = pad(op.inputs[0], axes, range(len(axes)), op.init_values[0])
    shape = shape_of(op.results[0])
    first, *rest = (tapped(image, axes, tap) for tap in geometry.taps(axes))
    if name == "add":
        total = add_to_initial(op.init_values[0], first)
    else:
        total = hlo.multiply(build.broadcast(op.init_values[0], shape, []), first)
    for part in rest:
        total = inline(op, [total, part], shape)[0]
    return total


@rule(reassociates, priced=True)
def large_window_sum_to_slices(op: hlo.ReduceWindowOp, context: PassContext) -> ir.Value | None:
    """reduce_window(x, f) -> init + slice(pad(x)) + ..., one dimension after the other.

    For sums of floats. Products are left alone: another order of one that underflows before it
    overflows gives another result.
    """
    name = _rounding(op)
    return _combined(op, name, context) if name == "add" else None


def _rounding(op: hlo.ReduceWindowOp) -> str | None:
    """Which of "add" and "multiply" combines the elements, if the order matters."""
    name = combiner_of(op)
    if name not in ("add", "multiply") or is_exact_in_any_order(name, op.inputs[0]):
        return None
    return name


def _combined(op: hlo.ReduceWindowOp, name: str, context: PassContext) -> ir.Value | None:
    axes = _worthwhile(op, name, context)
    if axes is None:
        return None
    (x,), (start,) = op.inputs, op.init_values
    image = pad(x, axes, range(len(axes)), start)
    for dim in (dim for dim, axis in enumerate(axes) if axis.window > 1 or axis.stride > 1):
        image = _along(op, image, axes, dim)
    if is_neutral(name, start):
        return image
    if name == "add":
        return add_to_initial(start, image)
    shape = shape_of(image)
    return inline(op, [build.broadcast(start, shape, []), image], shape)[0]


def _worthwhile(
    op: hlo.ReduceWindowOp, name: str, context: PassContext
) -> tuple[WindowAxis, ...] | None:
    """The window of an op with the combiner `name`, if slices are right and may be faster."""
    (x,), (start,) = op.inputs, op.init_values
    axes = geometry.read(op, x, op.results[0])
    if axes is None or not _is_plain(x) or _is_of_few(x, axes) or not _is_unrolled(axes):
        return None
    has_effect = not is_neutral_start(name, start) and not is_idempotent(name, start)
    if has_effect and any(axis.covers_padding for axis in axes):
        return None
    return None if _is_library_kernel(x, axes) and not context.always else axes


def _is_library_kernel(x: ir.Value, axes: Sequence[WindowAxis]) -> bool:
    """Whether XLA:CPU computes the window in one kernel with the convolution that it follows.

    Its library takes windows that do not overlap, with the elementwise ops in between. As slices
    they ran at 0.45 to 1.1 of that (jaxlib 0.10.2) and 0.55 to 1.1 (0.12): 3x3 convolutions of 16
    to 512 channels, batches of 1 to 128, windows 2x2 and 3x3, also padded, f32 and bf16. Windows of
    one dimension gain as slices, and so do those whose operand other ops read, as in training.
    """
    if not isinstance(element_type(x), ir.F32Type | ir.BF16Type):
        return False
    if any(axis.window != axis.stride or axis.window_dilation > 1 for axis in axes):
        return False
    pending, seen = [x], 0
    while pending and seen < _MOST_BEFORE:
        value, seen = pending.pop(), seen + 1
        if not is_used_once(value):
            continue
        if isinstance(value.owner, hlo.ConvolutionOp):
            groups = value.owner.feature_group_count.value, value.owner.batch_group_count.value
            return groups == (1, 1) and len(shape_of(value)) == _RANK
        if is_elementwise(value.owner):
            pending += value.owner.operands
    return False


_RANK = 4  # of the images whose convolutions are computed by the library
_MOST_BEFORE = 32  # values between a convolution and a window


def _is_plain(x: ir.Value) -> bool:
    return isinstance(element_type(x), geometry.TYPES)


def _is_of_few(x: ir.Value, axes: Sequence[WindowAxis]) -> bool:
    """Whether `x` is a padded tensor of extent 1 along each windowed dimension."""
    of = x.owner
    if not isinstance(of, hlo.PadOp):
        return False
    sizes = zip(shape_of(of.operand), axes, strict=True)
    return all(size == 1 for size, axis in sizes if axis.window > 1)


def _is_unrolled(axes: Sequence[WindowAxis]) -> bool:
    """Whether slices are built: not for cumulative sums, nor for a single window."""
    moved = [axis for axis in axes if axis.window > 1]
    if any(axis.is_running for axis in moved) or all(axis.out == 1 for axis in moved):
        return False
    return all(axis.window <= MOST_SLICES for axis in moved)


def _along(
    op: hlo.ReduceWindowOp, image: ir.Value, axes: Sequence[WindowAxis], dim: int
) -> ir.Value:
    """The window's elements along one dimension, combined."""
    still = [WindowAxis(size, 1, size) for size in shape_of(image)]
    walk = [*still[:dim], replace(axes[dim], size=still[dim].size), *still[dim + 1 :]]
    parts = [tapped(image, walk, tap) for tap in geometry.taps(walk)]
    total = parts[0]
    for part in parts[1:]:
        total = inline(op, [total, part], shape_of(part))[0]
    return total


@rule(reassociates, priced=True)
def general_window_to_slices(op: hlo.ReduceWindowOp) -> Sequence[ir.Value] | None:
    """reduce_window(x, y, ...) -> f(f(init, slice(x), slice(y)), ...), row-major.

    For bodies of a few elementwise ops, such as max pooling's derivative along a direction. The
    order is that of StableHLO's interpreter. Not if the window covers padding.
    """
    if combiner_of(op) is not None or not can_inline(op, LONGEST_BODY):
        return None
    axes = geometry.read(op, op.inputs[0], op.results[0])
    if axes is None or not 1 < prod(axis.window for axis in axes) <= MOST_IN_ORDER:
        return None
    if any(axis.is_running or axis.covers_padding for axis in axes):
        return None
    if not all(map(_is_plain, op.inputs)):
        return None
    shape = shape_of(op.results[0])
    dims = range(len(axes))
    operands = zip(op.inputs, op.init_values, strict=True)
    cropped = [pad(x, axes, dims, value) for x, value in operands]
    found = [build.broadcast(value, shape, []) for value in op.init_values]
    for tap in geometry.taps(axes):
        parts = [tapped(x, axes, tap) for x in cropped]
        found = inline(op, [*found, *parts], shape, keep_zero=True)
    return found

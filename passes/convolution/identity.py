"""Convolutions with an identity matrix, as `jax.scipy.linalg.toeplitz` and `hankel` cut windows.

The kernel's element (k, p) is 1 where the position k in the window is the feature p, or its mirror
image, and 0 elsewhere. A product with 0 is 0 unless the other factor is infinite or NaN: the
program tests that all elements are finite, and computes the convolution if it must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.shardings import is_partitioned_here
from jxc.ir.values import direction_of, element_type, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.finite import if_finite, is_in_test
from .._shared.signed_zero import plus_zero
from .._shared.window import pad
from . import geometry
from .geometry import Convolution
from .window import as_result


@rule(reassociates, priced=True)
def identity_kernel_to_windows(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, identity)[i, p] -> if finite(sum(0 * x)) then x[i + p] else conv(x, identity).

    For one image dimension. A loop copies the window at each position.
    """
    conv = _conv_of(op)
    if conv is None or conv.inputs > 1:
        return None
    return _if_finite(op, lambda: _windows(op, conv))


@rule(reassociates, priced=True)
def identity_kernel_to_overlapping_sum(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, identity)[i] -> if finite(sum(0 * x)) then sum of x[i + p, p] over p else conv().

    This is the gradient of such windows: a loop adds the features of each position where they lie.
    """
    conv = _conv_of(op)
    if conv is None or conv.outputs > 1:
        return None
    return _if_finite(op, lambda: _overlapping_sum(op, conv))


def _conv_of(op: hlo.ConvolutionOp) -> Convolution | None:
    """The geometry of a convolution with an identity matrix, of one dimension and in steps of 1."""
    conv = geometry.read(op, grouped=False)
    if conv is None or len(conv.axes) > 1 or is_in_test(op) or is_partitioned_here():
        return None
    (axis,) = conv.axes
    kinds = {element_type(each) for each in (op.lhs, op.rhs, op.result)}
    if len(kinds) > 1 or not isinstance(kinds.pop(), ir.F32Type | ir.F64Type):
        return None
    is_plain = axis.stride == axis.base_dilation == axis.window_dilation == 1
    is_square = {conv.inputs, conv.outputs} == {1, axis.window} and axis.window > 1
    return conv if is_plain and is_square and _is_mirrored(op.rhs) is not None else None


def _is_mirrored(kernel: ir.Value) -> bool | None:
    """Whether the order of one dimension of an identity matrix is reversed; None for others."""
    is_mirrored = False
    while not isinstance(kernel.owner, ir.Block):
        match kernel.owner:
            case hlo.ReverseOp(operand=x, dimensions=dims):
                reversed_dims = [dim for dim in dims if shape_of(x)[dim] > 1]
                is_mirrored ^= len(reversed_dims) == 1
                kernel = x
            case hlo.TransposeOp(operand=x) | hlo.ConvertOp(operand=x):
                kernel = x
            case hlo.ReshapeOp(operand=x) if _wide(x) == _wide(kernel):
                kernel = x
            case hlo.CompareOp(lhs=x, rhs=y) as op if direction_of(op) == "EQ":
                dims = [
                    each.owner.iota_dimension.value if isinstance(each.owner, hlo.IotaOp) else None
                    for each in (x, y)
                ]
                return is_mirrored if sorted(map(str, dims)) == ["0", "1"] else None
            case _:
                return None
    return None


def _wide(value: ir.Value) -> list[int]:
    return [size for size in shape_of(value) if size > 1]


def _if_finite(op: hlo.ConvolutionOp, make: Callable[[], ir.Value]) -> ir.Value:
    return if_finite(op.lhs, make, lambda: op.operation.clone().results[0], op.result.type)


def _image(op: hlo.ConvolutionOp, conv: Convolution) -> ir.Value:
    """x as [batch, space, features]."""
    d = conv.dims
    order = [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension]
    return build.transpose(op.lhs, order)


def _is_backwards(op: hlo.ConvolutionOp, conv: Convolution) -> bool:
    """Whether feature p is at position -p from the window's end."""
    return bool(_is_mirrored(op.rhs)) != conv.axes[0].reverse


def _windows(op: hlo.ConvolutionOp, conv: Convolution) -> ir.Value:
    (axis,) = conv.axes
    image = pad(build.reshape(_image(op, conv), [conv.batch, axis.size]), conv.axes, [1])
    image = plus_zero(image)
    is_backwards, last = _is_backwards(op, conv), axis.out - 1
    image = hlo.reverse(image, [1]) if is_backwards else image
    kind = ir.RankedTensorType.get([axis.out, conv.batch, axis.window], element_type(image))

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        (done,) = carried
        end = build.scalar(last, element_type(number))
        starts = build.starts_along(
            image, {1: hlo.subtract(end, number) if is_backwards else number}
        )
        window = hlo.dynamic_slice(image, starts, [conv.batch, axis.window])
        row = build.reshape(window, [1, conv.batch, axis.window])
        return [hlo.dynamic_update_slice(done, row, build.starts_along(done, {0: number}))]

    (rows,) = build.fori_loop(axis.out, [build.constant(0, kind)], body)
    return as_result(rows, conv, batch=1, spatial=[0], feature=2)


def _overlapping_sum(op: hlo.ConvolutionOp, conv: Convolution) -> ir.Value:
    (axis,) = conv.axes
    image, size = _image(op, conv), axis.size + axis.window - 1
    # The element at position t meets the result at t + low - k for each k in the window.
    image = image if _is_backwards(op, conv) else hlo.reverse(image, [2])
    kind = ir.RankedTensorType.get([conv.batch, size], element_type(image))

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        (total,) = carried
        (features,) = build.elements_along(image, 1, number, 1)
        features = build.reshape(features, [conv.batch, axis.window])
        starts = build.starts_along(total, {1: number})
        added = hlo.add(hlo.dynamic_slice(total, starts, shape_of(features)), features)
        return [hlo.dynamic_update_slice(total, added, starts)]

    (total,) = build.fori_loop(axis.size, [build.constant(0, kind)], body)
    first = axis.low - (axis.window - 1)
    zero = build.scalar(0, element_type(total))
    total = hlo.pad(total, zero, [0, first], [0, axis.out - size - first], [0, 0])
    total = build.reshape(total, [conv.batch, axis.out, 1])
    return as_result(total, conv, batch=0, spatial=[1], feature=2)

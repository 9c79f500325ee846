"""Cost conditions of the pass `convolution`: when a rewritten convolution is faster on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: 260 shapes with
windows 2 to 11, images 4 to 112, channels 8 to 1024, batches 1 to 32, strides 1 and 2, NHWC and
NCHW, f32, bf16 and f16. Both programs ran alternately in one process; the ratios are of medians,
above 1 where the rewritten program is faster.
"""

from __future__ import annotations

from collections.abc import Sequence

from .geometry import Convolution

UNROLLED_TAPS = 64
"""The most taps of a window that is unrolled: 5 to 100 times faster, 30 to 100 ms more to compile.

Longer windows use a loop: 121 and 169 taps ran 10 to 15 times faster than XLA, 128 in a row 30.
"""

TAPS_PER_ITERATION = 16
"""The least number of taps for one iteration of the loop over a window of more taps than that.

With 11 to 13 taps XLA slices the image inside the loop over its elements, which then is not
vectorized: three times slower. From 18 taps on it slices the image first. Fewer iterations also
read and write the accumulator less often.
"""

FEW_TAPS = 9
"""Windows of more taps are summed by a loop over rows, where a row has `ROW_TAPS`.

With 25 and 49 taps the loop ran 1.0 to 1.6 times as fast as unrolled code, with a third of the ops.
XLA also copies unrolled code into each of its consumers: in front of a layer norm the loop ran 3 to
37 times as fast and compiled in 0.8 of the time. ConvNeXt's forward pass compiles in 1.8 s of CPU
time instead of 3.4 (1.1 without this pass), NASNet's in 7.1 instead of 9.4 (3.4). With 9 taps both
forms are equal alone, but whole models ran 1.15 times slower with the loop.
"""

ROW_TAPS = range(3, 8)
"""Taps of a row whose loop is vectorized. With 11 it is not, and runs eight times slower."""

SLICED_MEMBERS = 16
"""The most neighbors that are added as slices: 3 to 6 times faster than a reduce of 2 to 8."""

LEAST_POSITIONS = 16
"""The least number of positions in the result for which a looped window pays.

13x13 on 7x7 pays. A window as large as the image does not, as XLA reduces that well itself: 0.4 to
2.1 for 28x28 and 56x56; 7x7, which is unrolled, gave 1.3 to 2.5.
"""

LEAST_GROUPS = 32
"""Weight gradients of fewer channels are left alone.

XLA multiplies all channels with all others by a fast library and takes the diagonal: its time grows
with the square. Ratios: 0.2 to 0.7 for 2 to 8 channels, 0.9 to 2.3 for 16, 0.8 to 3 for 32, 1.4 to
5 for 48, 4 to 10 for 96, 14 to 16 for 576, 50 to 60 for 960.
"""

MOST_POSITIONS = 512
"""Weight gradients with more positions are left alone: each is an iteration. 512 gave 3 to 5.

Images smaller than the window gain most, since XLA iterates over the positions too: 7x7 on 2x2 with
768 channels ran 320 times faster, on 4x4 with 384 channels 86 times, 21x21 on 2x2 with 32 channels
3 to 11 times.

For grouped convolutions XLA goes through all pairs of channels in a plain loop: 27 to 660 times
slower than batched products for 64 to 512 channels in 2 to 64 groups, 3x3, images of 6 to 24.
Compile time 0.14 -> 0.24 s; one convolution for each group would take 0.14 (2 groups) to 2.5 s (64)
and be as fast. Images of 1x1 to 4x4 under windows of 3x3 to 15x15: 1.3 to 40 times slower.
"""


LOOPED_CHANNELS = 4
"""Convolutions of groups with fewer channels are left alone."""

LOOPED_PRODUCTS = 2 * 10**6
"""Grouped convolutions of fewer products are left alone: they take 0.2 ms, a loop half of that."""

MOST_PATCHES = 4
"""The most positions in the result for which a window wider than the image becomes a product.

Each position is a slice. 16 of them (5x5 on 4x4) ran 6 to 10 times faster than XLA's convolution,
but took 0.4 s to compile instead of 0.07; 4 take as long as a convolution.
"""

SWAPPED_PRODUCTS = 2**18
"""The least number of products for which the operands are swapped.

Up to four times as many (0.1 to 2 ms) ran 2.3 times faster in the geometric mean, and one in six
did not gain; half as many gave 1.7, and one in four did not gain.
"""

LEAST_SUMMED = 16
"""The least number of products to sum for one element of the result of swapped operands.

8 gave 0.4 to 0.7, 16 gave 2 to 5.
"""

LEAST_FEATURES = 16
"""The least number of images times input features for swapped operands.

4 gave 0.2 to 0.3, 8 0.4 to 0.9, 12 0.7 to 0.8, 16 1.0 to 2.3, 64 4 to 15. A single image gave 0.5
to 8 whatever its features: it becomes a kernel of one output.
"""

MOST_TAPS_AT_ONCE = 25
"""Weight gradients of windows up to 5x5 become one product: each position is a slice."""

MOST_SUMMED = 16
"""The most products to sum for one element of a weight gradient that becomes one product.

2 to 16 gave 1.6 to 4.5, 32 gave 1.2 to 1.5, 128 gave 0.9 to 1.8: the copies of the image grow.
"""

WIDE_GRADIENT = 2**18
"""The least number of elements of such a gradient. 147 thousand took 0.2 ms, half as a product."""


def rows_at_once(*, rows: int, taps: int, steps: Sequence[int]) -> int:
    """The rows of a window that one iteration sums; `rows` where the window is unrolled.

    Args:
        rows: rows of the window.
        taps: taps of the window in all.
        steps: distances between the elements that one tap meets, along each dimension. A loop over
            25 taps that skip every other element ran 3.7 times slower than 25 unrolled taps.
    """
    row = taps // rows
    if taps > UNROLLED_TAPS:
        return min(rows, -(-TAPS_PER_ITERATION // row))
    return 1 if taps > FEW_TAPS and row in ROW_TAPS and max(steps) == 1 else rows


def multiply_add_pays(conv: Convolution) -> bool:
    """Whether one product for each of the window's taps is faster than XLA's convolution."""
    return conv.taps <= UNROLLED_TAPS or conv.positions >= LEAST_POSITIONS


def weight_gradient_pays(conv: Convolution) -> bool:
    """Whether a sum for each of the result's positions is faster than XLA's weight gradient."""
    return conv.groups >= LEAST_GROUPS and conv.positions <= MOST_POSITIONS


def grouped_loop_pays(conv: Convolution) -> bool:
    """Whether a loop over the groups is faster than XLA's grouped convolution.

    XLA has a fast library for the convolution of one group. 1.2 to 2.5 times faster for one image,
    1.3 to 6 for eight, for windows 1x1 and 3x3 on images 6 to 56, 8 to 120 channels in a group, 2
    to 37 groups, NHWC and NCHW, f32 and 16 bits; input gradients of stride 2 2 to 7 times. In one
    dimension 0.8 to 1.3, in f64 0.6 to 9; with 4 channels in a group 1.1 to 1.9, with 2 1.0.
    Compile time +70 ms for a shape whose result has the image's shape, else +110, none for NCHW,
    +16 for each further convolution of a shape: fewer than `LOOPED_PRODUCTS` save less than 0.1 ms
    for that.
    """
    if len(conv.axes) != 2 or conv.accumulator.width != 32:
        return False
    products = conv.positions * conv.taps * conv.inputs * conv.outputs * conv.batch * conv.groups
    return min(conv.inputs, conv.outputs) >= LOOPED_CHANNELS and products >= LOOPED_PRODUCTS


def wide_window_pays(conv: Convolution) -> bool:
    """Whether a matrix product of patches is faster than XLA's convolution.

    XLA swaps the operands where the window is the larger one, and then finds no library for them.
    3x3 on 2x2 ran 3 to 100 times faster as a product for 8 to 512 channels and batches of 1 to 32,
    3x3 on 1x1 1.2 to 2.7 times. Input gradients, which are such convolutions too, gained 3 to 37
    times: the kernel is not copied to be reversed and transposed.
    """
    return conv.pixels < conv.taps and conv.positions <= MOST_PATCHES


def wide_gradient_pays(conv: Convolution) -> bool:
    """Whether one matrix product for all positions is faster than XLA's weight gradient.

    Windows of 3 and 5 on images of 1 to 4, in one and two dimensions, 256 to 1024 channels, batches
    1 to 16, channels last: 1.6 to 4.5 times. Channels first, where the product would have to be
    transposed: 0.3 to 0.8. Compile time 0.10 -> 0.22 s, for images of one element 0.06 -> 0.05.
    """
    if conv.accumulator.width != 32 or conv.taps * conv.inputs > MOST_SUMMED:
        return False
    elements = conv.positions * conv.batch * conv.outputs
    return 1 < conv.positions <= MOST_TAPS_AT_ONCE and elements >= WIDE_GRADIENT


def swapped_operands_pay(conv: Convolution) -> bool:
    """Whether a convolution of the window by the image is faster than of the image by the window.

    XLA swaps the operands itself where the window is the larger one, but reverses the image, which
    no library does; here the result is reversed. Weight gradients of 190 transposed convolutions
    (windows 3 to 5, strides 2 and 3, images 2 to 32 and 8 to 512 in a row, channels 1 to 256,
    batches 1 to 64) ran 4.6 times faster in the geometric mean of 2**20 to 2**22 products, 9.9
    times for more, at most 160; gradients of full convolutions 6 to 44 times, windows of 4 to 512
    on smaller images 1.0 to 38 times. Compile time 0.17 -> 0.28 s alone; that of a whole training
    step does not change.

    Where XLA has no library even for one group, there was no difference: 0.8 to 1.5 for three
    dimensions, 0.9 to 1.1 for one dimension of f64.
    """
    dimensions, summed = len(conv.axes), conv.pixels * conv.inputs
    if dimensions != 2 and not (dimensions == 1 and conv.accumulator.width == 32):
        return False
    if conv.taps <= conv.pixels or summed < LEAST_SUMMED:
        return False
    if conv.batch == 1 or conv.batch * conv.inputs < LEAST_FEATURES:
        return False
    if conv.positions <= MOST_PATCHES and conv.batch * conv.taps <= conv.outputs * conv.pixels:
        return False  # patches of the image are copied then, fewer than those of the window
    return conv.batch * conv.outputs * conv.positions * summed >= SWAPPED_PRODUCTS


def point_product_pays(conv: Convolution) -> bool:
    """Whether a matrix product is faster than XLA's convolution by a window of one position.

    XLA's library wants the image's features last and the kernel's inputs before its outputs, and
    XLA copies other layouts; its matrix product takes the kernel in any layout. With the kernel's
    inputs last, as in gradients: 1.0 to 1.9 times as fast for 1 to 32 images of 1x1 to 28x28 and 8
    to 2048 features; ResNet50's training step spent half of its time copying kernels. Images with
    features first gave 0.5 to 3 and are left alone.
    """
    d = conv.dims
    if d.kernel_input_feature_dimension < d.kernel_output_feature_dimension:
        return False
    return bool(d.input_feature_dimension == len(conv.axes) + 1)


def whole_product_pays(conv: Convolution) -> bool:
    """Whether a matrix product is faster than XLA's convolution by a window as large as the image.

    Weight gradients of 1x1 kernels: 1.1 to 2.7 times as fast over the same shapes; last layers 1.2
    to 1.5. Where the batch, which is not summed over, lies between summed dimensions: 0.5 to 2.
    """
    return conv.dims.input_batch_dimension in (0, len(conv.axes) + 1)

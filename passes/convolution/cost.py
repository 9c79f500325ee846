"""Limits on the form of rewritten convolutions; prices decide whether a rewrite pays.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: 260 shapes with
windows 2 to 11, images 4 to 112, channels 8 to 1024, batches 1 to 32, strides 1 and 2, NHWC and
NCHW, f32, bf16 and f16. Both programs ran alternately in one process; the ratios are of medians,
above 1 where the rewritten program is faster.
"""

from __future__ import annotations

from collections.abc import Sequence

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
XLA also copies unrolled code into each of its consumers: before a layer norm the loop ran 3 to 37
times as fast and compiled in 0.8 of the time. ConvNeXt's forward pass compiles in 1.8 s of CPU
time instead of 3.4 (1.1 without this pass), NASNet's in 7.1 instead of 9.4 (3.4). With 9 taps both
forms are equal alone, but whole models ran 1.15 times slower with the loop.
"""

ROW_TAPS = range(3, 8)
"""Taps of a row whose loop is vectorized. With 11 it is not, and runs eight times slower."""

SLICED_MEMBERS = 16
"""The most neighbors that are added as slices: 3 to 6 times faster than a reduce of 2 to 8."""

MOST_PATCHES = 4
"""The most positions in the result for which a window wider than the image becomes a product.

Each position is a slice. 16 of them (5x5 on 4x4) ran 6 to 10 times faster than XLA's convolution,
but took 0.4 s to compile instead of 0.07; 4 take as long as a convolution.
"""

MOST_POSITIONS = 25
"""Weight gradients of windows up to 5x5 become one product: each position is a slice."""

MOST_ROWS = 128
"""The most rows of a window, and taps of a row, whose products are summed.

Both the patches and the products take as much memory as so many images.
"""

MOST_ROW_OUTPUTS = 16
"""The most features of the result of row products, unless the window is wider than the image.

All products are stored before they are added. With 16 outputs they took 0.8 of the time of planes,
with 32 and 64 between 1.4 and 2.5 times as long.
"""

MOST_PLANES = 16
"""The most convolutions that a convolution of three spatial axes becomes."""

JOINED_PARTS = 8
"""The most taps of a row whose elements are joined by a `concatenate`: more are copied by a loop.

The result is as fast. 65 taps compile in 0.1 s instead of 0.56, and 9 in 0.08 instead of 0.13.
"""


def rows_at_once(*, rows: int, taps: int, steps: Sequence[int]) -> int:
    """The rows of a window that one iteration sums; `rows` if the window is unrolled.

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

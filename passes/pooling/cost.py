"""Where spelling out the windows of pooling pays.

On CPU, measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: images
of 7 to 112, 1 to 256 channels, NHWC and NCHW, windows of 2 to 24, strides 1 to 3, alone and between
elementwise ops; f32, bf16, f16, f64 and i32. Both programs in one process, interleaved, medians. On
GPU by the rooflines of the kernels that XLA makes for an H100, 1.5 us each for starting: nothing
was run.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

LONGEST_WINDOW = 32
"""The most elements along one of several dimensions of a window: each is an op.

3x3 ran 2 to 14 times faster than XLA, 8x8 4 to 15, 24x24 16 to 80; 0.1 to 0.2 s to compile.
"""

LONGEST_ALONE = 4
"""The same where the window has one dimension: 2 gave 1.7 to 5, 4 1.1 to 2.5, 8 0.7 to 1.6."""

LONGEST_APART = 8
"""The same for windows that share no element. XLA too reads each element once: 4 and 8 gave 1 to 5,
16 gave 0.5 to 2.5."""

MOST_IN_ORDER = 25
"""Sums over windows of up to so many elements keep StableHLO's order: a slice for each element.

As fast as a dimension at a time, 3x3 to 7x7, or up to 5 times faster; but each is two ops.
"""

LONGEST_SELECTION = 64
"""The most elements of a window of which one is selected: each is a comparison.

2x2 ran 5 to 80 times faster than XLA and compiled 2 to 10 times as quickly, 3x3 3 to 25 and 2 to 3,
7x7 6 and 0.7: passes that tidy the comparisons take their time too.
"""

LONGEST_SHARED_ON_GPU = 9
"""The same on GPU, where windows share elements or are not selected in blocks.

2x2 gained 1.7 to 3.0, 3x3 1.9 to 3.4, in training 1.2 to 1.5; 7x7 lost (0.7). Side by side in
blocks 8x8 gained 1.6.
"""

LONGEST_BODY = 8
"""The most ops in a body that is spelled out. Max pooling's derivative along a direction has 3."""

MOST_STEPS = 25
"""The most elements of a window for which a body is spelled out.

Max pooling's derivative ran 6 to 27 times faster than XLA for 2x2, 3 to 15 for 3x3; 0.2 s longer to
compile.
"""


def slices_pay(
    *, windows: Sequence[int], overlaps: Sequence[bool], runs: bool, whole: bool
) -> bool:
    """Whether slices combined beat XLA's own window.

    Args:
        windows: extents of the window where they are more than 1.
        overlaps: for each of them, whether neighbouring windows share elements.
        runs: whether the window is a running sum, which is another pass's.
        whole: whether there is one window: that is a sum as any other, which XLA does well.
    """
    if runs or whole or not windows:
        return False
    shared = LONGEST_WINDOW if len(windows) > 1 else LONGEST_ALONE
    limits = [shared if overlap else LONGEST_APART for overlap in overlaps]
    return all(window <= limit for window, limit in zip(windows, limits, strict=True))


def keeps_order(windows: Sequence[int]) -> bool:
    """Whether a sum over a window of these extents is better written out in order."""
    return prod(windows) <= MOST_IN_ORDER


def steps_pay(windows: Sequence[int]) -> bool:
    """Whether a body spelled out for each element of a window beats XLA's own window."""
    return 1 < prod(windows) <= MOST_STEPS


def selection_pays(target: str, *, taps: int, is_apart: bool) -> bool:
    """Whether comparisons beat XLA's gradient of max pooling.

    On TPU they lose (0.03 to 0.8).

    Args:
        target: "cpu", "gpu" or "tpu".
        taps: elements of a window.
        is_apart: whether windows share none, and are selected in blocks.
    """
    shared = {"cpu": LONGEST_SELECTION, "gpu": LONGEST_SHARED_ON_GPU}
    apart = {"cpu": LONGEST_SELECTION, "gpu": LONGEST_SELECTION}
    return taps <= (apart if is_apart else shared).get(target, 0)


def blocks_pay(last_stride: int) -> bool:
    """Whether windows side by side are better selected in blocks, by one comparison.

    2 to 5 times faster than shifted selects, unless the last dimension is windowed: 4 times slower.
    """
    return last_stride == 1

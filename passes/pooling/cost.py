"""Cost conditions of the pass `pooling`: when unrolled windows are faster.

CPU: measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: images of 7
to 112, 1 to 256 channels, NHWC and NCHW, windows of 2 to 24, strides 1 to 3, alone and between
elementwise ops; f32, bf16, f16, f64 and i32. Both programs ran alternately in one process; the
ratios are of medians, above 1 where the rewritten program is faster. GPU: rooflines of the kernels
that XLA makes for an H100, plus 1.5 us for each launch; nothing was run.

`LONGEST_` limits the extent of a window along a dimension, `MOST_` its number of elements. The
rules in `selection.py` use `MOST_SELECTED` and `MOST_SELECTED_ON_GPU`, those in `slices.py` the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

LONGEST_OVERLAPPING = 32
"""The longest side of an overlapping window of several dimensions; each position along it is an op.

3x3 ran 2 to 14 times faster than XLA, 8x8 4 to 15, 24x24 16 to 80; 0.1 to 0.2 s to compile.
"""

LONGEST_ONE_DIMENSIONAL = 4
"""The longest overlapping window of one dimension.

2 ran 1.7 to 5 times faster than XLA, 4 1.1 to 2.5, 8 0.7 to 1.6.
"""

LONGEST_ADJACENT = 8
"""The longest side of a window that does not overlap its neighbors: XLA reads elements once too.

4 and 8 ran 1 to 5 times faster than XLA, 16 0.5 to 2.5.
"""

MOST_IN_ORDER = 25
"""The most elements of a window whose sum keeps StableHLO's order: a slice for each element.

3x3 to 7x7 ran as fast as one dimension at a time, or up to 5 times faster, but each element is two
ops.
"""

MOST_SELECTED = 64
"""The most elements of a window in the gradient of max pooling, which compares each.

2x2 ran 5 to 80 times faster than XLA and compiled 2 to 10 times as fast, 3x3 3 to 25 and 2 to 3,
7x7 6 and 0.7: cleanup passes take time for the comparisons too. On GPU this is the limit of windows
that are selected in blocks: 8x8 gained 1.6.
"""

MOST_SELECTED_ON_GPU = 9
"""The most elements on GPU of a window that overlaps or is not selected in blocks.

2x2 gained 1.7 to 3.0, 3x3 1.9 to 3.4, in training 1.2 to 1.5; 7x7 lost (0.7).
"""

LONGEST_BODY = 8
"""The most ops in an unrolled body. Max pooling's derivative along a direction has 3."""

MOST_STEPS = 25
"""The most elements of a window for which a body is unrolled.

Max pooling's derivative ran 6 to 27 times faster than XLA for 2x2, 3 to 15 for 3x3, and took 0.2 s
more to compile.
"""


def slices_pay(
    *, windows: Sequence[int], overlaps: Sequence[bool], runs: bool, whole: bool
) -> bool:
    """Whether slices are faster than XLA's own window.

    Args:
        windows: extents of the window that are more than 1.
        overlaps: for each of them, whether neighboring windows share elements.
        runs: whether the window is a cumulative sum, which the pass `scans` rewrites.
        whole: whether there is only one window: a plain reduction, which XLA does well.
    """
    if runs or whole or not windows:
        return False
    shared = LONGEST_OVERLAPPING if len(windows) > 1 else LONGEST_ONE_DIMENSIONAL
    limits = [shared if overlap else LONGEST_ADJACENT for overlap in overlaps]
    return all(window <= limit for window, limit in zip(windows, limits, strict=True))


def keeps_order(windows: Sequence[int]) -> bool:
    """Whether a sum over a window of these extents is written in StableHLO's order."""
    return prod(windows) <= MOST_IN_ORDER


def steps_pay(windows: Sequence[int]) -> bool:
    """Whether a body unrolled over the elements of a window is faster than XLA's own window."""
    return 1 < prod(windows) <= MOST_STEPS


def selection_pays(target: str, *, taps: int, is_apart: bool) -> bool:
    """Whether comparisons are faster than XLA's gradient of max pooling.

    On TPU they are slower (0.03 to 0.8).

    Args:
        target: "cpu", "gpu" or "tpu".
        taps: elements of a window.
        is_apart: whether windows do not overlap and are selected in blocks.
    """
    shared = {"cpu": MOST_SELECTED, "gpu": MOST_SELECTED_ON_GPU}
    apart = {"cpu": MOST_SELECTED, "gpu": MOST_SELECTED}
    return taps <= (apart if is_apart else shared).get(target, 0)


def blocks_pay(last_stride: int) -> bool:
    """Whether adjacent windows are better selected in blocks, by one comparison.

    2 to 5 times faster than shifted selects, but 4 times slower where the last dimension has
    windows.
    """
    return last_stride == 1

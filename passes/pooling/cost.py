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

    2 to 5 times faster than shifted selects, also for pairs along the last dimension. With 3 and 4
    elements along the last dimension 0.3 to 3.
    """
    return last_stride <= 2

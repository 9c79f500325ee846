"""Cost conditions of the pass `recurrences`: when loops are faster than a tree, on CPU.

A loop does half the arithmetic of a tree, in one kernel, and copies no elements apart or together.
Measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores, y[t] = a[t] y[t - 1] + b[t] with `tanh` and
a sum for the gradient, O2 without and with the loops, microseconds, and seconds to compile:

    length x width   forward         compile        gradient        compile
    16 x 1             12.6    13.1  0.15 -> 0.04     71.7    33.6  0.48 -> 0.09
    16 x 64            17.5    21.5  0.24 -> 0.12     38.5    35.9  0.58 -> 0.15
    16 x 65,536       975.6   795.5  0.18 -> 0.09   4722.6  2665.5  0.66 -> 0.15
    32 x 16            59.3    27.1  0.20 -> 0.05     24.7    19.9  0.88 -> 0.17
    32 x 16,384       674.2   396.1  0.32 -> 0.08   2010.0  1219.8  0.81 -> 0.14
    64 x 64            78.5    34.2  0.30 -> 0.09    129.3   114.9  0.98 -> 0.13
    64 x 1024         259.9   114.9  0.36 -> 0.11    621.3   291.1  1.36 -> 0.15
    128 x 8            80.0    34.4  0.34 -> 0.05     68.9    56.9  1.20 -> 0.13
    256 x 256         308.0    81.4  0.54 -> 0.10    547.4   276.2  1.70 -> 0.23
    512 x 1           145.2    46.1  0.72 -> 0.05    160.3    87.6  1.57 -> 0.10
    512 x 64          252.1   107.2  0.86 -> 0.11    412.0   252.2  1.80 -> 0.15
    512 x 2048       2374.7   925.7  0.69 -> 0.08   9715.9  3056.6  2.17 -> 0.16
    1000 x 100        337.7   149.3  0.75 -> 0.11    794.1   457.8  2.51 -> 0.22

Along the last dimension, each element is in another row, and the loop reads a cache line for each
of them: rows x length, forward and gradient, microseconds, on a busy machine:

    1000 x 64      464    357   1715    741
    16 x 1024      299    126    498    263
    256 x 128      257    229   1147    471
    64 x 4096     4017   4067  12954   9171
    256 x 1024    2308   3731  10658   8625
    100 x 500      397    158   2686    693
    300 x 700     2274   1312  16032   3101
    1000 x 1000  14880  56074  68982  77711
    1000 x 1024  13471  51092  53679 138252

With at least a cache line of elements after the axis, 256 x 1024 x 16 ran 3.3 and 2.2 times as
fast, and 2 x 4096 x 64, in f64, 3.1 and 1.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jxc.cost.cpu import LINE, PAGE, lines_apart

SHORTEST = 32
"""Shorter axes are left alone: a forward pass of 16 elements lost 1 to 4 us."""

COLUMN_LINES = 4000
"""The most cache lines that a column may occupy if its elements are less than `LINE` bytes."""

FAR_LINES = 1024
"""The same if each row is in a page of its own."""


def is_faster(sizes: Sequence[int], axis: int, width: int) -> bool:
    """Whether loops along an axis are faster than a tree.

    Args:
        sizes: the extents of the elements.
        axis: the dimension of the axis.
        width: the bytes of an element.
    """
    length, rows = sizes[axis], prod(sizes[:axis])
    if length < SHORTEST:
        return False
    adjacent = prod(sizes[axis + 1 :]) * width
    if rows == 1 or adjacent >= LINE:
        return True
    distance = length * adjacent
    most = FAR_LINES if distance > PAGE // 2 else COLUMN_LINES
    return rows * lines_apart(distance) <= most

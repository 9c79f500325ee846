"""Where indexing is better done without indices on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512: every 2nd, 8th and 32nd row,
column or both of 64x64 and 512x1024 arrays of f32, alone and in loops; both programs in one
process, interleaved.
"""

from __future__ import annotations

SPREAD_ELEMENTS = 32768
"""Smaller arrays take no longer than a call: 64x64 gave 0.6 to 1.4."""

DENSE = 2
"""Of so many places one must be written, where a scatter writes rows or single elements.

XLA's scatter takes 0.5 ns an element in rows and 3 in single elements, and leaves the others alone;
what is spread takes 0.3 ns for each place. Every 2nd row gave 2.8, every 8th 1.3; every 2nd element
of every 2nd row gave 2 alone and 0.5 in a loop, where the array is written in place.
"""

DENSE_IN_COLUMNS = 32
"""The same where it writes columns, one element of a row after the other: 7 to 40 ns each.

Every 2nd column gave 10 to 60, every 8th 3.6 to 8, every 32nd 1.8 to 2.6.
"""


def spread_pays(*, written: int, elements: int, in_columns: bool) -> bool:
    """Whether a scatter to evenly spaced places is better spread out over all places.

    Args:
        written: how many places it writes.
        elements: how many there are.
        in_columns: whether its windows are long, and cross the rows.
    """
    dense = DENSE_IN_COLUMNS if in_columns else DENSE
    return elements >= SPREAD_ELEMENTS and written * dense >= elements


LEAST_ROWS = 16
"""Tables from so many rows are read by index; 4 gave 0.9 to 1.8, 16 gave 0.8 to 9."""


def table_pays(*, rows: int) -> bool:
    """Whether a product with one-hot vectors of `rows` elements is better a gather or a scatter.

    4096 vectors by 64 columns: 64 rows gave 6 to 15, 512 gave 30 to 180, 4096 gave 400 to 1700.
    """
    return rows >= LEAST_ROWS

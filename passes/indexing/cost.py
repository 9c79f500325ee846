"""Cost conditions of the pass `indexing`: when indexing is faster without indices on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512: every 2nd, 8th and 32nd row,
column or both of 64x64 and 512x1024 arrays of f32, alone and in loops. Both programs ran
alternately in one process; ratios above 1 mean that the rewritten program is faster.
"""

from __future__ import annotations

LEAST_PADDED = 32768
"""Smaller arrays take no longer than a call: 64x64 gave 0.6 to 1.4."""

DENSE = 2
"""One in so many elements must be written, where a scatter writes rows or single elements.

XLA's scatter takes 0.5 ns an element in rows and 3 ns in single elements, and skips the others; the
padded form takes 0.3 ns for each element of the operand. Every 2nd row gave 2.8, every 8th 1.3;
every 2nd element of every 2nd row gave 2 alone and 0.5 in a loop, where the array is updated in
place.
"""

DENSE_IN_COLUMNS = 32
"""The same where it writes columns, one element of a row after the other: 7 to 40 ns each.

Every 2nd column gave 10 to 60, every 8th 3.6 to 8, every 32nd 1.8 to 2.6.
"""


def padding_pays(*, written: int, elements: int, in_columns: bool) -> bool:
    """Whether a scatter with affine indices is faster as a pad and a select.

    Args:
        written: elements that it writes.
        elements: elements of the operand.
        in_columns: whether its windows are long and cross the rows.
    """
    dense = DENSE_IN_COLUMNS if in_columns else DENSE
    return elements >= LEAST_PADDED and written * dense >= elements


LEAST_ROWS = 16
"""The least rows of a table that is read by index; 4 gave 0.9 to 1.8, 16 gave 0.8 to 9."""


def table_pays(*, rows: int) -> bool:
    """Whether a product with one-hot vectors of `rows` elements is faster as a gather or scatter.

    4096 vectors by 64 columns: 64 rows gave 6 to 15, 512 gave 30 to 180, 4096 gave 400 to 1700.
    """
    return rows >= LEAST_ROWS

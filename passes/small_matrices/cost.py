"""Cost conditions of the pass `small-matrices` that are no prices yet.

Measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512.
"""

from __future__ import annotations

TALL_ROWS = 1000
"""The least number of rows of a tall product: 2000 gave 1.2 to 6, 20000 gave 2 to 26."""

MATRIX_COLUMNS = 16
"""The least number of columns of X^T y: 16 and 64 gave 2 to 15, 8 gave 0.8 to 2.7, 4 lost."""


def matrix_first_pays(*, rows: int, columns: int) -> bool:
    """Whether X^T y is faster as y X, for X of `rows` by `columns`."""
    return rows >= TALL_ROWS and columns >= MATRIX_COLUMNS

"""Cost conditions of the pass `small-matrices` that are no prices yet.

TPU: cycles that the compiler of libtpu 0.0.52 estimates for a v5e, f32 at default precision;
nothing was run. CPU: measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512.
"""

from __future__ import annotations

TPU_PRODUCTS = 1000
"""The least number of products on TPU."""

TPU_LONGEST = 8
"""The most rows, columns and terms on TPU: 1024 products of 16x16 gained 1.2, for 63 ops more."""

TALL_ROWS = 1000
"""The least number of rows of a tall product: 2000 gave 1.2 to 6, 20000 gave 2 to 26."""

MATRIX_COLUMNS = 16
"""The least number of columns of X^T y: 16 and 64 gave 2 to 15, 8 gave 0.8 to 2.7, 4 lost."""


def pays_on_tpu(*, batch: int, rows: int, columns: int, terms: int) -> bool:
    """Whether so many products are faster elementwise on TPU, whose matrix unit is mostly idle.

    4096 products gained 5.9 times for 2x2, 4.4 for 3x3, 2.1 for 8x8, 20000 of 4x4 gained 6.4; A S
    A^T 5.2, a gradient 3.2, summed squares 3.5, with the batch last 3.5, in a loop 5.8. 1000 gained
    1.06 for 8x8, 1.6 for 4x4, 1.9 for 2x2, 1.5 in a loop; 256 lost (0.6), as did matrices by
    vectors (0.6) and 64 in a loop (0.4).
    """
    if min(rows, columns, terms) < 2 or max(rows, columns, terms) > TPU_LONGEST:
        return False
    return batch >= TPU_PRODUCTS


def matrix_first_pays(*, rows: int, columns: int) -> bool:
    """Whether X^T y is faster as y X, for X of `rows` by `columns`."""
    return rows >= TALL_ROWS and columns >= MATRIX_COLUMNS

"""Cost conditions of the pass `small-matrices`: when elementwise ops are faster than library calls.

CPU: measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512, f32 and f64:
products of 1 to 16 rows, terms and columns, batches 1 to 20000, alone, in chains, in scans, in
gradients, before and after elementwise ops and sums. Both programs ran alternately in one process;
the ratios are of medians. TPU: cycles that the compiler of libtpu 0.0.52 estimates for a v5e, f32
at default precision; nothing was run.
"""

from __future__ import annotations

from ...cost.rates import Rate, Rates

TINY_PRODUCT = Rate(
    "tiny-product-of-xla",
    "the product of two 4x4 matrices of f32, one of thousands, by XLA's dot_general, in ns",
    480,
)
SHORT_PRODUCT = Rate(
    "short-product-of-xla",
    "the product of an 8x4 and a 4x4 matrix of f32, one of thousands, by XLA's, in ns",
    55,
)
TALL_PRODUCT = Rate(
    "tall-product-of-xla",
    "a multiply-add in a tall matrix of 3 columns times a 3x16 one, by XLA's dot_general, in ns",
    0.37,
)
WRITTEN_PRODUCT = Rate(
    "written-product",
    "a multiply-add of products of 4x4 matrices, as products of columns and rows, in ns",
    0.13,
)

CHOLESKY = Rate(
    "cholesky-of-lapack",
    "the Cholesky factor of a 4x4 matrix of f32, one of thousands, by LAPACK's potrf, in ns",
    105,
)
TRIANGULAR_SOLVE = Rate(
    "triangular-solve-of-lapack",
    "a triangular system of 4 equations in f32, one of thousands, by BLAS's trsm, in ns",
    65,
)

WORTHWHILE = 1.5
"""How many times faster elementwise ops must be by the rates, which are noisy."""

SHORT_TERMS = 128
"""The most multiply-adds in a product that replaces a fast one of XLA's.

8x4 by 4x8 gave 0.8 to 6, 8x8 by 8x8 gave 0.6 to 2.4; up to 128 gave 1.1 to 26.
"""

TPU_PRODUCTS = 1000
"""The least number of products on TPU."""

TPU_LONGEST = 8
"""The most rows, columns and terms on TPU: 1024 products of 16x16 gained 1.2, for 63 ops more."""

TALL_ROWS = 1000
"""The least number of rows of a tall product: 2000 gave 1.2 to 6, 20000 gave 2 to 26."""

MATRIX_COLUMNS = 16
"""The least number of columns of X^T y: 16 and 64 gave 2 to 15, 8 gave 0.8 to 2.7, 4 lost."""

FACTOR_SIZE = 6
"""The largest matrices that are factored column by column.

3x3 gave 2.4 to 10, 6x6 2.4 to 7, for 0.1 and 0.3 s more to compile; 8x8 gave 1.3 to 3 for 0.5 s.
"""

SOLVE_TERMS = 128
"""The most multiply-adds of a triangular system, counting the triangle as a square.

4x4 with 4 right-hand sides gave 4 to 12; 6x6 with 6 gave 0.8 to 4, for 0.3 s more to compile.
"""

LEAST_FACTORS = 64
"""The least number of matrices in a LAPACK call: 16 gave 0.5 to 1.4, 200 gave 0.8 to 5.

In a loop one is enough: Kalman filters of 3 to 6 states gave 1.2 to 4.
"""


def tiny_product_pays(rates: Rates, *, batch: int, rows: int, columns: int, terms: int) -> bool:
    """Whether XLA would take its slowest way, and elementwise ops are faster.

    For 4 to 7 terms and as many rows or columns XLA calls a generic product for each matrix of a
    batch: 470 ns, other sizes take 10 to 100. Elementwise ops ran 4 to 60 times faster, at worst
    1.4 times (7x7, then summed); a single 6x6 in a loop 8 times.
    """
    longest = max(rows, columns)
    if min(rows, columns) < 2 or not (4 <= terms < 8 and 4 <= longest < 8):
        return False
    if batch == 1 and longest == 4:
        return False  # one 4x4 in a loop: 35 ns
    return rates[TINY_PRODUCT] >= WORTHWHILE * rates[WRITTEN_PRODUCT] * rows * columns * terms


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


def short_product_pays(rates: Rates, *, batch: int, rows: int, columns: int, terms: int) -> bool:
    """Whether a small product with a dimension too long for XLA's fast loops is faster elementwise.

    Not if the result is summed: XLA fuses the product with the reduction, which is then slow (0.1
    to 0.5).
    """
    if min(rows, columns, terms) < 2 or max(rows, columns, terms) < 8:
        return False
    size = rows * columns * terms
    if size > SHORT_TERMS or batch < 64:
        return False
    return rates[SHORT_PRODUCT] >= WORTHWHILE * rates[WRITTEN_PRODUCT] * size


def tall_product_pays(rates: Rates, *, rows: int, columns: int, terms: int) -> bool:
    """Whether a matrix of few columns times a small one is faster as elementwise ops.

    (20000, 3) by (3, 16): 3.5 times; 2 terms gave 5 to 14 for 2 columns and lost for 32; 4 gave 1.2
    to 5 for up to 16 columns.
    """
    if rows < TALL_ROWS or columns < 2 or not 2 <= terms <= 4:
        return False
    if columns > (32 if terms == 3 else 16):
        return False
    return rates[TALL_PRODUCT] >= WORTHWHILE * rates[WRITTEN_PRODUCT]


def matrix_first_pays(*, rows: int, columns: int) -> bool:
    """Whether X^T y is faster as y X, for X of `rows` by `columns`."""
    return rows >= TALL_ROWS and columns >= MATRIX_COLUMNS


def cholesky_pays(rates: Rates, *, batch: int, size: int, is_repeated: bool) -> bool:
    """Whether the factors of `batch` matrices are faster column by column.

    Args:
        rates: of the target.
        batch: number of matrices.
        size: rows and columns of each.
        is_repeated: whether it runs in each iteration of a loop.
    """
    if size > FACTOR_SIZE or not _is_enough(batch, is_repeated):
        return False
    return rates[CHOLESKY] >= WORTHWHILE * rates[WRITTEN_PRODUCT] * 4**3


def solve_pays(rates: Rates, *, batch: int, size: int, lines: int, is_repeated: bool) -> bool:
    """Whether `batch` triangular systems of `lines` right-hand sides are faster elementwise."""
    if size**2 * lines > SOLVE_TERMS or not _is_enough(batch, is_repeated):
        return False
    return rates[TRIANGULAR_SOLVE] >= WORTHWHILE * rates[WRITTEN_PRODUCT] * 4**2


def _is_enough(batch: int, is_repeated: bool) -> bool:
    return is_repeated or batch >= LEAST_FACTORS

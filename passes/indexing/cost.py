"""Cost conditions of the pass `indexing`: when another form of indexing is faster.

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


LEAST_MULTIPLICATIONS = 1 << 19
"""The least multiplications of a product with one-hot vectors that a test of its factor replaces.

Measured on an x86 CPU with AVX2, f32, one to 200,000 vectors of 16 to 30,000 elements by 1 to 1024
columns, alone and in an embedding with a layer after it. f64 gained as much; f16 and bf16 gave 0.2
to 10, as a sum of their elements is slow. From 2^18 on, products that read rows
gained 0.9 to 8, from 2^20 on 1.0 to 12; products that add rows gained 1.4 to 18.
"""

LEAST_VECTORS = 16
"""The least one-hot vectors: 1 to 9 gave 0.5 to 1.4, as the test reads the whole table once."""

LEAST_ADDED_TO = 64
"""The least elements of the table to which rows are added: 16 gave 0.5, 64 gave 2, 512 gave 1.3."""


def test_pays(*, multiplications: int, vectors: int) -> bool:
    """Whether to test if a table is finite, and to read or add rows if so, in place of a product.

    Args:
        multiplications: those of the product with one-hot vectors.
        vectors: the number of these.
    """
    return multiplications >= LEAST_MULTIPLICATIONS and vectors >= LEAST_VECTORS


LEAST_CLASSES = 8
"""The least extent along which a one-hot vector is summed, or a scatter written, by index.

Gradients of cross entropies on CPU, 8 to 8192 rows of 10 to 50257 classes in f32 and bf16. Where
the gradient is a scatter: 10 classes gave 1.2 to 1.4, 1000 gave 1.1 to 2.7, 32000 and more 1.4 to
4.3, as the scattered array is not summed. Where it is a one-hot vector: 1.0 to 1.3. By the
estimates for H100, 1000 to 32000 classes gained 1.5 to 1.75; for v5e, 1.15 to 1.5.
"""

READ_OF = {"cpu": 8, "gpu": 8, "tpu": 32000}
"""One in so many elements may be read of an array that is then not computed whole.

Cross entropies read one element of each row. On CPU 1000 classes gave 1.15 to 1.25, 32000 and
more 1.0 to 1.8. TPU, by the estimates for v5e, products of 256 features with their gradients: 254
and 256 rows of 32000 classes gave 1.07 and 1.27, 508 and 512 rows 1.27 to 1.58, in bf16 1.38; 1020
and 1024 rows of 8192 classes 0.85 and 0.81, 1024 of 1000 without a product 0.82. Not for GPU,
where XLA computes the array in the kernel that normalises it: 10 and 1000 classes gave 0.8 to 0.85,
32000 1.01.
"""

LEAST_READ = {"cpu": 1 << 17, "gpu": 1 << 17, "tpu": 256 * 32000}
"""The least elements of that array. On CPU 80 to 65,536 gave 0.97 to 1.05.

On TPU the fewest that were estimated.
"""


def reading_first_pays(elements: int, read: int, target: str) -> bool:
    """Whether to compute only what is read of an array.

    Args:
        elements: elements of the array.
        read: elements that a gather reads.
        target: the kind of hardware.
    """
    return read * READ_OF[target] <= elements and elements >= LEAST_READ[target]


LEAST_FACTORS = 1 << 17
"""The least elements of a product with one-hot vectors of which the extremes are computed instead.

Cross entropies with one-hot labels and their gradients on CPU, f32: 80 to 10,240 elements gave 0.98
to 1.3, 102,400 gave 1.25 to 1.45, a million 1.3 to 2.2, 4 to 8 million 1.1 to 4.5: XLA stores the
products before it sums them.
"""


def extremes_pay(elements: int) -> bool:
    """Whether to find infinities by the extremes of an array of `elements` instead of products."""
    return elements >= LEAST_FACTORS

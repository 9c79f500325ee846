"""Cost conditions of the pass `products`: estimated time of products and of passes over memory.

Each op takes the time of a kernel and the larger of the times of its multiply-adds and its
elements, by the rates of the device. Those of other GPUs and TPUs are in proportion to those of an
H100 (data sheet, f32 at default precision) and a TPU v5e (what its compiler estimates). They need
not be precise: a rewrite must save a fifth.

Measured with XLA:CPU of jaxlib 0.10.2, f32, on sizes that no speed was fitted on; both programs ran
alternately in one process, and the ratios are of medians. Products of 128x64 by 64x256 up to
2048x128 by 128x512, with tanh before some: chains 1.4 to 40 times faster, sums 1.4 to 30, traces
and diagonals 1.2 to 280, a common factor 1.3 to 2.4, linear attention 1.03 (128 positions) to 6
(512). Rows of tables of 64 to 1000, 4 to 10 times as many: 1.07 to 4.4; messages along edges 1.8 to
7; the last of 16 to 64 tokens 0.99 (64 words) to 16 (2000 words).

By the compiler's estimate for a TPU v5e and by the roofline of an H100, for 1024x512 by 512x1024:
chains of matrices 1.68 and 1.08, with a vector 1.04 and 1.59, a common factor 1.09 and unchanged,
sums unchanged and 1.59; on H100 traces 1.18, rows of a table 1.55, last tokens 2.7. A chain of
300x200, 200x700 and a vector lost on TPU (0.93), which the speed of vectors excludes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from ...cost.cpu import OF_VECTOR
from ...cost.rates import Rate, Rates
from ...cost.roofline import LAUNCH, PRODUCT


class Work(NamedTuple):
    """The work of one op.

    Attributes:
        multiply_adds: of a product; 0 for other ops.
        elements: that are read and written, in operands and results.
        is_vector: whether it is a product with one row or one column.
    """

    multiply_adds: int
    elements: int
    is_vector: bool = False


ELEMENT = Rate("pass-element", "one element of f32 that an op reads or writes, in ns", 0.06)

LEAST_SAVED = 1.25
"""How many times longer the original program must take by the estimate, which is rough."""

LEAST_SAVED_NS = {"cpu": 2000.0, "gpu": 500.0, "tpu": 500.0}
"""Nanoseconds that a rewrite must save; less is not worth the time of the pass."""


def nanoseconds(rates: Rates, works: Iterable[Work]) -> float:
    """The estimated time of ops that run one after another."""
    of_vector, of_matrix = rates[OF_VECTOR], rates[PRODUCT]
    element, kernel, total = rates[ELEMENT], rates[LAUNCH], 0.0
    for work in works:
        rate = of_vector if work.is_vector else of_matrix
        total += kernel + max(work.multiply_adds * rate, work.elements * element)
    return total


def pays(rates: Rates, before: Iterable[Work], after: Iterable[Work]) -> bool:
    """Whether the ops `after` take clearly less time on the target than the ops `before`."""
    old, new = nanoseconds(rates, before), nanoseconds(rates, after)
    return old >= LEAST_SAVED * new and old - new >= LEAST_SAVED_NS[rates.target]


LEAST_SCORES = 16384
"""The least number of elements of the scores of an attention whose gradient is rewritten.

The gradient of causal attention with 64 features, f32. TPU v5e by its compiler: 259 to 247 us for 8
heads of 1024 positions, 340 to 289 for 96 of 256. H100 by the roofline: 141 to 130, 126 to 119.
CPU: 664 to 643 ms for 8 of 1024.
"""


def features_pay(shape: Sequence[int], *, keys: int, features: int) -> bool:
    """Whether a sum over the keys of scores of `shape` takes longer than one over the features."""
    return prod(shape) >= LEAST_SCORES and keys >= 2 * features


MOST_ROWS = 16
"""The most rows of a factor in each batch, where a product with a repeated factor is grouped.

Attention in which 2 to 8 heads share keys and values, by 64 to 1024 positions of 32 to 128
features, with heads before and after the positions; both products of each. XLA:CPU, AVX2, f32: one
query gained 1.04 to 16, 16 queries 1.15 to 12, 64 queries 0.97 to 5, 512 queries 0.66 to 1.3. By
the compiler's estimate for a TPU v5e, f32 and bf16: one query 1.3 to 46, 16 queries 1.0 to 6.6, 32
queries 0.75 to 4.4. By the roofline of an H100 one query gave 0.17 to 1.1: the rule is off on GPU.
"""


def grouping_pays(*, rows: int) -> bool:
    """Whether a product with a repeated factor is faster with more rows, as the factor was before.

    Args:
        rows: the rows of the other factor in each batch.
    """
    return rows <= MOST_ROWS

"""Cost conditions of the pass `reductions`: when to materialize operands of sums and dots, on CPU.

No price expresses them: XLA loads constants for each row of a narrow kernel, and computes a dot's
operand in the order of a transpose that it inserts.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: alone, before and
after elementwise ops, products of matrices and gathers, 200 to 3,200,000 elements. Both programs
ran alternately in one process; the ratios are of medians, above 1 where the rewritten program is
faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_COLUMNS = 8
"""The most columns of a tensor that is materialized before all of it is summed."""

LEAST_MATERIALIZED = 4096
"""The least number of elements of an [n, 2] to [n, 8] tensor to materialize before it is summed.

One kernel of the sum and of elementwise ops with a constant, over 24,576 elements with 3 or 2
columns: 1.1 to 5 times slower, over 196,608 2 to 10; with 8 columns 0.95 to 3; with 32, 0.5 to 1.7;
without a constant, 0.2 to 1.9.
"""


def materializing_pays(shape: Sequence[int]) -> bool:
    """Whether to materialize a tensor of `shape` before all of it is summed."""
    return len(shape) > 1 and 1 < shape[-1] <= MOST_COLUMNS and prod(shape) >= LEAST_MATERIALIZED


LEAST_TRANSPOSED, LEAST_WORK = 65536, 4
"""The least number of elements, and of ops that compute them, to materialize before a transpose.

Weight gradients of two layers: 1.2 to 1.5 times faster after 65,536 to 262,144 elements of GELU,
1.0 after 1,024 and 32,768; after relu, 0.9 to 1.2. A transformer's training step 1.1.
"""


def transposing_pays(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether to materialize a computed tensor before it is transposed to be summed over `dims`."""
    is_leading = sorted(dims) == list(range(len(dims)))
    return len(dims) > 1 and is_leading and prod(shape) >= LEAST_TRANSPOSED

"""Cost conditions of the pass `reductions`: when another form of a reduction is faster on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: alone, before and
after elementwise ops, products of matrices and gathers, 200 to 3,200,000 elements. Both programs
ran alternately in one process; the ratios are of medians, above 1 where the rewritten program is
faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_SLICES = 8
"""The most neighbors that are combined as slices.

Sums over 2 to 8 ran 3.5 to 4.3 times faster, maxima 1.6 to 3.5, softmax 1.6 to 4; over 12, sums 2
and maxima 0.4.
"""

LEAST_SLICED = 16384
"""The least number of elements: 6,000 gave 1.5 to 4, but saved 20 us for 50 ms of compiling."""

MOST_INNER = 16
"""The most adjacent elements between those that are combined.

1 to 2.5 times faster with 16, 1 to 1.3 with 64 and more, for 0.1 s more to compile. A reduction
over leading dimensions has no limit: XLA goes through all rows for each element, 9 to 26 times
slower.
"""


def slices_pay(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether a reduction of a tensor of `shape` over `dims`, in order, is faster as slices."""
    if not dims or prod(shape) < LEAST_SLICED:
        return False
    combined = prod(shape[dim] for dim in dims)
    is_leading = list(dims) == list(range(len(dims)))
    return 1 < combined <= MOST_SLICES and (is_leading or prod(shape[dims[-1] + 1 :]) <= MOST_INNER)


LEAST_SEARCHED = 32
"""The least extent over which argmax becomes two reductions: 1.5 to 12 times faster.

Over 16 and 24, 0.6 to 3 times; over 3 and 10, 0.1 to 0.9. `categorical` gained 7 to 8. Integers did
not gain: 0.3 to 1.2.
"""

MOST_COUNTED = 1 << 24
"""Positions up to here are exact in f32."""

SEARCHED_ELEMENTS = range(4096, 2**20 + 1)
"""Elements of tensors for which argmax becomes two reductions.

Below, all of it takes microseconds. Above, the temporaries cost more than they gain: XLA runs a
reduction by a library and stores what it reduces first, here the positions, and the tensor itself
where it is computed, 4 bytes an element each. So 1 Mi elements need 4 to 8 MiB, where XLA's own
argmax needs a few hundred bytes. 4 Mi elements gave 0.8 to 0.9 where they are computed
(jaxlib 0.10.2), and 2 to 4 where they are arguments.
"""


def two_reductions_pay(shape: Sequence[int], dim: int) -> bool:
    """Whether argmax along `dim` of f32 of `shape` is faster as two reductions."""
    is_long = LEAST_SEARCHED <= shape[dim] <= MOST_COUNTED
    return is_long and prod(shape) in SEARCHED_ELEMENTS


LEAST_DOT = 8192
"""The least number of elements of a matrix whose product with a vector becomes a `dot_general`.

A sum of products is one kernel too, but takes 10 to 30 us to start and, in batches, a scalar loop:
from 10,000 elements on a dot ran 1.3 to 7 times faster, 3,000 to 4,000 gave 0.9 to 1.1. Only sums
over the last dimensions: over others 0.9 to 2. Computed matrices gave 0.5 to 4, as a dot needs them
in memory and a sum does not.
"""


def dot_pays(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether a sum of products with a matrix of `shape` over `dims` is faster as a dot."""
    is_last = bool(dims) and sorted(dims) == list(range(len(shape) - len(dims), len(shape)))
    terms = prod(shape[dim] for dim in dims)
    return is_last and prod(shape) >= LEAST_DOT and terms > MOST_SLICES


LEAST_MATERIALIZED = 4096
"""The least number of elements of an [n, 2] to [n, 8] tensor that is stored before it is summed.

One kernel of the sum and of elementwise ops with a constant, over 24,576 elements with 3 or 2
columns: 1.1 to 5 times slower, over 196,608 2 to 10; with 8 columns 0.95 to 3; with 32, 0.5 to 1.7;
without a constant, 0.2 to 1.9.
"""


def materializing_pays(shape: Sequence[int]) -> bool:
    """Whether to store a tensor of `shape` in memory before all of it is summed."""
    return len(shape) > 1 and 1 < shape[-1] <= MOST_SLICES and prod(shape) >= LEAST_MATERIALIZED


LEAST_TRANSPOSED, LEAST_WORK = 65536, 4
"""The least number of elements, and of ops that compute them, to store before a transpose.

Weight gradients of two layers: 1.2 to 1.5 times faster after 65,536 to 262,144 elements of GELU,
1.0 after 1,024 and 32,768; after relu, 0.9 to 1.2. A transformer's training step 1.1.
"""


def transposing_pays(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether to store a computed tensor before it is transposed to be summed over `dims`."""
    is_leading = sorted(dims) == list(range(len(dims)))
    return len(dims) > 1 and is_leading and prod(shape) >= LEAST_TRANSPOSED

"""When another form of a reduction pays on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: alone, behind
and before elementwise work, products of matrices and gathers, 200 to 3,200,000 elements; both
programs in one process, interleaved, medians.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_SLICES = 8
"""So many neighbours are combined as slices.

Sums over 2 to 8 ran 3.5 to 4.3 times faster, maxima 1.6 to 3.5, softmax 1.6 to 4; over 12, sums 2
and maxima 0.4.
"""

LEAST_SLICED = 16384
"""Elements from which slices pay: 6,000 gave 1.5 to 4, but saved 20 us for 50 ms of compiling."""

MOST_INNER = 16
"""Where so many elements or fewer follow each other between those that are combined.

1 to 2.5 times faster with 16, 1 to 1.3 with 64 and more, and 0.1 s more to compile. Not so where
nothing is before the axis: XLA then goes through all rows for each element, 9 to 26 times slower.
"""


def slices_pay(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether to write a reduction of a tensor of `shape` over `dims`, in order, as slices."""
    if not dims or prod(shape) < LEAST_SLICED:
        return False
    combined = prod(shape[dim] for dim in dims)
    is_leading = list(dims) == list(range(len(dims)))
    return 1 < combined <= MOST_SLICES and (is_leading or prod(shape[dims[-1] + 1 :]) <= MOST_INNER)


LEAST_SEARCHED = 32
"""Extents from which the place of the greatest is found by two reductions: 1.5 to 12 times faster.

Over 16 and 24, 0.6 to 3 times; over 3 and 10, 0.1 to 0.9. `categorical` gained 7 to 8. Integers did
not: 0.3 to 1.2.
"""

MOST_COUNTED = 1 << 24
"""Places up to here are exact in f32."""

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
"""Elements of a matrix from which its product with a vector is better a `dot_general`.

A sum of products is one kernel, too, but takes 10 to 30 us to begin with and, in batches, a scalar
loop: from 10,000 elements on a dot ran 1.3 to 7 times faster, 3,000 to 4,000 gave 0.9 to 1.1. Sums
over the last dimensions only: over others 0.9 to 2. Matrices that are computed from something else
gave 0.5 to 4: they are stored for a dot, which a sum has no need of.
"""


def dot_pays(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether to sum products with a matrix of `shape` over `dims` by `dot_general`."""
    is_last = bool(dims) and sorted(dims) == list(range(len(shape) - len(dims), len(shape)))
    terms = prod(shape[dim] for dim in dims)
    return is_last and prod(shape) >= LEAST_DOT and terms > MOST_SLICES


LEAST_STORED = 4096
"""Elements of points from which a sum over all of them is better one of stored elements.

One kernel of the sum and of elementwise work that takes in a constant, over 24,576 elements with 3
or 2 columns: 1.1 to 5 times slower, over 196,608 2 to 10; with 8 columns 0.95 to 3; with 32, 0.5 to
1.7; without a constant, 0.2 to 1.9.
"""


def storing_pays(shape: Sequence[int]) -> bool:
    """Whether to store what is summed up of a tensor of `shape`."""
    return len(shape) > 1 and 1 < shape[-1] <= MOST_SLICES and prod(shape) >= LEAST_STORED


LEAST_TRANSPOSED, LEAST_WORK = 65536, 4
"""Elements, and elementwise ops that compute them, from which they are stored to be transposed.

The weights' gradients of two layers: 1.2 to 1.5 times faster behind 65,536 to 262,144 elements of
GELU, 1.0 behind 1,024 and 32,768; behind relu, 0.9 to 1.2. A transformer's training step 1.1.
"""


def transposing_stored_pays(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether to store what is computed before it is transposed to be summed over `dims`."""
    is_leading = sorted(dims) == list(range(len(dims)))
    return len(dims) > 1 and is_leading and prod(shape) >= LEAST_TRANSPOSED

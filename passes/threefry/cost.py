"""Cost conditions of the pass `threefry`: when to unroll a loop of integer arithmetic on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: `jax.random`'s
functions from 1 to 4 million words, alone, under `vmap`, in scans and before reductions; ratios
above 1 mean that the unrolled loop is faster.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_ITERATIONS = 8
"""The most iterations: threefry has 5, and each is code to compile."""

LEAST_WORK = 16
"""The least number of arithmetic ops in an iteration.

Threefry has 28; with 3, eight iterations ran as fast as the loop.
"""


ALWAYS_WORDS = 16
"""Loops over so few words, such as keys, are always unrolled: recomputing them is cheap."""

MOST_KERNELS = 2
"""The most kernels that may each compute the same rounds.

A mask used twice ran 1.2 times faster, numbers used three times 0.9 to 1. Where a kernel computes
elements repeatedly, the loop was faster: 0.1 to 0.25 for a broadcast along rows, 0.3 to 0.6 for a
cumulative sum, five rolls, a gather. Two concatenated halves, as without
`jax_threefry_partitionable`, gave 0.8 to 1.1 (1.2 to 2 on jaxlib 0.10.2), and took 0.2 to 0.7 s
longer to compile. Where a kernel reads several slices, such as two rows of normals or neighbors, in
scans over 500 to 65,536 numbers a slice: 0.15 to 0.6, or 0.9 to 1.2 for 500 uniform numbers. Where
an argmax over 8 elements reads their logarithms: 0.46. Where 4 to 16 words are broadcast to images
and a product with three features reads these: 0.6 to 0.85.
"""


def may_unroll(iterations: int) -> bool:
    """Whether a loop of so many iterations may be unrolled."""
    return 0 < iterations <= MOST_ITERATIONS


def is_enough_work(arithmetic: int) -> bool:
    """Whether an iteration with so many arithmetic ops is worth unrolling."""
    return arithmetic >= LEAST_WORK


def unrolling_pays(elements: int, kernels: Callable[[int], int | None]) -> bool:
    """Whether to unroll a loop.

    Args:
        elements: of the largest value that it carries.
        kernels: given a limit, returns how many kernels would compute the iterations, or None if
            they are more or one computes elements repeatedly.
    """
    return elements <= ALWAYS_WORDS or kernels(MOST_KERNELS) is not None

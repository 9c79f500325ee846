"""Cost conditions of the pass `threefry`: when to unroll a loop of integer arithmetic on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: `jax.random`'s
functions from 1 to 4 million words, alone, under `vmap`, in scans and before reductions; ratios
above 1 mean that the unrolled loop is faster.
"""

from __future__ import annotations

MOST_ITERATIONS = 8
"""The most iterations: threefry has 5, and each is code to compile."""

LEAST_WORK = 16
"""The least number of arithmetic ops in an iteration.

Threefry has 28; with 3, eight iterations ran as fast as the loop.
"""


def may_unroll(iterations: int) -> bool:
    """Whether a loop of so many iterations may be unrolled."""
    return 0 < iterations <= MOST_ITERATIONS


def is_enough_work(arithmetic: int) -> bool:
    """Whether an iteration with so many arithmetic ops is worth unrolling."""
    return arithmetic >= LEAST_WORK

"""When a loop of integer arithmetic is better spelled out on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: `jax.random`'s
functions from 1 to 4 million words, alone, under `vmap`, in scans and before reductions.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_TURNS = 8
"""Longer loops stay: threefry has 5 turns, and each turn is code to compile."""

LEAST_WORK = 16
"""Ops of arithmetic in a turn. Threefry has 28; with 3, eight turns ran as fast as the loop."""


ALWAYS_WORDS = 16
"""Keys and the like: to compute them again is cheap."""

MOST_KERNELS = 2
"""Kernels that may compute the same rounds, each for itself.

A mask used twice ran 1.2 times faster, numbers used three times 0.9 to 1. Where a kernel computes
elements again, the loop was faster: 0.1 to 0.25 for a broadcast along rows, 0.3 to 0.6 for a
cumulative sum, five rolls, a gather. Two halves that are joined, as without
`jax_threefry_partitionable`, gave 0.8 to 1.1 (1.2 to 2 on jaxlib 0.10.2), and took 0.2 to 0.7 s
longer to compile.
"""


def may_unroll(turns: int) -> bool:
    """Whether a loop of so many turns may be spelled out; one of none is not ours."""
    return 0 < turns <= MOST_TURNS


def is_enough_work(arithmetic: int) -> bool:
    """Whether a turn with so many ops of arithmetic is worth spelling out."""
    return arithmetic >= LEAST_WORK


def unrolling_pays(elements: int, kernels: Callable[[int], int | None]) -> bool:
    """Whether to spell out a loop.

    Args:
        elements: of the largest value that it carries.
        kernels: given a limit, how many kernels would compute its turns; None where they are more,
            or compute elements again.
    """
    return elements <= ALWAYS_WORDS or kernels(MOST_KERNELS) is not None

"""When a loop of integer arithmetic is better spelled out on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: `jax.random`'s
functions from 1 to 4 million words, alone, under `vmap`, in scans and before reductions.
"""

from __future__ import annotations

MOST_TURNS = 8
"""Longer loops stay: threefry has 5 turns, and each turn is code to compile."""

LEAST_WORK = 16
"""Ops of arithmetic in a turn. Threefry has 28; with 3, eight turns ran as fast as the loop."""


MOST_JOINED = 64
"""Results of up to so many elements may go straight into a concatenation.

XLA computes such results inside it, each with all that it is made of: without
`jax_threefry_partitionable`, 0.8 to 1.1 times as fast from 64x64 on (1.2 to 2 on jaxlib 0.10.2),
and 0.2 to 0.7 s longer to compile.
"""


def may_unroll(turns: int) -> bool:
    """Whether a loop of so many turns may be spelled out; one of none is not ours."""
    return 0 < turns <= MOST_TURNS


def unrolling_pays(arithmetic: int, *, joined: int) -> bool:
    """Whether to spell out a loop.

    Args:
        arithmetic: how many ops of arithmetic a turn has.
        joined: elements of the largest result that goes straight into a concatenation, or 0.
    """
    return arithmetic >= LEAST_WORK and joined <= MOST_JOINED

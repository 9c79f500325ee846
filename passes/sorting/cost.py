"""When sorts of packed keys, and selections in place of sorts, pay on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: axes of 4 to
1,000,000, 1 to 10,000 of them, f32, bf16 and i32 keys; both programs in one process, interleaved,
medians.
"""

from __future__ import annotations

LEAST_SORTED = 512
"""Elements from which a sort is packed: 2.4 to 6.4 times faster from a thousand on.

Below, both take 5 to 30 us: what XLA then shares out among threads costs more than it saves (a
hundred elements: 0.5).
"""

FEW = 16
"""A part of an axis is few where this many times as much is left out or more.

Against the packed sort: 2 to 46 times faster for up to a twentieth of the axis, 1 to 1.6 for a
tenth, 0.5 to 1 for a quarter.
"""


def packed_sort_pays(elements: int) -> bool:
    """Whether a sort of so many elements, in all axes together, is better packed."""
    return elements >= LEAST_SORTED


def top_k_pays(taken: int, size: int) -> bool:
    """Whether `taken` elements from one end of an axis of `size` are better selected."""
    return taken * FEW <= size

"""Cost conditions of the pass `sorting`: when packed sorts and top-k are faster on CPU.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: axes of 4 to
1,000,000, 1 to 10,000 of them, f32, bf16 and i32 keys. Both programs ran alternately in one
process; the ratios are of medians, above 1 where the rewritten program is faster.
"""

from __future__ import annotations

LEAST_SORTED = 512
"""The least number of elements of a packed sort: 2.4 to 6.4 times faster from a thousand on.

Below, both take 5 to 30 us, and splitting the packing among threads costs more than it saves (a
hundred elements: 0.5).
"""

FEW = 16
"""How many times more elements a sorted axis must have than are taken of it.

Against the packed sort: 2 to 46 times faster for up to a twentieth of the axis, 1 to 1.6 for a
tenth, 0.5 to 1 for a quarter.
"""


def packed_sort_pays(elements: int) -> bool:
    """Whether a sort of so many elements, over all axes, is faster packed."""
    return elements >= LEAST_SORTED


def top_k_pays(taken: int, size: int) -> bool:
    """Whether `taken` elements from one end of an axis of `size` are faster by top-k."""
    return taken * FEW <= size

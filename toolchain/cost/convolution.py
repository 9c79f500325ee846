"""Where rewriting a depthwise convolution pays on CPU, and in which form.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: 260 shapes with
windows 2 to 11, images 4 to 112, channels 8 to 1024, batches 1 to 32, strides 1 and 2, NHWC and
NCHW, f32, bf16 and f16; both programs in one process, interleaved, medians.
"""

from __future__ import annotations

UNROLLED_TAPS = 64
"""Windows of up to so many taps are spelled out: 5 to 100 times faster than XLA, +30 to 100 ms.

Longer ones gain by a loop: 128 taps in a row ran 1.3 to 2 times faster than XLA, in a loop 15 to
22 times; 11x11 gave 10 to 14 and 13 to 23.
"""

TAPS_PER_TURN = 16
"""How many taps a turn of the loop takes where there are more.

On jaxlib 0.12, 8 to 32 were alike; on 0.10.2, 8 ran three times slower (each turn goes through the
whole accumulator) and 32 compiled in 0.5 s instead of 0.3.
"""

SLICED_MEMBERS = 16
"""Up to so many neighbours are added as slices: 3 to 6 times faster than a reduce of 2 to 8."""

LEAST_POSITIONS = 16
"""Looped windows pay from so many positions in the result.

So 13x13 on 7x7 does, and a window as large as the image does not: XLA reduces that itself (0.4 to
2.1 times for 28x28 and 56x56; 7x7, which is spelled out, gave 1.3 to 2.5).
"""

LEAST_GROUPS = 32
"""Weight gradients of fewer channels are left alone.

XLA multiplies all channels with all, by a fast library, and takes the diagonal: its time grows with
the square. Ratios: 0.2 to 0.7 for 2 to 8 channels, 0.9 to 2.3 for 16, 0.8 to 3 for 32, 1.4 to 5 for
48, 4 to 10 for 96, 14 to 16 for 576, 50 to 60 for 960.
"""

MOST_POSITIONS = 512
"""Weight gradients of more positions are left alone: each is a turn of a loop. 512 gave 3 to 5."""


def taps_at_once(taps: int) -> int:
    """How many of a window's `taps` are spelled out; a loop runs over the rest."""
    return taps if taps <= UNROLLED_TAPS else TAPS_PER_TURN


def multiply_add_pays(*, taps: int, positions: int) -> bool:
    """Whether a product for each of the window's `taps` beats XLA, given the result's positions."""
    return taps <= UNROLLED_TAPS or positions >= LEAST_POSITIONS


def slices_beat_reduce(members: int) -> bool:
    """Whether `members` neighbouring elements are better added as slices than by a reduce."""
    return members <= SLICED_MEMBERS


def weight_gradient_pays(*, groups: int, positions: int, products: int) -> bool:
    """Whether a sum for each of the result's positions beats XLA's own weight gradient.

    Args:
        groups: how many channels there are, each on its own.
        positions: spatial positions in the result.
        products: how many products each of them sums.
    """
    return groups >= LEAST_GROUPS and positions <= min(MOST_POSITIONS, products)

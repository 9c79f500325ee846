"""Where depthwise convolutions pay to be rewritten on CPU, and in which form."""

from __future__ import annotations

import os


def multiply_add_pays(taps: int) -> bool:
    return True


def taps_at_once(taps: int) -> int:
    return int(os.environ.get("TAPS", "0")) or taps


def slices_beat_reduce(members: int) -> bool:
    return members <= 16


def weight_gradient_pays(positions: int, products: int) -> bool:
    return True


def unrolls_weight_gradient(positions: int) -> bool:
    return bool(os.environ.get("WGU"))

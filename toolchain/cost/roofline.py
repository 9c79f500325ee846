"""What bounds every kernel of a CPU: the traffic with main memory, and products of matrices.

No rule decides by these: reports draw a machine's roofline with them.
"""

from __future__ import annotations

from collections.abc import Mapping

from .rates import Rate, Rates

BYTE = Rate("memory-byte", "one byte of 64 MiB that are summed up, in ns", 0.037)
PRODUCT = Rate("multiply-add", "one multiply-add in a product of 1024x1024 f32, in ns", 0.0099)


def bandwidth(rates: Rates) -> float:
    """Bytes per second of main memory, read and written ones together."""
    return 1e9 / rates[BYTE]


def peak_flops(rates: Rates) -> Mapping[str, float]:
    """Operations per second by HLO element type, a multiply-add counting as two."""
    single = 2e9 / rates[PRODUCT]
    return {"f32": single, "f64": single / 2}  # vectors hold half as many


LAUNCH_SECONDS = 1e-6
"""What XLA:CPU takes to start a kernel: fusions of nothing to do gave 0.5 to 2 microseconds."""

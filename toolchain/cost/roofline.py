"""The roofline of a CPU: the speeds of memory, caches, arithmetic, and kernel launches.

Reports draw the roofline of this machine with these rates, and the prices of rewrites use some.
`jxc calibrate` measures them. `benchmarks/roofline.py` compares predictions with measurements.
"""

from __future__ import annotations

from collections.abc import Mapping

from .formulas import TRANSCENDENTAL
from .rates import IS_OLD, Rate, Rates

BYTE = Rate("memory-byte", "one byte of 64 MiB that are summed up, in ns", 0.037)
FIRST_TOUCH = Rate(
    "first-touch-byte", "one byte of a result of 64 MiB, for which pages are mapped, in ns", 0.33
)
CACHED_BYTE = Rate("cached-byte", "one byte of 1 MiB that a loop reads and writes, in ns", 0.0085)
PRODUCT = Rate("multiply-add", "one multiply-add in a product of 1024x1024 f32, in ns", 0.0099)
ELEMENTWISE = Rate("elementwise-flop", "one flop of a fused polynomial on f32, in ns", 0.025)
FUNCTION = Rate("vectorized-function", "one element of stablehlo.exponential on f32, in ns", 0.7)
SCALAR_FUNCTION = Rate("scalar-function", "one element of stablehlo.power on f32, in ns", 5.0)
CONVOLUTION = Rate(
    "convolution-multiply-add",
    "one multiply-add in a 3x3 convolution, 64 to 64 f32, in ns",
    0.025 if IS_OLD else 0.014,
)
GROUPED_CONVOLUTION = Rate(
    "grouped-multiply-add", "one multiply-add in a 3x3 convolution, 8 groups of 8 f32, in ns", 0.4
)
DEPTHWISE_CONVOLUTION = Rate(
    "depthwise-multiply-add",
    "one multiply-add in a depthwise 3x3 convolution of f32, in ns",
    5.0 if IS_OLD else 3.0,
)
SCALAR = Rate("scalar-flop", "one flop of a 3x3 maximum of f32, not vectorized, in ns", 1.2)
LAUNCH = Rate("kernel-launch", "one kernel of a chain of products of 8x8, in ns", 400.0)


def bandwidth(rates: Rates) -> float:
    """Bytes per second of main memory, read and written ones together."""
    return 1e9 / rates[BYTE]


def cache_bandwidth(rates: Rates) -> float:
    """Bytes per second of the last cache, read and written ones together."""
    return 1e9 / rates[CACHED_BYTE]


def launch_seconds(rates: Rates) -> float:
    """Seconds to launch a kernel; a kernel that is compiled into its caller is not launched."""
    return 1e-9 * rates[LAUNCH]


def peak_flops(rates: Rates) -> Mapping[str, float]:
    """Flops per second by the rates of `jxc.hlo.work.Flops.by_type`.

    A vector register holds half as many f64 as f32.
    """
    single = {
        "": 2e9 / rates[PRODUCT],
        "convolution-": 2e9 / rates[CONVOLUTION],
        "grouped-convolution-": 2e9 / rates[GROUPED_CONVOLUTION],
        "depthwise-convolution-": 2e9 / rates[DEPTHWISE_CONVOLUTION],
        "scalar-elementwise-": 1e9 / rates[SCALAR],
        "elementwise-": 1e9 / rates[ELEMENTWISE],
        "function-": TRANSCENDENTAL * 1e9 / rates[FUNCTION],
        "scalar-function-": TRANSCENDENTAL * 1e9 / rates[SCALAR_FUNCTION],
    }
    found = {f"{kind}f32": rate for kind, rate in single.items()}
    return found | {f"{kind}f64": rate / 2 for kind, rate in single.items()}

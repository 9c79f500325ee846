"""The optimisation levels: flat lists of passes, with a reason beside each that is not obvious."""

from __future__ import annotations

_EXACT = (
    # JAX outlines what it reuses (relu, softmax): rules see through a call only once it is gone.
    # The inliner's own canonicalisation is switched off: its folders carry no contract of ours.
    "inline{default-pipeline=}",
    "symbol-dce",
    # JAX computes an index once for each use: rules see that two are the same once they are one.
    "cse",
    "simplify",
    "dedup-constants",
    "cse",
)

_REASSOCIATING = (
    # Before the last simplify: what it builds (slices of pads, broadcasts of slices) is tidied too.
    "depthwise-convolution",
    "simplify",
    "cse",
)

LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": _EXACT,  # bit for bit the same
    "O2": _EXACT + _REASSOCIATING,  # XLA's own freedom to round elsewhere; the default
    "O3": _EXACT + _REASSOCIATING,  # as O2 until there is an approximation worth its error
}

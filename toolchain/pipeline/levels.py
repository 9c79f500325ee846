"""The optimisation levels: flat lists of passes, with a reason beside each that is not obvious."""

from __future__ import annotations

_OPENED = (
    # JAX outlines what it reuses (relu, softmax): rules see through a call only once it is gone.
    # The inliner's own canonicalisation is switched off: its folders carry no contract of ours.
    "inline{default-pipeline=}",
    "symbol-dce",
    # JAX computes an index once for each use: rules see that two are the same once they are one.
    "cse",
)

_FASTER = (
    # What pays on the target. Ahead of simplify: what these build is tidied too, in one go.
    "threefry",
    "sorting",
    "pooling",
    "scans",
    "convolution",
    "small-matrices",
    "reductions",
    "elementary",
)

_TIDIED = ("simplify", "dedup-constants", "cse")

LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": _OPENED + _TIDIED,  # bit for bit the same
    "O2": _OPENED + _FASTER + _TIDIED,  # XLA's own freedom to round elsewhere; the default
    "O3": _OPENED + _FASTER + _TIDIED,  # as O2 until an approximation is worth its error
}

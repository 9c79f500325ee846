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
)

_SPELLED_OUT = (
    # After simplify: indices are progressions there, and powers by constants are products.
    "indexing",
    "elementary",
)

_SHARED = ("dedup-constants", "cse")

LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": (*_OPENED, "simplify", *_SHARED),  # bit for bit the same
    # The default: XLA's own freedom to round elsewhere, and nothing less accurate than XLA is.
    "O2": (*_OPENED, *_FASTER, "simplify", *_SPELLED_OUT, *_SHARED),
    "O3": (*_OPENED, *_FASTER, "simplify", *_SPELLED_OUT, *_SHARED),  # as O2 for now
}

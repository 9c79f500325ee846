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

_AS_WRITTEN = (
    # Ahead of simplify, which changes the loops that it looks for.
    "threefry",
)

_FASTER = (
    # After simplify: constants are folded there, indices are progressions, powers by small numbers
    # products; and what these spell out has nothing to tidy that XLA would not.
    "sorting",
    "pooling",
    "scans",
    "convolution",
    "small-matrices",
    "reductions",
    "indexing",
    "elementary",
)

_SHARED = ("dedup-constants", "cse")

LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": (*_OPENED, "simplify", *_SHARED),  # bit for bit the same
    # The default: XLA's own freedom to round elsewhere, and nothing less accurate than XLA is.
    "O2": (*_OPENED, *_AS_WRITTEN, "simplify", *_FASTER, *_SHARED),
    "O3": (*_OPENED, *_AS_WRITTEN, "simplify", *_FASTER, *_SHARED),  # as O2 for now
}

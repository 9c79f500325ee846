"""The optimisation levels: lists of passes, with a comment on each that is not obvious."""

from __future__ import annotations

_INLINED = (
    # JAX makes functions of what it reuses (relu, softmax), and rules do not look into calls.
    # The inliner's own canonicalisation is switched off: its folders have no contract.
    "inline{default-pipeline=}",
    "symbol-dce",
    # Behind most ops of a program over a mesh with explicit axes.
    "redundant-constraints",
)

_UNIQUE = (
    # JAX computes an index once for each use; rules compare values by identity.
    "cse",
)

_REROLLED = (
    # Before cse, which leaves out ops of all time steps but the first, which then differs.
    "reroll{if-faster=true min-ops=64}",
)

_RECOGNISED_AS_TRACED = (
    # Before simplify, which changes the loops and trees that these passes recognise.
    "materialize",
    "threefry",
    "recurrences",
)

_FASTER = (
    # First: the sums that it leaves in a loop are those that the next pass moves out.
    "collectives",
    # After simplify, which folds constants, turns indices into arithmetic sequences and small
    # powers into products. XLA itself simplifies the ops that these passes build.
    # Early: the products that leave a loop are those that the other passes should see.
    "loops",
    # Before the passes that choose how each product is computed.
    "products",
    "sorting",
    "pooling",
    "scans",
    "convolution",
    "small-matrices",
    "reductions",
    "indexing",
    "elementary",
    # After all others, which do not recognise an unrolled loop.
    "unroll",
    # After the passes that build or fold transposes.
    "layouts",
)

_WORKED_AROUND = (
    # After all others, which could restore a form that XLA computes incorrectly.
    "workarounds",
)

_SHARED = ("dedup-constants", "cse")

_COMPILED = (
    # Last: it prices the kernels of the program that XLA gets.
    "loop-unrolling",
)

_O2 = (
    *_INLINED,
    *_REROLLED,
    *_UNIQUE,
    *_RECOGNISED_AS_TRACED,
    "simplify",
    *_FASTER,
    *_WORKED_AROUND,
    *_SHARED,
    *_COMPILED,
)

LEVELS: dict[str, tuple[str, ...]] = {
    "O0": (),
    "O1": (*_INLINED, *_UNIQUE, "simplify", *_WORKED_AROUND, *_SHARED),  # the same bits
    # The default: rounds differently where XLA may too, and is as accurate as XLA.
    "O2": _O2,
    # What was measured to be fastest for a program and a device (`backend.tuning`); without a
    # measurement, and as a part of another pipeline, it is O2.
    "O3": _O2,
}


def level_of(pipeline: object) -> str | None:
    """The level that a pipeline is, such as "O2" for "-O2"; None if it is not a level alone."""
    name = pipeline.strip().removeprefix("-") if isinstance(pipeline, str) else ""
    return name if name in LEVELS else None

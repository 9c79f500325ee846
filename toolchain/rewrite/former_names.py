"""Names that changed: the former spelling works for one minor version (docs/policy.md).

Pipelines, `--help-pass`, `disable-patterns` and `enable-patterns` look up a name here if no pass
or rule has it. To rename a rule or a pass, add a line to `FORMER_NAMES` and rename its key in
`passes/checked.json`.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache

FORMER_NAMES: dict[str, str] = {
    "bitcast-by-way": "bitcast-of-bitcast",
    "dot-of-points-to-dot-of-stored": "dot-of-narrow-to-materialized",
    "dot-of-broadcast": "dot-of-broadcast-batch",
    "dot-of-repeated": "dot-of-broadcast-free",
    "dot-over-rows-to-dot-of-stored": "dot-over-rows-to-materialized",
    "gather-of-progression": "gather-of-affine-indices",
    "running-extremum-to-loop": "running-reduction-to-loop",
    "running-of-any-order-to-loop": "running-reduction-to-loop",
    "scatter-of-progression": "affine-scatter-to-pad",
    "selection-apart-to-compare": "disjoint-select-and-scatter-to-compare",
    "selection-to-compare": "select-and-scatter-to-compare",
    "small-triangular-solve-to-lines": "small-triangular-solve-to-substitution",
    "sum-of-points-to-sum-of-stored": "sum-of-narrow-to-materialized",
    "while-of-no-turns": "while-of-no-iterations",
    "while-of-one-turn": "while-of-one-iteration",
    "wide-window-to-swapped": "wide-window-to-swapped-operands",
    "window-of-any-body-to-steps": "general-window-to-slices",
    "window-of-spread-to-broadcast": "window-of-dilated-to-broadcast",
}
"""The current name of each renamed pass or rule, by its former name, both in kebab-case."""

REMOVED_IN = "0.3"
"""The version of jxc that no longer accepts the former names."""

_UNTIL = f"jxc {REMOVED_IN} will not accept the old name"


def current_name(name: str) -> str:
    """The name that replaced `name`, with a note on stderr; `name` itself if it was not renamed."""
    new = FORMER_NAMES.get(name)
    if new is None:
        return name
    _print_once(f"note: {name!r} is now called {new!r}; {_UNTIL}")
    return new


@cache
def _print_once(note: str) -> None:
    print(note, file=sys.stderr)


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn the author of a rule or pass that Python name `old` is now called `new`."""
    text = f"{old} is now called {new}; {_UNTIL}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)

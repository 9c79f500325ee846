"""The order of the strategies: coarse ones first, repeated until none makes the module smaller."""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from .attributes import (
    drop_annotations,
    drop_optional_attributes,
    neutralise_attributes,
    simplify_constants,
    strip_locations,
)
from .extents import shrink_all_extents, shrink_arguments, shrink_extents
from .ops import cut_ops, replace_by_arguments, replace_by_constants, replace_by_operands
from .regions import (
    drop_arguments,
    drop_carried,
    drop_dead_code,
    drop_functions,
    drop_outputs,
    hoist_regions,
    inline_calls,
    inline_regions,
    promote_functions,
)
from .search import Reduction, Search, TimeUp

Strategy = Callable[[Search], None]

_FIRST: tuple[Strategy, ...] = (
    strip_locations,  # every text is shorter from here on
    drop_annotations,
    drop_dead_code,
    drop_functions,
    inline_calls,
    drop_outputs,  # one of two hundred outputs needs few of the ops
    cut_ops,
)
_AGAIN: tuple[Strategy, ...] = (
    drop_dead_code,
    drop_outputs,
    inline_calls,
    promote_functions,
    cut_ops,
    drop_outputs,
    drop_arguments,
    inline_regions,
    hoist_regions,
    replace_by_operands,
    drop_carried,
    replace_by_constants,
    replace_by_arguments,
    shrink_all_extents,
    shrink_extents,
    shrink_arguments,
    drop_optional_attributes,
    neutralise_attributes,
    simplify_constants,
    drop_annotations,
)


def reduce_module(
    module: ir.Module,
    still_fails: Callable[[ir.Module], bool],
    *,
    seconds: float | None = None,
    progress: Callable[[Reduction], None] | None = None,
) -> Reduction:
    """The smallest module found that still fails.

    Candidates are valid modules, each tested once. One is accepted only if it is strictly smaller:
    fewer ops; then fewer elements; then less text.

    Args:
        module: the failing module; is not changed.
        still_fails: the test, given a copy that it may change.
        seconds: the limit for the search; a running test is finished first. No limit when None.
        progress: called after each test with the state of the search.

    Returns:
        The reduction, also where time ran out or Ctrl-C was pressed: see `Reduction.ended`.

    Raises:
        NotFailing: `still_fails` does not hold for `module` itself.
        Exception: whatever `still_fails` raises.
    """
    search = Search(module, still_fails, seconds, progress)
    try:
        for strategy in _FIRST:
            strategy(search)
        _until_nothing_changes(search)
    except TimeUp:
        return search.reduction("time")
    except KeyboardInterrupt:
        return search.reduction("interrupted")
    return search.reduction("done")


def _until_nothing_changes(search: Search) -> None:
    size = None
    while size != search.size:
        size = search.size
        for strategy in _AGAIN:
            strategy(search)

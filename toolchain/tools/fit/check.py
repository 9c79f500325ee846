"""Checks that a program with a plan computes the same, before the plan is reported."""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from ...check.compare import Deadline
from ...check.modules import main_type
from ...check.numbering import is_same_by_numbering
from ...check.rebuild import NotValid, rebuild
from ...check.rebuild_types import Change
from ...check.verify import verify_modules
from ...compiled.replicated import global_arguments
from ...cost.liveness import Timeline
from ...errors import JxcError
from ...ir import clone_module
from ...ir.locations import INLINE, inline_calls
from ...ir.module import main_of
from ...pipeline.native import run_native
from ...rewrite import PassContext, reassociates
from ...units import counted, show_seconds

_MOST_BYTES = 2**20
"""The most bytes of arguments with which results are compared; larger sizes are reduced first."""

_SECONDS = 30.0
"""The time for comparing results."""

_LONGEST = 1.0
"""The seconds of one run of a program whose results are compared; a comparison takes about 50."""

_SMALL = 16
"""Sizes that are not reduced."""


def check_plan(module: ir.Module, apply: Callable[[ir.Module], ir.Module]) -> str:
    """How a plan was shown to keep the results of a program.

    A plan of straight-line code is proved right by value numbering. Loops are rewritten: results
    are compared on random arguments, of reduced sizes if the program is large.

    Args:
        module: the program.
        apply: returns a program after the measures of the plan.

    Raises:
        JxcError: results differ.
    """
    if is_same_by_numbering(module, apply(module)):
        return "the same ops on the same values (exact), by value numbering"
    before = _reduced(module)
    if (seconds := _seconds_here(before)) > _LONGEST:
        return f"no, since a run takes about {show_seconds(seconds)} on this CPU"
    try:
        after = apply(before)
    except JxcError as error:
        return f"no, since the plan does not apply to reduced sizes ({error})"
    deadline = Deadline(_SECONDS)
    found = verify_modules(before, after, contract=reassociates, deadline=deadline)[0]
    if not found.report.ran:
        return f"no: {found}"
    if not found.agrees:
        raise JxcError(
            f"the program with this plan computes something else: please report this; {found}"
        )
    sizes = "" if _bytes(before) == _bytes(module) else ", of reduced sizes"
    drawn = counted(found.draws, "set")
    return f"equal results, up to rounding, on {drawn} of arguments{sizes}"


def _seconds_here(module: ir.Module) -> float:
    """The price of a run on this machine's CPU."""
    copy, context = clone_module(module), PassContext("cpu")
    with copy.context:
        inline_calls(copy.operation)
        main = main_of(copy)
        assert main is not None
        timeline = Timeline(main.regions[0].blocks[0], context.device, context.rates)
        return sum(step.seconds for step in timeline.steps)


def _bytes(module: ir.Module) -> int:
    return sum(size for _, size in global_arguments(module))


def _reduced(module: ir.Module) -> ir.Module:
    """The program with its largest sizes replaced by small ones, as far as it stays valid."""
    small = clone_module(module)
    run_native(INLINE, small)
    kinds = [k for k in main_type(small).inputs if isinstance(k, ir.RankedTensorType)]
    sizes = sorted({size for kind in kinds for size in kind.shape}, reverse=True)
    for number, size in enumerate(sizes):
        if size <= _SMALL or _bytes(small) <= _MOST_BYTES:
            break
        try:
            small = rebuild(small, Change(extents={size: _SMALL - number % 4}))
        except NotValid:
            continue
    return small

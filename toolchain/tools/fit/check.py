"""Checks that a program with a plan computes the same, before the plan is reported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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
from ...ir.values import shape_of
from ...passes.microbatch.batch import batch_arguments
from ...pipeline import make_pipeline, run_pipeline
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

_FACTORS = (32, 16, 8, 4, 2)
"""The numbers by which all sizes are divided together, as one is often a product of others."""


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
    return _compared(module, _reduced(module), apply)


def check_split(module: ir.Module, parts: int, target: str) -> str:
    """How a program whose batch runs in parts was shown to keep the results of the program.

    Raises:
        JxcError: results differ.
    """
    copy = clone_module(module)
    with copy.context:
        inline_calls(copy.operation)
        main = main_of(copy)
        assert main is not None
        found = batch_arguments(main, "", 0)
        size = shape_of(main.regions[0].blocks[0].arguments[found[0]])[0]
    spec = f"microbatch{{steps={parts} arguments={','.join(map(str, found))}}}"
    return _compared(module, _reduced(module, size, parts), partial(rewritten, spec, target))


def rewritten(pipeline: str, target: str, module: ir.Module) -> ir.Module:
    """A copy of a module after a pipeline."""
    after = clone_module(module)
    run_pipeline(after, make_pipeline(pipeline), PassContext(target))
    return after


def _compared(
    module: ir.Module, before: ir.Module, apply: Callable[[ir.Module], ir.Module]
) -> str:
    """Compare the results of a program of reduced sizes with those after the measures."""
    if (seconds := _seconds_here(before)) > _LONGEST:
        return f"not by running it, which takes about {show_seconds(seconds)} on this CPU"
    try:
        after = apply(before)
    except JxcError as error:
        return f"not by running it: the plan does not apply to reduced sizes ({error})"
    deadline = Deadline(_SECONDS)
    found = verify_modules(before, after, contract=reassociates, deadline=deadline)[0]
    if not found.report.ran:
        return f"not by running it: {found}"
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


def _reduced(module: ir.Module, batch: int = 0, multiple: int = 1) -> ir.Module:
    """The program with smaller sizes, as far as it stays valid.

    All sizes are divided by the same number, and what is large still becomes small by itself. The
    size of the batch stays a multiple of `multiple`.
    """
    small = clone_module(module)
    run_native(INLINE, small)
    for factor in _FACTORS if _bytes(small) > _MOST_BYTES else ():
        with contextlib.suppress(NotValid):
            small = rebuild(small, _Divided(factor=factor, kept=batch))
            break
    kinds = [k for k in main_type(small).inputs if isinstance(k, ir.RankedTensorType)]
    sizes = sorted({size for kind in kinds for size in kind.shape}, reverse=True)
    for number, size in enumerate(sizes):
        if size <= _SMALL or _bytes(small) <= _MOST_BYTES:
            break
        to = _SMALL - number % 4
        if size == batch:
            to = -(-to // multiple) * multiple
        with contextlib.suppress(NotValid):
            small = rebuild(small, Change(extents={size: to}))
    return small


@dataclass(frozen=True)
class _Divided(Change):
    """Sizes divided by a number, and those beside a multiple of it too, but for small ones."""

    factor: int = 1
    kept: int = 0

    def extent(self, extent: int) -> int:
        if extent < _FACTORS[0] or extent == self.kept:
            return extent
        for more in (0, 1, -1):
            if (extent + more) % self.factor == 0:
                return (extent + more) // self.factor - more
        return extent

"""The choices for a program: values to compute again, in the whole batch or in parts of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...cost.liveness import peak_block, size_of
from ...errors import JxcError, UsageError
from ...ir import clone_module
from ...ir.module import main_of
from ...ir.propagation import set_local_types
from ...passes.rematerialize import repeatable_values
from ...passes.rematerialize.pairs import prepare
from ...rewrite import PassContext
from .check import batch_size, in_parts_pass
from .frontier import FitChoice, Frontier
from .loops import loop_choices, unbeaten

_ENOUGH = 0.5
"""The share of the budget within which a batch in parts needs no smaller ones: parts of twice the
size fit too."""


class Choices:
    """The choices of which none needs less memory in no more time.

    Attributes:
        all: the choices, most memory first; the first is the program without a plan.
        argument_bytes: of the program.
        unsplit: why the batch was not split; empty if it was, or was not tried.
    """

    def __init__(self, lowered: Lowered, target: Target, batch: str = "") -> None:
        self.lowered, self.target, self.batch = lowered, target, batch
        self.unsplit = ""
        self._frontiers = {1: frontier_of(lowered.module, target)}
        self.all = self._frontiers[1].choices
        self.argument_bytes = _argument_bytes(self._frontiers[1].module)

    def split(self, budget: int, tell: Callable[[str], None]) -> None:
        """Add the choices for parts of the batch, until smaller parts are of no use.

        Args:
            budget: bytes of one device.
            tell: called with what is being done.
        """
        parts, size = 2, self._batch_size()
        while parts <= size and size % parts == 0:
            tell(f"splitting the batch into {parts} parts")
            try:
                module = self.in_parts(parts).module
            except JxcError as error:
                self.unsplit = str(error.__cause__ or error)
                break
            found = self._frontiers[parts] = frontier_of(module, self.target, parts)
            needed = found.choices[0].peak
            is_enough = needed <= _ENOUGH * (budget - self.argument_bytes)
            if is_enough or found.peak.runs == 1 or 2 * found.peak.outside > needed:
                break
            parts *= 2
        self.all = self._pooled()

    def _batch_size(self) -> int:
        try:
            return batch_size(self.lowered.module, self.batch)
        except JxcError as error:
            if self.batch:
                raise
            self.unsplit = str(error)
            return 0

    def _pooled(self) -> list[FitChoice]:
        first = self._frontiers[1].choices[0]
        whole = self._frontiers[1].peak.seconds
        found = []
        for frontier in self._frontiers.values():
            more = frontier.peak.seconds - whole
            found += [replace(c, seconds=c.seconds + more) for c in frontier.choices]
        smaller = [choice for choice in found if choice.peak < first.peak]
        return [first, *unbeaten(sorted(smaller, key=lambda c: (c.peak, c.seconds)))]

    def frontier(self, choice: FitChoice) -> Frontier:
        """The frontier of the program whose batch is split as in a choice."""
        return self._frontiers[choice.parts]

    def without_values(self, choice: FitChoice) -> FitChoice:
        """The choice that splits the batch alike, and computes nothing again."""
        frontier = self.frontier(choice)
        more = frontier.peak.seconds - self._frontiers[1].peak.seconds
        first = frontier.choices[0]
        return replace(first, seconds=first.seconds + more)

    def in_parts(self, parts: int) -> Lowered:
        """The program whose batch is split into parts."""
        return self.lowered.opt(in_parts_pass(parts, self.batch), target=self.target.name)


def _argument_bytes(module: ir.Module | None) -> int:
    """The bytes of the arguments on one device, of the module of a frontier."""
    main = main_of(module) if module else None
    return sum(map(size_of, main.regions[0].blocks[0].arguments)) if main else 0


def frontier_of(module: ir.Module, target: Target, parts: int = 1) -> Frontier:
    """The choices for a program on a target: bytes and times are those of one device.

    Over a mesh, the time of collectives is left out.

    Args:
        module: the program.
        target: the hardware.
        parts: of the batch, into which the program was split.
    """
    copy = clone_module(module)
    context = PassContext(target.name)
    with copy.context:
        prepare(copy.operation)
        set_local_types(copy.operation)
        main = main_of(copy)
        if main is None:
            raise UsageError("the module has no function @main")
        peak = peak_block(main.regions[0].blocks[0], context.device, context.rates)
        loops = loop_choices(copy.operation, context.device, context.rates)
        found = Frontier(peak, repeatable_values(peak.timeline), loops, parts)
        found.module = copy
        return found

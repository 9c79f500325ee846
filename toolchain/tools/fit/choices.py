"""The choices for a program: values to compute again, in the whole batch or in parts of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...cost.liveness import peak_block, size_of
from ...errors import JxcError, UsageError
from ...ir import clone_module
from ...ir.module import main_of
from ...ir.propagation import set_local_types
from ...ir.shardings import module_device_count
from ...passes.rematerialize import after_loops, repeatable_values
from ...passes.rematerialize.pairs import prepare
from ...rewrite import PassContext
from .check import batch_size, in_parts_pass
from .frontier import FitChoice, Frontier
from .hosts import host_choices
from .loops import loop_choices, unbeaten

KERNELS = "kernels"
"""The pass that replaces attention and losses."""

_ENOUGH = 0.5
"""The share of the budget within which a batch in parts needs no smaller ones: parts of twice the
size fit too."""


class Choices:
    """The choices of which none needs less memory in no more time.

    Attributes:
        all: the choices, most memory first; the first is the program without a plan.
        hosted: choices that keep values on the host, most memory first, which none of `all` beats.
        with_kernels: choices for the program after the pass `kernels`, most memory first; the first
            has no other measure. Empty if the pass replaces nothing, or was not tried.
        argument_bytes: of the program.
        unsplit: why the batch was not split; empty if it was, or was not tried.
    """

    def __init__(self, lowered: Lowered, target: Target, batch: str = "") -> None:
        self.lowered, self.target, self.batch = lowered, target, batch
        self.unsplit = ""
        self._frontiers = {(1, False): frontier_of(lowered.module, target)}
        self.argument_bytes = _argument_bytes(self._frontiers[1, False].module)
        self.with_kernels: list[FitChoice] = []
        self._after_kernels = lowered
        self._pool()

    @property
    def _whole(self) -> Frontier:
        """The frontier of the program whose batch is whole."""
        return self._frontiers[1, False]

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
            found = self._frontiers[parts, False] = frontier_of(module, self.target, parts)
            needed = min(found.choices, key=lambda choice: choice.seconds).peak
            is_enough = needed <= _ENOUGH * (budget - self.argument_bytes)
            if is_enough or found.peak.runs == 1 or 2 * found.peak.outside > needed:
                break
            parts *= 2
        self._pool()

    def replace_by_kernels(self) -> None:
        """Add the choices for the program after the pass `kernels`, if it replaces something."""
        if self.target.kind == "cpu":  # for which it has nothing
            return
        after = self._after_kernels = self.lowered.opt(KERNELS, target=self.target.name)
        if self.kernels:
            found = frontier_of(after.module, self.target, kernels=True)
            self._frontiers[1, True] = found
            alone, *others = self._timed([*found.choices, *found.hosted])
            self.with_kernels = [alone, *_best(c for c in others if c.peak < alone.peak)]

    @property
    def kernels(self) -> Mapping[str, int]:
        """How often each replacement of the pass `kernels` applies, once it was tried."""
        report = self._after_kernels.report
        return report.hits if report else {}

    def program(self, choice: FitChoice) -> ir.Module:
        """The program of a choice, with its kernels, before its other measures."""
        return (self._after_kernels if choice.kernels else self.lowered).module

    def _batch_size(self) -> int:
        try:
            return batch_size(self.lowered.module, self.batch)
        except JxcError as error:
            if self.batch:
                raise
            self.unsplit = str(error)
            return 0

    def _pool(self) -> None:
        """Set `all` and `hosted` to the best choices of all frontiers."""
        first, frontiers = self._whole.choices[0], self._frontiers.values()
        found = [choice for each in frontiers for choice in self._timed(each.choices)]
        self.all = [first, *_best(choice for choice in found if choice.peak < first.peak)]
        hosted = [choice for each in frontiers for choice in self._timed(each.hosted)]
        self.hosted = [each for each in _best([*self.all, *hosted]) if each.host.selectors]

    def _timed(self, choices: Sequence[FitChoice]) -> list[FitChoice]:
        """Choices of one frontier, with the time that they add to the program without a plan."""
        return [
            replace(
                each, seconds=each.seconds + self.frontier(each).peak.seconds - self.whole_seconds
            )
            for each in choices
        ]

    @property
    def whole_seconds(self) -> float:
        """The time of the program without a plan, by the model."""
        return self._whole.peak.seconds

    @property
    def in_parts_alone(self) -> list[FitChoice]:
        """The choices that only split the batch, from the fewest parts to the most."""
        split = (each for (parts, _), each in self._frontiers.items() if parts > 1)
        return [self._timed(each.choices[:1])[0] for each in split]

    def frontier(self, choice: FitChoice) -> Frontier:
        """The frontier of the program whose batch is split as in a choice, with its kernels."""
        return self._frontiers[choice.parts, choice.kernels]

    def without_useless(self, choice: FitChoice) -> FitChoice:
        """The choice without selectors of straight-line code that have no effect.

        The peak does not need them, or it is elsewhere once loops compute values again.
        """
        frontier = self.frontier(choice)
        choice = frontier.without_useless(choice)
        if not (choice.straight and choice.loops.selectors):
            return choice
        assert frontier.source is not None
        copy = clone_module(frontier.source)
        with copy.operation.location:
            context = PassContext(self.target.name)
            *_, labels = after_loops(copy.operation, choice.selectors, context)
            kept = [each for each in choice.straight if any(map(each.matches, labels.values()))]
        return replace(choice, selectors=(*kept, *choice.loops.selectors))

    def without_values(self, choice: FitChoice) -> FitChoice:
        """The choice with the same parts of the batch, and nothing computed again or moved."""
        return self._timed(self.frontier(choice).choices[:1])[0]

    def in_parts(self, parts: int) -> Lowered:
        """The program whose batch is split into parts."""
        return self.lowered.opt(in_parts_pass(parts, self.batch), target=self.target.name)


def passes_of(choice: FitChoice, batch: str) -> str:
    """The passes of a choice, as text: "kernels", "microbatch{steps=4},rematerialize,offload".

    Args:
        choice: what is done; empty text if nothing is.
        batch: the arguments that have the batch, as for `microbatch`; found if empty.
    """
    again = "rematerialize" if choice.selectors else ""
    moved = "offload" if choice.host.selectors else ""
    before = KERNELS if choice.kernels else ""
    return ",".join(filter(None, [before, in_parts_pass(choice.parts, batch), again, moved]))


def _best(choices: Iterable[FitChoice]) -> list[FitChoice]:
    return unbeaten(sorted(choices, key=lambda choice: (choice.peak, choice.seconds)))


def _argument_bytes(module: ir.Module | None) -> int:
    """The bytes of the arguments on one device, of the module of a frontier."""
    main = main_of(module) if module else None
    return sum(map(size_of, main.regions[0].blocks[0].arguments)) if main else 0


def frontier_of(
    module: ir.Module, target: Target, parts: int = 1, *, kernels: bool = False
) -> Frontier:
    """The choices for a program on a target: bytes and times are those of one device.

    Over a mesh, the time of collectives is left out.

    Args:
        module: the program.
        target: the hardware.
        parts: of the batch, into which the program was split.
        kernels: whether the pass `kernels` ran.
    """
    copy = clone_module(module)
    context = PassContext(target.name)
    with copy.context:
        prepare(copy.operation)
        set_local_types(copy.operation)
        main = main_of(copy)
        if main is None:
            raise UsageError("the module has no function @main")
        device, rates = context.device, context.rates
        peak = peak_block(main.regions[0].blocks[0], device, rates)
        loops = loop_choices(copy.operation, device, rates)
        is_one = module_device_count(module) == 1
        hosts = host_choices(copy, loops, device, rates) if is_one else []
        values = repeatable_values(peak)
        found = Frontier(
            peak, values, loops, hosts, FitChoice((), 0, 0.0, parts=parts, kernels=kernels)
        )
        found.source, found.module = module, copy
        return found

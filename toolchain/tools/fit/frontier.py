"""The sets of values to compute again that no other set beats in both memory and time.

Sets are unions of all values with the same label, so that all layers of a network are treated alike
and the choice can be written down. They come from the minimum cuts of `network` at several exchange
rates of bytes and seconds, also with the values between the layers kept, and from parts of the
difference between two neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from jaxlib.mlir import ir

from ...cost.liveness import PeakBlock, size_of
from ...ir.labels import Label
from ...passes.rematerialize.selectors import Selector
from .loops import LoopChoice, unbeaten
from .network import CutNetwork
from .simulate import simulate

_RATES = [2.0 ** (k / 2) for k in range(-16, 15)]
"""Exchange rates, as multiples of the bytes kept for each second of the forward half."""

_SHARES = (0.25, 0.5, 0.75)
"""The parts of a set that are tried between two neighbours of the frontier."""

_EVERY = (2, 3, 4, 6, 8)
"""A value between layers is kept at every layer, or at every second, third and so on."""

_NEAR = 0.003
"""The share of the range of peaks by which two choices differ at least."""

_BOUNDARIES = 4
"""The most labels of values between layers that are tried."""


@dataclass(frozen=True)
class FitChoice:
    """Values to compute again, or to keep on the host.

    Attributes:
        selectors: which are computed again.
        peak: the most bytes that are live at once, without the arguments, by the model.
        seconds: the added time, by the model.
        loops: what loops compute again, which the others contain.
        parts: of the batch, one after the other; 1 for the whole batch.
        host: what loops keep on the host.
        kernels: whether the pass `kernels` runs first.
    """

    selectors: tuple[Selector, ...]
    peak: int
    seconds: float
    loops: LoopChoice = field(default_factory=LoopChoice)
    parts: int = 1
    host: LoopChoice = field(default_factory=LoopChoice)
    kernels: bool = False

    def is_like(self, other: FitChoice) -> bool:
        """Whether the program is split and replaced as in another choice."""
        return (self.parts, self.kernels) == (other.parts, other.kernels)

    def is_same(self, other: FitChoice) -> bool:
        """Whether another choice gives the same program, whatever is expected of it."""
        return self == replace(other, peak=self.peak, seconds=self.seconds)

    @property
    def straight(self) -> tuple[Selector, ...]:
        """The selectors of straight-line code."""
        return self.selectors[: len(self.selectors) - len(self.loops.selectors)]


class Frontier:
    """The choices for one program, from the most memory to the least.

    Args:
        peak: the block that needs most memory.
        labels: the values that can be computed again, with their labels.
        loops: what pairs of loops can compute again.
        hosts: what pairs of loops can keep on the host, for some of `loops`.
        form: a choice with the parts of the batch and the kernels of the program.

    Attributes:
        choices: without the host, from the most memory to the least; the first is the program
            without a plan.
        hosted: those that keep values on the host, and that none of all choices beats.
    """

    def __init__(
        self,
        peak: PeakBlock,
        labels: dict[ir.Value, Label],
        loops: Sequence[LoopChoice],
        hosts: Sequence[tuple[LoopChoice, LoopChoice]],
        form: FitChoice,
    ) -> None:
        self.peak, self.timeline, self.form = peak, peak.timeline, form
        self.values: dict[Label, list[ir.Value]] = {}
        for value, label in labels.items():
            self.values.setdefault(label, []).append(value)
        self.source: ir.Module | None = None  # of the program
        self.module: ir.Module | None = None  # the copy that owns the values
        self.sizes = {value: size_of(value) for value in labels}
        self.network = CutNetwork(self.timeline, labels)
        self._known: dict[tuple[Selector, ...], FitChoice] = {}
        straight = self._best(self._all())
        both = [_with_loops(each, loop) for each in straight for loop in loops or [LoopChoice()]]
        plain = self.simulated(())
        smaller = self._best(each for each in both if each.peak < plain.peak)
        self.choices = self._thinned([plain, *smaller])  # some may also be faster
        hosted = [
            _on_host(_with_loops(each, again), moved) for each in straight for again, moved in hosts
        ]
        best = self._best([*self.choices, *hosted])
        self.hosted = [each for each in self._thinned(best) if each.host.selectors]

    def _thinned(self, choices: list[FitChoice]) -> list[FitChoice]:
        """The choices without those that need almost as much memory as the one before."""
        least = _NEAR * (choices[0].peak - choices[-1].peak)
        found = choices[:1]
        for each in choices[1:]:
            if found[-1].peak - each.peak >= least:
                found.append(each)
        if found[-1] != choices[-1]:
            found.append(choices[-1])
        return found

    def members(self, selectors: Iterable[Selector]) -> list[ir.Value]:
        """The values that selectors choose."""
        known = [each for each in selectors if each.label in self.values and not each.segments]
        return [v for each in known for v in each.chosen(self.values[each.label])]

    def without_useless(self, choice: FitChoice) -> FitChoice:
        """The choice without the selectors that the peak does not need."""
        kept = choice.straight
        for each in kept:
            fewer = self.simulated(tuple(other for other in kept if other != each))
            if fewer.peak <= self.simulated(kept).peak:
                kept = fewer.selectors
        return replace(choice, selectors=(*kept, *choice.loops.selectors))

    def _all(self) -> list[FitChoice]:
        found = [self.simulated(())]
        found += map(self.simulated, self._cuts())
        best = self._best(found)
        for one, other in pairwise(best):
            found += map(self.simulated, _between(one.selectors, other.selectors))
        return found

    def _cuts(self) -> Iterator[tuple[Selector, ...]]:
        unit = self.network.kept_bytes / max(self.network.seconds, 1e-12)
        for kept in [{}, *self._kept_sets()]:
            values = {v for label, every in kept.items() for v in _kept(self.values[label], every)}
            for rate in _RATES:
                yield self._selectors(self.network.recomputed(rate * unit, values), kept)

    def _selectors(
        self, again: Collection[ir.Value], kept: dict[Label, int]
    ) -> tuple[Selector, ...]:
        """The labels of which a cut computes most of the bytes again."""
        found = []
        for label, values in self.values.items():
            fixed = _kept(values, kept[label]) if label in kept else set()
            free = [v for v in values if v not in fixed]
            share = sum(self.sizes[v] for v in free if v in again)
            if free and 2 * share > sum(self.sizes[v] for v in free):
                found.append(Selector(label, keep_every=kept.get(label, 0)))
        return tuple(found)

    def _kept_sets(self) -> Iterator[dict[Label, int]]:
        """Values between layers, at every layer or at some."""
        for label in self._boundaries():
            count = len(self.values[label])
            for every in (1, *_EVERY):
                if 2 * every <= count or every == 1:
                    yield {label: every}

    def _boundaries(self) -> list[Label]:
        """Labels of values that are most of what the rest of the forward half reads."""
        found: dict[Label, int] = {}
        crossing = self._crossing()
        for label, values in self.values.items():
            narrow = [v for v in values if 2 * size_of(v) >= crossing.get(v, 1 << 62)]
            if len(narrow) > 1:
                found[label] = len(narrow)
        return sorted(found, key=lambda label: -found[label])[:_BOUNDARIES]

    def _crossing(self) -> dict[ir.Value, int]:
        """For each value, the fewest bytes that cross a step of the forward half with it."""
        steps = self.network.steps
        last: dict[ir.Value, int] = {}
        for index, step in enumerate(steps):
            last.update((v, index) for v in step.reads if v in self.timeline.made)
        live: set[ir.Value] = set()
        found: dict[ir.Value, int] = {}
        for index, step in enumerate(steps):
            live = {v for v in live if last[v] > index}
            live.update(v for v in step.results if last.get(v, -1) > index)
            total = sum(map(size_of, live))
            for value in live:
                found[value] = min(found.get(value, total), total)
        return found

    def simulated(self, selectors: tuple[Selector, ...]) -> FitChoice:
        """What the model expects if values of straight-line code are computed again."""
        if selectors not in self._known:
            found = simulate(self.timeline, self.members(selectors))
            peak = max(self.peak.elsewhere, self.peak.outside + found.peak)
            seconds = self.peak.runs * found.seconds
            known = replace(self.form, selectors=selectors, peak=peak, seconds=seconds)
            self._known[selectors] = known
        return self._known[selectors]

    def _best(self, choices: Iterable[FitChoice]) -> list[FitChoice]:
        """The choices of which none needs less memory in no more time, most memory first."""
        return unbeaten(sorted(choices, key=lambda c: (c.peak, c.seconds, len(c.selectors))))


def _with_loops(choice: FitChoice, loops: LoopChoice) -> FitChoice:
    selectors = choice.selectors + loops.selectors
    peak, seconds = max(choice.peak - loops.bytes, 0), choice.seconds + loops.seconds
    return replace(choice, selectors=selectors, peak=peak, seconds=seconds, loops=loops)


def _on_host(choice: FitChoice, host: LoopChoice) -> FitChoice:
    peak, seconds = max(choice.peak - host.bytes, 0), choice.seconds + host.seconds
    return replace(choice, peak=peak, seconds=seconds, host=host)


def _kept(values: Sequence[ir.Value], every: int) -> set[ir.Value]:
    if not every:
        return set()
    return {v for i, v in enumerate(values, 1) if i % every == 0}


def _between(
    one: tuple[Selector, ...], other: tuple[Selector, ...]
) -> Iterator[tuple[Selector, ...]]:
    """One set and parts of what another has besides."""
    labels = {each.label for each in one}
    more = [each for each in other if each.label not in labels]
    for share in _SHARES if more else ():
        yield (*one, *(replace(each, share=share) for each in more))

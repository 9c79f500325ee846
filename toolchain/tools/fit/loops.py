"""What pairs of loops may compute again: labels of stacked values, and segments of iterations.

A forward loop stores values for each iteration of the backward loop. Labels are added one by one,
the one first that frees most bytes for the time that it adds, so that each choice contains the one
before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from jaxlib.mlir import ir

from ...cost.device import Device
from ...cost.liveness import run_count
from ...cost.prices import price_of_ops
from ...cost.rates import Rates
from ...ir.labels import Label, label_of
from ...passes.rematerialize.in_loops import is_outermost, labels_of, reads_results
from ...passes.rematerialize.loops import freed_bytes, recomputed_ops
from ...passes.rematerialize.pairs import LoopPair, loop_pairs
from ...passes.rematerialize.segments import (
    bytes_in_segments,
    ops_in_segments,
    segments_of_least_bytes,
    why_not_in_segments,
)
from ...passes.rematerialize.selectors import Selector

_MOST_LABELS = 32
_LEAST_TRIPS = 64
"""Shorter loops are not split into segments."""


@dataclass(frozen=True)
class LoopChoice:
    """What loops compute again, or keep on the host.

    Attributes:
        selectors: which values and loops.
        bytes: by which all stacks on the device become smaller.
        seconds: the added time.
        values: how many stacks are no longer stored there.
        shares: for each selector, the bytes, seconds and values that it adds to those before it.
    """

    selectors: tuple[Selector, ...] = ()
    bytes: int = 0
    seconds: float = 0.0
    values: int = 0
    shares: tuple[tuple[int, float, int], ...] = ()


def loop_choices(module: ir.Operation, device: Device, rates: Rates) -> list[LoopChoice]:
    """The choices for all pairs of loops of a module, from nothing to the fewest bytes.

    Args:
        module: with inlined calls, after `prepare`.
        device: the hardware.
        rates: its measured speeds.
    """
    pairs = [pair for pair in loop_pairs(module) if pair.stacked]
    chooser = _Chooser(pairs, device, rates)
    found = [LoopChoice(), *chooser.greedy(), *chooser.segmented()]
    return unbeaten(sorted(found, key=lambda choice: (-choice.bytes, choice.seconds)))


class _Timed(Protocol):
    @property
    def seconds(self) -> float: ...


_Choice = TypeVar("_Choice", bound=_Timed)


def unbeaten(choices: Iterable[_Choice]) -> list[_Choice]:
    """The choices of which none needs less memory in no more time, most memory first.

    Args:
        choices: in order of memory, the least first, and then of time.
    """
    found: list[_Choice] = []
    for each in choices:
        if not found or each.seconds < found[-1].seconds:
            found.append(each)
    return found[::-1]


class _Chooser:
    def __init__(self, pairs: Sequence[LoopPair], device: Device, rates: Rates) -> None:
        self.pairs, self.device, self.rates = pairs, device, rates
        self.labels = [labels_of(pair) for pair in pairs]
        self._known: dict[tuple[int, frozenset[Label]], tuple[int, float, int]] = {}

    def greedy(self) -> Iterable[LoopChoice]:
        """Choices that each add one label to the one before."""
        sizes: dict[Label, int] = {}
        for labels in self.labels:
            for value, label in labels.items():
                sizes[label] = sizes.get(label, 0) + value.bytes
        left = sorted(sizes, key=lambda label: -sizes[label])[:_MOST_LABELS]
        chosen: frozenset[Label] = frozenset()
        last = before = LoopChoice()
        shares: dict[Label, tuple[int, float, int]] = {}
        while left:
            tried = [self._choice(chosen | {label}) for label in left]
            ranks = [_gain(last, each) for each in tried]
            index = max(range(len(left)), key=ranks.__getitem__)
            label, now = left.pop(index), tried[index]
            chosen |= {label}
            shares[label] = (
                now.bytes - before.bytes,
                now.seconds - before.seconds,
                now.values - before.values,
            )
            before = now
            if now.bytes > last.bytes:
                last = replace(now, shares=tuple(shares[s.label] for s in now.selectors))
                yield last

    def _choice(self, labels: frozenset[Label]) -> LoopChoice:
        parts = [self._of_pair(number, labels) for number in range(len(self.pairs))]
        order = dict.fromkeys(label for known in self.labels for label in known.values())
        selectors = tuple(Selector(label) for label in order if label in labels)
        size, seconds, values = (sum(column) for column in zip(*parts, strict=True))
        return LoopChoice(selectors, int(size), seconds, int(values))

    def _of_pair(self, number: int, labels: frozenset[Label]) -> tuple[int, float, int]:
        known = self.labels[number]
        chosen = [value for value, label in known.items() if label in labels]
        key = number, frozenset(known[value] for value in chosen)
        if key not in self._known:
            from_results = reads_results(self.device.kind)
            ops = recomputed_ops(chosen, from_results=from_results)
            seconds = self._seconds(number, ops, [each.value for each in chosen])
            freed = freed_bytes(chosen, from_results=from_results)
            self._known[key] = freed, seconds - self._moving(number, freed), len(chosen)
        return self._known[key]

    def _seconds(self, number: int, ops: Sequence[ir.OpView], outputs: Sequence[ir.Value]) -> float:
        made = {result for op in ops for result in op.results}
        inside = [value for value in outputs if value in made]
        price = price_of_ops(ops, inside, self.device, self.rates)
        return self.pairs[number].forward.trips * self._runs(number) * price.seconds

    def _moving(self, number: int, freed: int) -> float:
        """The time to write stacks of so many bytes, and to read them."""
        return 2 * self._runs(number) * freed / self.device.bandwidth

    def _runs(self, number: int) -> int:
        """How often a pair of loops runs."""
        return run_count(self.pairs[number].forward.op.operation.block)

    def segmented(self) -> Iterable[LoopChoice]:
        """All long loops in segments, and these in segments again."""
        for levels in (1, 2):
            found = list[LoopChoice]()
            for number, pair in enumerate(self.pairs):
                if not is_outermost(pair) or pair.forward.trips < _LEAST_TRIPS:
                    continue
                segments = segments_of_least_bytes(pair, levels=levels)
                if why_not_in_segments(pair, segments, levels=levels):
                    continue
                before, after = bytes_in_segments(pair, segments, levels=levels)
                ops = ops_in_segments(pair)
                ends = [v for op in ops for v in op.results if _is_read_elsewhere(v, ops)]
                seconds = levels * self._seconds(number, ops, ends) - self._moving(
                    number, before - after
                )
                label = label_of(pair.forward.op)
                selector = Selector(label, segments=segments, levels=levels)
                found.append(LoopChoice((selector,), before - after, seconds, len(pair.reads)))
            if found:
                yield _together(found)


def _together(choices: Sequence[LoopChoice]) -> LoopChoice:
    """The choices of single loops as one; loops of the same label have one selector."""
    selectors = {each.selectors[0].label: each.selectors[0] for each in choices}
    shares = [_sums(c for c in choices if c.selectors[0].label == label) for label in selectors]
    return LoopChoice(tuple(selectors.values()), *_sums(choices), tuple(shares))


def _sums(choices: Iterable[LoopChoice]) -> tuple[int, float, int]:
    sizes, seconds, values = zip(*((c.bytes, c.seconds, c.values) for c in choices), strict=True)
    return sum(sizes), sum(seconds), sum(values)


def _is_read_elsewhere(value: ir.Value, ops: Sequence[ir.OpView]) -> bool:
    inside = set(ops)
    return any(use.owner not in inside for use in value.uses)


def _gain(before: LoopChoice, after: LoopChoice) -> float:
    """The bytes that a choice frees besides, for each second that it adds."""
    freed = after.bytes - before.bytes
    return freed / max(after.seconds - before.seconds, 1e-9) if freed > 0 else float(freed)

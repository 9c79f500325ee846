"""What pairs of loops may keep in the memory of the host, after they compute other values again.

Moving a stack takes its bytes over the bandwidth of the link to the host, in each direction. XLA
starts to write a row once it is computed, and awaits it at the end of the iteration. It reads a row
at the start of an iteration, which needs it soon. So what a forward loop writes counts as far as it
takes longer than the loop computes, and what a backward loop reads counts as a whole. The schedule
of the compiled version tells the exact time (`compiled.host_copies`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir

from ...cost.device import Device
from ...cost.liveness import Timeline, run_count
from ...cost.rates import Rates
from ...ir import clone_module
from ...ir.labels import Label
from ...passes.offload import StoredValue, stored_values
from ...passes.rematerialize.in_loops import compute_again_in_loops
from ...passes.rematerialize.pairs import LoopPair
from ...passes.rematerialize.selectors import Selector
from .loops import LoopChoice

_ROWS = 2
"""The rows of a stack on the host that are on the device: one that is copied, one that is used."""


def host_choices(
    module: ir.Module, loops: Sequence[LoopChoice], device: Device, rates: Rates
) -> list[tuple[LoopChoice, LoopChoice]]:
    """The stacks to keep on the host, for each choice of what loops compute again.

    Args:
        module: of one device, with inlined calls, after `prepare`.
        loops: the choices of values to compute again.
        device: the hardware.
        rates: its measured speeds.

    Returns:
        Pairs of what is computed again and what is kept on the host; none if the bandwidth between
        the device and its host is not known.
    """
    if device.host is None:
        return []
    return [
        (again, moved)
        for again in loops
        for moved in _Mover(_after(module, again, device), device, rates).choices()
    ]


def _after(module: ir.Module, again: LoopChoice, device: Device) -> ir.Module:
    copy = clone_module(module)
    with copy.operation.location:
        compute_again_in_loops(copy.operation, again.selectors, device.kind)
    return copy


class _Mover:
    """The choices for one module, whose stacks are labelled alike in all pairs of loops."""

    def __init__(self, module: ir.Module, device: Device, rates: Rates) -> None:
        self.module, self.device, self.rates = module, device, rates  # the module owns the values
        self.stored: dict[Label, list[StoredValue]] = defaultdict(list)
        for each in stored_values(module.operation):
            self.stored[each.label].append(each)
        self._computing: dict[LoopPair, float] = {}

    def choices(self) -> Iterator[LoopChoice]:
        """Choices that each move one label more: the one with most bytes first, or with least."""
        freed = {label: sum(map(_freed, found)) for label, found in self.stored.items()}
        labels = sorted(filter(freed.__getitem__, freed), key=freed.__getitem__)
        sets = {frozenset(labels[:count]) for count in range(1, len(labels) + 1)}
        sets |= {frozenset(labels[count:]) for count in range(1, len(labels))}
        for chosen in sorted(sets, key=len):
            moved = [label for label in self.stored if label in chosen]
            values, total, shares = list[StoredValue](), 0.0, list[tuple[int, float, int]]()
            for label in moved:
                values += self.stored[label]
                before, total = total, self._seconds(values)
                shares.append((freed[label], total - before, len(self.stored[label])))
            size, selectors = sum(freed[label] for label in moved), tuple(map(Selector, moved))
            yield LoopChoice(selectors, size, total, len(values), tuple(shares))

    def _seconds(self, values: Sequence[StoredValue]) -> float:
        """How long the device waits for values that are moved to the host and back."""
        assert self.device.host is not None
        sizes: dict[LoopPair, int] = defaultdict(int)
        for each in values:
            sizes[each.pair] += each.value.bytes
        total = 0.0
        for pair, size in sizes.items():
            moving = size / self.device.host.bandwidth
            waiting = moving + max(moving - self._seconds_of(pair), 0.0)
            total += run_count(pair.forward.op.operation.block) * waiting
        return total

    def _seconds_of(self, pair: LoopPair) -> float:
        """The time of all iterations of a forward loop."""
        if pair not in self._computing:
            timeline = Timeline(pair.forward.body, self.device, self.rates)
            self._computing[pair] = pair.forward.trips * timeline.seconds
        return self._computing[pair]


def _freed(stored: StoredValue) -> int:
    rows = stored.pair.forward.trips
    return stored.value.bytes * max(rows - _ROWS, 0) // rows

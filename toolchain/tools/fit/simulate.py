"""The peak of memory and the time of a program in which some values are computed again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from ...cost.liveness import KernelStep, Timeline, live_bytes


@dataclass(frozen=True)
class Simulated:
    """What the model expects of a program.

    Attributes:
        peak: the most bytes that are live at once, without the arguments.
        seconds: that the copies add, less those of ops that are not needed any more.
    """

    peak: int
    seconds: float


def simulate(timeline: Timeline, chosen: Collection[ir.Value]) -> Simulated:
    """The peak and the added time if the values `chosen` are computed again.

    Each is copied in front of the first step that reads it after the top over which it is kept.
    """
    schedule = _Schedule(timeline, set(chosen))
    for index in range(len(timeline.steps)):
        schedule.append(index)
    runs = schedule.living()
    seconds = sum(run.step.seconds for run in runs) - timeline.seconds
    return Simulated(_peak(runs, timeline.results), seconds)


@dataclass
class _Run:
    """A step that runs, the original or a copy; values are (step, result, is a copy)."""

    step: KernelStep
    index: int
    is_copy: bool
    reads: list[tuple[ir.Value, bool]]


class _Schedule:
    def __init__(self, timeline: Timeline, chosen: set[ir.Value]) -> None:
        self.timeline, self.chosen = timeline, chosen
        tops = timeline.tops
        self.top: dict[ir.Value, int] = {}
        for value in chosen:
            later = (top for top in tops if top >= timeline.made[value])
            top = timeline.top_of(value)
            self.top[value] = next(later, len(timeline.steps)) if top is None else top
        self.runs: list[_Run] = []
        self.copied: set[int] = set()

    def append(self, index: int) -> None:
        """Add a step, after copies of the chosen values that it reads late."""
        step = self.timeline.steps[index]
        reads = []
        for value in step.reads:
            is_late = value in self.top and index > self.top[value]
            if is_late:
                self._copy(self.timeline.made[value])
            reads.append((value, is_late))
        self.runs.append(_Run(step, index, False, reads))

    def _copy(self, index: int) -> None:
        pending = [(index, False)]
        while pending:
            each, is_visited = pending.pop()
            if each in self.copied:
                continue
            step = self.timeline.steps[each]
            if not is_visited:
                pending.append((each, True))
                made = self.timeline.made
                pending += [(made[v], False) for v in step.reads if v in self.chosen]
                continue
            self.copied.add(each)
            reads = [(value, value in self.chosen) for value in step.reads]
            self.runs.append(_Run(step, each, True, reads))

    def living(self) -> list[_Run]:
        """The steps whose results are read."""
        needed = {(value, False) for value in self.timeline.results}
        found = []
        for run in reversed(self.runs):
            if any((value, run.is_copy) in needed for value in run.step.results):
                needed.update(run.reads)
                found.append(run)
        return found[::-1]


def _peak(runs: Sequence[_Run], results: Iterable[ir.Value]) -> int:
    last = {key: index for index, run in enumerate(runs) for key in run.reads}
    last |= {(value, False): len(runs) for value in results}
    keyed = [(run.step, [(value, run.is_copy) for value in run.step.results]) for run in runs]
    return max(live_bytes(keyed, last), default=0)

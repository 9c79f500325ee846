"""What one run of a program costs, all in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .flops import flops_of
from .schedule import Executed
from .traffic import traffic_of


@dataclass(frozen=True)
class Totals:
    """The sums over a run, of one device's share.

    Attributes:
        flops: additions, multiplications, comparisons; a transcendental is ten.
        transcendentals: how many of those there are.
        bytes_in: what kernels read, from any memory.
        bytes_out: what they write.
        main_bytes: those of both in main memory; on a TPU much stays in memory on the chip.
        launches: how many kernels are started.
        unknown: custom calls and ops whose flops nobody knows, and how often each runs.
        assumed: whether a loop that turns nobody knows how often was taken to turn once.
        branches: how many instructions stand in a branch that was taken to be the one.
    """

    flops: float
    transcendentals: float
    bytes_in: float
    bytes_out: float
    main_bytes: float
    launches: float
    unknown: Mapping[str, float]
    assumed: bool
    branches: int

    @property
    def intensity(self) -> float:
        """Flops per byte, 0.0 where nothing is moved."""
        moved = self.bytes_in + self.bytes_out
        return self.flops / moved if moved else 0.0

    def as_json(self) -> dict[str, object]:
        """As an object for `--json`."""
        return {
            "flops": self.flops,
            "transcendentals": self.transcendentals,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "main_memory_bytes": self.main_bytes,
            "intensity": self.intensity,
            "launches": self.launches,
            "unknown_flops": dict(self.unknown),
            "assumed_trip_counts": self.assumed,
            "instructions_in_assumed_branches": self.branches,
        }


def totals_of(run: Iterable[Executed]) -> Totals:
    """The sums over what `executed` gives."""
    flops = transcendentals = read = written = main = launches = 0.0
    unknown: Counter[str] = Counter()
    assumed, branches = False, 0
    for each in run:
        cost, traffic, times = flops_of(each.instruction), traffic_of(each.instruction), each.times
        flops += cost.total * times
        transcendentals += cost.transcendentals * times
        read += traffic.read * times
        written += traffic.written * times
        main += traffic.main * times
        launches += times
        for name, count in cost.unknown.items():
            unknown[name] += round(count * times)
        assumed = assumed or each.assumed
        branches += bool(each.branch)
    return Totals(
        flops, transcendentals, read, written, main, launches, dict(unknown), assumed, branches
    )

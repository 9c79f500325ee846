"""Which instructions run, in which order and how often, and the total cost of a run.

`executed` walks the entry computation in the order of the schedule. It enters loops, whose bodies
count as often as their trip count says (see `trips`), called computations, and of a conditional the
branch with the most flops. An unknown trip count is assumed to be 1, and marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .. import Instruction, Module
from .flops import flops_of
from .ops import is_free
from .traffic import traffic_of
from .trips import CallSite, stated_trips, trips_of

_INLINED = 'xla_cpu_small_call="true"'
"""The attribute of a call that XLA:CPU compiles into one function, its loops included."""


@dataclass(frozen=True)
class Executed:
    """An instruction that runs, and how often in one run of the program.

    Attributes:
        instruction: of the entry, of a loop, of a branch; a fusion counts as one.
        times: how often it runs.
        assumed: whether it is in a loop of unknown trip count, which is assumed to be 1.
        branch: for an instruction in a conditional, which branch is counted, such as "the
            costliest of 2 branches"; empty otherwise.
        loops: the loops around it, the outermost first.
        is_inlined: whether it is compiled into the code around it, and so is not launched.
    """

    instruction: Instruction
    times: float
    assumed: bool = False
    branch: str = ""
    loops: tuple[Instruction, ...] = ()
    is_inlined: bool = False


def executed(module: Module) -> list[Executed]:
    """Every instruction that XLA launches, in order of the schedule.

    The entry's, those of loops' bodies, of called and asynchronous computations, and of a
    conditional's costliest branch. An asynchronous pair is its `-start`. Instructions that only
    rename values (tuples, bitcasts, parameters, constants) are left out.
    """
    return list(_run(CallSite(module.entry), Executed(module.entry.root, 1.0)))


def _run(site: CallSite, around: Executed) -> Iterator[Executed]:
    """What a computation runs; `around` has the attributes of its caller."""
    for instruction in site.computation.instructions:
        if is_free(instruction):
            continue
        if instruction.opcode == "while":
            yield from _loop(instruction, site, around)
        elif instruction.opcode == "conditional":
            yield from _conditional(instruction, site, around)
        elif instruction.opcode in ("call", "async-start"):
            is_inlined = _INLINED in instruction.attributes.get("frontend_attributes", "")
            inside = replace(around, is_inlined=around.is_inlined or is_inlined)
            for inner in instruction.called:
                yield from _run(CallSite(inner, instruction, site), inside)
        else:
            yield replace(around, instruction=instruction)


def _loop(loop: Instruction, site: CallSite, around: Executed) -> Iterator[Executed]:
    known = trips_of(loop, site)
    trips = 1 if known is None else known
    # Where XLA states the trip count, it runs the body that often and never runs the condition.
    tests = 0 if stated_trips(loop) is not None else trips + 1
    inside = replace(around, assumed=around.assumed or known is None, loops=(*around.loops, loop))
    for inner, times in ((loop.callee("condition"), tests), (loop.callee("body"), trips)):
        if inner is not None and times:
            each = replace(inside, times=around.times * times)
            yield from _run(CallSite(inner, loop, site), each)


def _conditional(choice: Instruction, site: CallSite, around: Executed) -> Iterator[Executed]:
    branches = choice.called
    inside = replace(around, branch=around.branch or f"the costliest of {len(branches)} branches")
    found = [list(_run(CallSite(branch, choice, site), inside)) for branch in branches]
    yield from max(found, key=_cost, default=())


def _cost(run: list[Executed]) -> tuple[float, float]:
    flops = sum(each.times * flops_of(each.instruction).total for each in run)
    return flops, sum(each.times * traffic_of(each.instruction).total for each in run)


@dataclass(frozen=True)
class Totals:
    """The sums over a run of one device's share of a program.

    Attributes:
        flops: additions, multiplications, comparisons; a transcendental is ten.
        transcendentals: how many of those there are.
        bytes_in: bytes that kernels read, from any memory.
        bytes_out: bytes that they write.
        main_bytes: those of both in main memory; on a TPU much stays in memory on the chip.
        launches: how many kernels run.
        unknown: custom calls and ops of unknown flops, and how often each runs.
        assumed: whether a loop of unknown trip count was assumed to run once.
        branches: how many instructions are in a branch of a conditional.
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
    """The sums over what `executed` returns."""
    found = list(run)
    costs = [(e.times, flops_of(e.instruction), traffic_of(e.instruction)) for e in found]
    unknown: Counter[str] = Counter()
    for times, flops, _ in costs:
        unknown.update({name: round(count * times) for name, count in flops.unknown.items()})
    return Totals(
        flops=sum(flops.total * times for times, flops, _ in costs),
        transcendentals=sum(flops.transcendentals * times for times, flops, _ in costs),
        bytes_in=sum(traffic.read * times for times, _, traffic in costs),
        bytes_out=sum(traffic.written * times for times, _, traffic in costs),
        main_bytes=sum(traffic.main * times for times, _, traffic in costs),
        launches=sum(times for times, _, _ in costs),
        unknown=dict(unknown),
        assumed=any(each.assumed for each in found),
        branches=sum(bool(each.branch) for each in found),
    )

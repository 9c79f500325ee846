"""Which instructions run, in which order, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .. import Computation, Instruction, Module
from .flops import flops_of
from .names import is_free
from .scalars import Scope
from .traffic import traffic_of
from .trips import stated_trips, trips_of


@dataclass(frozen=True)
class Executed:
    """An instruction that runs, and how often in one run of the program.

    Attributes:
        instruction: of the entry, of a loop, of a branch; a fusion counts as one.
        times: how often it runs.
        assumed: whether it stands in a loop of which nobody knows how often it turns, and that is
            taken to turn once.
        branch: for what stands in a conditional: which branch was taken to be the one, such as
            "the costliest of 2 branches"; empty otherwise.
    """

    instruction: Instruction
    times: float
    assumed: bool = False
    branch: str = ""


def executed(module: Module) -> list[Executed]:
    """Every instruction that XLA launches, in order of the schedule.

    The entry's, those of loops' bodies (as often as they turn), of called and asynchronous
    computations, and of a conditional's costliest branch. An asynchronous pair is its `-start`.
    What only renames values (tuples, bitcasts, parameters, constants) is left out.
    """
    return list(_run(Scope(module.entry), Executed(module.entry.root, 1.0)))


def _run(scope: Scope, around: Executed) -> Iterator[Executed]:
    for instruction in scope.computation.instructions:
        if not is_free(instruction):
            yield from _step(instruction, scope, around)


def _step(instruction: Instruction, scope: Scope, around: Executed) -> Iterator[Executed]:
    opcode = instruction.opcode
    if opcode == "while":
        yield from _loop(instruction, scope, around)
    elif opcode == "conditional":
        yield from _conditional(instruction, scope, around)
    elif opcode in ("call", "async-start"):
        for inner in instruction.called:
            yield from _run(Scope(inner, instruction, scope), around)
    else:
        yield Executed(instruction, around.times, around.assumed, around.branch)


def _loop(loop: Instruction, scope: Scope, around: Executed) -> Iterator[Executed]:
    trips = trips_of(loop, scope)
    assumed = around.assumed or trips is None
    turns = 1 if trips is None else trips
    condition, body = loop.callee("condition"), loop.callee("body")
    # Where XLA states the count, it runs the body so often and never asks the condition.
    asked = 0 if stated_trips(loop) is not None else turns + 1
    for inner, times in ((condition, asked), (body, turns)):
        if inner is not None and times:
            inside = Executed(loop, around.times * times, assumed, around.branch)
            yield from _run(Scope(inner, loop, scope), inside)


def _conditional(choice: Instruction, scope: Scope, around: Executed) -> Iterator[Executed]:
    branches = choice.called
    if not branches:
        return
    said = f"the costliest of {len(branches)} branches"
    inside = Executed(choice, around.times, around.assumed, around.branch or said)
    found = [list(_run(Scope(branch, choice, scope), inside)) for branch in branches]
    yield from max(found, key=_cost)


def _cost(run: list[Executed]) -> tuple[float, float]:
    flops = sum(each.times * flops_of(each.instruction).total for each in run)
    return flops, sum(each.times * traffic_of(each.instruction).total for each in run)


def branches_taken(module: Module) -> frozenset[Computation]:
    """The computations in which something runs."""
    return frozenset(each.instruction.computation for each in executed(module))

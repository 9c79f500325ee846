"""Reuse distances: how much other memory is touched between two accesses to a buffer.

A cache of N bytes that evicts the least recently used data serves an access if at most N different
bytes have been touched since the last access to the same buffer. That distance depends on the
program alone, so one walk over the schedule serves caches of every size (Mattson et al., 1970).

The program is assumed to be called repeatedly: the body of each loop, and the whole program, are
walked twice, and the second walk counts. Values that share memory are one buffer:
what a loop carries before, in and after it, and what is updated in place.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .. import Instruction
from .execution import Executed
from .ops import is_free
from .traffic import reads_of, updated_in_place, writes_of

_NESTED = 3  # loops around an instruction that are walked twice: each doubles the walk

Index = tuple[int, ...]


class Access(NamedTuple):
    """One access of an instruction to main memory.

    Attributes:
        bytes: how many it reads or writes.
        distance: different bytes touched since the last access to this buffer, these included;
            infinite where there was none.
    """

    bytes: int
    distance: float


def accesses_of(run: Sequence[Executed]) -> list[tuple[Access, ...]]:
    """The accesses of each instruction that runs, in the order of `run`.

    Args:
        run: what `executed` returns.
    """
    buffers = _Buffers(run)
    touched = [
        [(buffers.of(*value), size) for value, size in _touched(each.instruction)] for each in run
    ]
    order = list(_steady(list(enumerate(run)), 0)) * 2
    stack = _Distances(sum(len(touched[number]) for number in order))
    found: list[tuple[Access, ...]] = [()] * len(run)
    for number in order:
        found[number] = tuple(Access(size, stack.access(b, size)) for b, size in touched[number])
    return found


def _steady(run: list[tuple[int, Executed]], depth: int) -> Iterator[int]:
    """The positions in `run`; those of instructions in a loop occur twice."""
    for loop, group in groupby(run, lambda each: each[1].loops[depth : depth + 1]):
        inside = list(group)
        if not loop:
            yield from (number for number, _ in inside)
        else:
            yield from list(_steady(inside, depth + 1)) * (2 if depth < _NESTED else 1)


def _touched(instruction: Instruction) -> Iterator[tuple[tuple[Instruction, Index], int]]:
    """The values in main memory that an instruction reads and writes, and the bytes of each."""
    for operand, size in reads_of(instruction):
        if size and operand.shape.memory_space == 0:
            yield (operand, ()), size
    for number, (shape, size) in enumerate(writes_of(instruction)):
        if size and shape.memory_space == 0:
            yield (instruction, (number,) if instruction.shape.is_tuple else ()), size


class _Distances:
    """The stack distances of accesses, in time logarithmic in their number.

    A Fenwick tree holds the bytes of each buffer at the moment of its last access. Their sum from
    the last access to a buffer on is the distance of the next one.
    """

    def __init__(self, accesses: int) -> None:
        self._tree = [0] * (accesses + 1)
        self._last: dict[Hashable, tuple[int, int]] = {}
        self._now = 0

    def access(self, buffer: Hashable, size: int) -> float:
        """Touch a buffer; the bytes touched since it was touched last, its own included."""
        self._now += 1
        distance = math.inf
        if buffer in self._last:
            moment, held = self._last[buffer]
            distance = self._sum(self._now - 1) - self._sum(moment - 1)
            self._add(moment, -held)
            size = max(size, held)  # a slice of a buffer leaves the rest of it where it is
        self._add(self._now, size)
        self._last[buffer] = (self._now, size)
        return distance

    def _sum(self, moment: int) -> int:
        total = 0
        while moment > 0:
            total += self._tree[moment]
            moment -= moment & -moment
        return total

    def _add(self, moment: int, size: int) -> None:
        while moment < len(self._tree):
            self._tree[moment] += size
            moment += moment & -moment


class _Buffers:
    """The buffers of values: which values share memory.

    A value is named by the instruction that makes it. The parts of a loop's state are named by the
    loop; a union-find joins each with what the loop starts from and what its body returns.
    """

    def __init__(self, run: Sequence[Executed]) -> None:
        self._joined: dict[Hashable, Hashable] = {}
        self._callers: dict[object, Instruction] = {}
        loops = {loop for each in run for loop in each.loops}
        for instruction in {each.instruction for each in run} | loops:
            for other in instruction.computation.instructions:
                if other.opcode in ("while", "call", "async-start", "conditional"):
                    self._callers.update(dict.fromkeys(other.called, other))
        for loop in loops:
            states = [loop.operands[0], *(body.root for body in loop.calls.get("body", ()))]
            for number in range(len(loop.shape.parts)):
                for other in states:
                    one, same = self._find((loop, (number,))), self.of(other, (number,))
                    if one != same:
                        self._joined[same] = one

    def of(self, value: Instruction, index: Index) -> Hashable:
        """The name of the buffer that holds a part of a value."""
        return self._find(self._name(value, index))

    def _find(self, name: Hashable) -> Hashable:
        while name in self._joined:
            name = self._joined[name]
        return name

    def _name(self, value: Instruction, index: Index) -> tuple[Instruction, Index]:
        """The instruction that makes a part of a value, and the number of that part there."""
        while (source := self._source(value, index)) is not None:
            value, index = source
        return value, index

    def _source(self, value: Instruction, index: Index) -> tuple[Instruction, Index] | None:
        """The operand that an instruction renames or updates in place; None if it makes a value."""
        opcode, operands = value.opcode, value.operands
        if opcode == "get-tuple-element":
            return operands[0], (int(value.attributes["index"]), *index)
        if opcode == "tuple" and index:
            return operands[index[0]], index[1:]
        if opcode == "parameter":
            return self._argument(value, index)
        if opcode in ("call", "async-start") and value.called:
            return value.called[0].root, index
        if opcode in ("dynamic-update-slice", "scatter"):
            return operands[0], ()
        if value.fused is not None and not index and (found := updated_in_place(value.fused)):
            return operands[next(iter(found.values()))], ()
        if is_free(value) and opcode != "constant" and len(operands) == 1:
            return operands[0], index
        return None

    def _argument(self, parameter: Instruction, index: Index) -> tuple[Instruction, Index] | None:
        caller = self._callers.get(parameter.computation)
        if caller is None or (caller.opcode == "while" and not index):
            return None
        if caller.opcode == "while":
            return caller, index
        number = int(parameter.literal)
        if caller.opcode == "conditional":
            number = caller.called.index(parameter.computation) + 1
        return caller.arguments[number], index

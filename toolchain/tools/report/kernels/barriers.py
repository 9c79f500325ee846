"""Which ops an optimization barrier parted: XLA keeps none in the program that it compiled."""

from __future__ import annotations

from collections.abc import Iterator

from ....hlo import Instruction, Module
from .kernel import counted_ops

Key = tuple[str, str, int]
"""An op by the path that it was traced under and its line."""

_REGROUPS = frozenset(["tuple", "get-tuple-element"])


def parted_by_barriers(before: Module) -> frozenset[tuple[Key, Key]]:
    """The ops above and below a barrier, in pairs, of a module before XLA's passes."""
    return frozenset(
        (above, below)
        for computation in before.computations.values()
        for barrier in computation.instructions
        if barrier.opcode == "opt-barrier"
        for above in _keys(_above(barrier))
        for below in _keys(_below(barrier))
    )


def are_parted(
    producer: Instruction, consumer: Instruction, parted: frozenset[tuple[Key, Key]]
) -> bool:
    """Whether an op of one kernel and one of another stood on both sides of a barrier."""
    if not parted:
        return False
    below = set(_keys(counted_ops(consumer)))
    return any((a, b) in parted for a in _keys(counted_ops(producer)) for b in below)


def _above(barrier: Instruction) -> Iterator[Instruction]:
    for operand in barrier.operands:
        if operand.opcode in _REGROUPS:
            yield from _above(operand)
        else:
            yield operand


def _below(barrier: Instruction) -> Iterator[Instruction]:
    for user in barrier.users:
        if user.opcode in _REGROUPS:
            yield from _below(user)
        else:
            yield user


def _keys(ops: Iterator[Instruction] | list[Instruction]) -> Iterator[Key]:
    for op in ops:
        if op.op_name and op.place is not None:
            yield op.op_name, op.place.file, op.place.line

"""The copies of a compiled program between a device's memory and that of its host.

XLA keeps arrays in the memory of the host that are marked so, as `jax.checkpoint`'s policies of
offloading and the pass `offload` do. Its schedule starts a copy and awaits it later, or copies
synchronously.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..hlo import Instruction, Module, Shape
from ..hlo.work import Executed, produced
from .collectives import Ends

_HOST = 5
"""The memory space of the host in optimized HLO, on TPU and GPU."""


@dataclass(frozen=True)
class HostCopy:
    """One instruction that moves data between a device and its host.

    Attributes:
        instruction: its name in the HLO text.
        bytes: that it moves in one run.
        is_to_host: whether the host's memory is written.
        times: how often it runs.
        start: the number of the instruction that starts it, among those that run.
        end: the number of the first instruction after its result is awaited; None if it is
            synchronous.
    """

    instruction: str
    bytes: int
    is_to_host: bool
    times: float
    start: int
    end: int | None = None


def host_copies_of(module: Module, runs: Sequence[Executed]) -> list[HostCopy]:
    """Every copy between the memories of a device and its host, in order of the schedule.

    Args:
        module: the optimized HLO of one device.
        runs: the result of `executed`.
    """
    return list(_copies(runs, Ends(module, runs)))


def _copies(runs: Sequence[Executed], ends: Ends) -> Iterator[HostCopy]:
    for number, run in enumerate(runs):
        instruction = run.instruction
        is_to_host = _is_on_host(produced(instruction))
        size = _device_bytes(instruction) if is_to_host else produced(instruction).bytes
        if size and (is_to_host or any(_is_on_host(each.shape) for each in instruction.operands)):
            end = ends.of(number, instruction)
            yield HostCopy(instruction.name, size, is_to_host, run.times, number, end)


def _is_on_host(shape: Shape) -> bool:
    return any(leaf.memory_space == _HOST for leaf in shape.leaves)


def _device_bytes(instruction: Instruction) -> int:
    """The bytes of the operands that are in the device's memory, but for indices."""
    shapes = (each.shape for each in instruction.operands)
    return sum(each.bytes for each in shapes if each.dims and not _is_on_host(each))

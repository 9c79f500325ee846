"""How long values stay in memory: the kernels of a block in order, and the bytes that are live.

The order is that of the program, which is the order in which JAX traced it. XLA schedules kernels
for itself, mostly to need less memory, within the same dependences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from jaxlib.mlir import ir

from ..ir.module import captured_values, has_regions, ops_of, terminator
from .device import Device
from .flops import bytes_of
from .formulas import names
from .fusion import kernels_of
from .node import ELEMENTWISE, FREE, FusedKernel, name_of
from .price import Model, Price
from .prices import model_of
from .rates import Rates

_IN_PLACE = frozenset({"while", "dynamic_update_slice", "scatter", "optimization_barrier"})
"""Ops that XLA computes in the memory of their operands, if these are not read afterwards."""

_HIGH, _LOW = 0.5, 0.25
"""A top has more than one of these shares of the peak, and less than the other on both sides."""

_WITHIN_KERNELS = ELEMENTWISE | FREE | names("broadcast_in_dim reshape")

_AS_CHEAP = 1.1
"""The bytes to compute a value may exceed its own by the results of reductions over rows."""


@dataclass(frozen=True)
class KernelStep:
    """One kernel of a block.

    Attributes:
        op: the op whose results it stores.
        ops: all ops that it computes.
        reads: the values that it reads from memory.
        seconds: its price; 0.0 for an op that has none.
        inner_bytes: what the ops in its regions need besides.
    """

    op: ir.OpView
    ops: tuple[ir.OpView, ...]
    reads: tuple[ir.Value, ...]
    seconds: float
    inner_bytes: int = 0

    @property
    def results(self) -> list[ir.Value]:
        """The values that it stores."""
        return list(self.op.results)


class Timeline:
    """The kernels of a block in order of the program, and when each of their results is live.

    Attributes:
        steps: the kernels.
        made: for each stored value, the index of the step that stores it.
        kind: of the device: "cpu", "gpu" or "tpu".
        last: for each stored value, the index of the last step that reads it; the number of steps
            for a result of the block.
    """

    def __init__(self, block: ir.Block, device: Device, rates: Rates) -> None:
        self.kind = device.kind
        model = model_of(device, rates)
        model.unknown = Price()
        ops = ops_of(block)
        self._results = list(terminator(block).operands)
        order = {op: number for number, op in enumerate(ops)}
        found = kernels_of(ops, self._results, kind=device.kind)
        found.sort(key=lambda kernel: order[kernel.root.op])
        steps = [_step(kernel, model, device, rates) for kernel in found]
        steps = [step for step in steps if not _is_update(step)]
        steps = _fused_again(steps, self._results) if device.kind == "tpu" else steps
        self.steps = _without_initial_values(steps, self._results)
        self.made = {v: i for i, step in enumerate(self.steps) for v in step.results}
        self.last = last_reads(self.steps, self._results)

    @cached_property
    def live(self) -> list[int]:
        """The bytes that are live at each step, without the arguments of the block."""
        return live_bytes(self.steps, self.last)

    @cached_property
    def peak(self) -> int:
        """The most bytes that are live at one step."""
        return max(self.live, default=0)

    @cached_property
    def tops(self) -> list[int]:
        """The steps at which the live bytes are largest, before they fall to a quarter."""
        found, run = list[int](), list[int]()
        for index, size in enumerate([*self.live, 0]):
            if size >= max(_LOW * self.peak, 1):
                run.append(index)
            elif run:
                found.append(max(run, key=self.live.__getitem__))
                run = []
        return [top for top in found if self.live[top] > _HIGH * self.peak]

    def top_of(self, value: ir.Value) -> int | None:
        """The top over which a stored value is kept; None if it is live at none."""
        made, last = self.made[value], self.last.get(value, -1)
        inside = [top for top in self.tops if made <= top < last]
        return max(inside, key=self.live.__getitem__, default=None)

    @cached_property
    def readers(self) -> dict[ir.Value, list[int]]:
        """For each stored value, the indices of the steps that read it."""
        found: dict[ir.Value, list[int]] = {value: [] for value in self.made}
        for index, step in enumerate(self.steps):
            for value in step.reads:
                if value in found:
                    found[value].append(index)
        return found

    @cached_property
    def captured(self) -> set[ir.Value]:
        """The stored values that ops in regions read."""
        return {value for step in self.steps for value in captured_values(step.op)}

    @property
    def results(self) -> list[ir.Value]:
        """The values that the block returns."""
        return self._results


def last_reads(steps: Sequence[KernelStep], results: Iterable[ir.Value]) -> dict[ir.Value, int]:
    """For each value, the index of the last step that reads it."""
    found = {value: index for index, step in enumerate(steps) for value in step.reads}
    return {**found, **dict.fromkeys(results, len(steps))}


def live_bytes(steps: Sequence[KernelStep], last: dict[ir.Value, int]) -> list[int]:
    """The bytes that are live at each step, if each value is freed after its last read."""
    made = {value for step in steps for value in step.results}
    ending: dict[int, list[ir.Value]] = {}
    for value in made:
        ending.setdefault(last.get(value, -1), []).append(value)
    live, found = 0, []
    for index, step in enumerate(steps):
        freed = [size_of(value) for value in ending.get(index, ())]
        stored = [size_of(value) for value in step.results]
        live += sum(stored)
        found.append(live - reused_bytes(step, stored, freed) + step.inner_bytes)
        unread = sum(size_of(v) for v in step.results if last.get(v, -1) < index)
        live -= sum(freed) + unread
    return found


def reused_bytes(step: KernelStep, stored: Sequence[int], freed: Sequence[int]) -> int:
    """The bytes of results that are stored in the memory of operands that are read no more."""
    name = step.op.operation.name.removeprefix("stablehlo.")
    if name in _IN_PLACE:
        return min(sum(stored), sum(freed))
    return max((size for size in freed if size in stored), default=0)


def size_of(value: ir.Value) -> int:
    """The bytes of a tensor of static shape; 0 for other values."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 0
    return int(bytes_of(kind))


def _without_initial_values(
    steps: Sequence[KernelStep], results: Iterable[ir.Value]
) -> list[KernelStep]:
    """The kernels without those that fill the stacks of loops, which write into the loops' memory.

    JAX gives several stacks the same array of zeros; XLA copies it for each.
    """
    read = {value for step in steps if not _is_loop(step) for value in step.reads}
    read.update(results)
    return [step for step in steps if step.reads or not read.isdisjoint(step.results)]


def _is_update(step: KernelStep) -> bool:
    """Whether it writes into an array that a loop carries: in place, so that it stores nothing."""
    is_update = step.op.operation.name == "stablehlo.dynamic_update_slice"
    if not is_update or not isinstance(step.op.operands[0].owner, ir.Block):
        return False
    return str(step.op.operands[0].owner.owner.operation.name) != "func.func"


def _is_loop(step: KernelStep) -> bool:
    return str(step.op.operation.name) == "stablehlo.while"


def _fused_again(steps: Sequence[KernelStep], results: Iterable[ir.Value]) -> list[KernelStep]:
    """The kernels of XLA:TPU, which stores no value that is as cheap to compute as to read.

    It computes elementwise ops in each kernel that reads them, matrix products included, if they
    read no more bytes than they would store: an activation function, or a softmax after its sums.
    """
    kept, returned = list[KernelStep](), set(results)
    sources: dict[ir.Value, tuple[ir.Value, ...]] = {}
    for step in steps:
        reads = dict.fromkeys(v for each in step.reads for v in sources.get(each, (each,)))
        step = replace(step, reads=tuple(reads))
        if _is_stored(step, returned):
            kept.append(step)
        else:
            sources[step.results[0]] = step.reads
    return kept


def _is_stored(step: KernelStep, returned: set[ir.Value]) -> bool:
    if len(step.results) != 1 or step.results[0] in returned:
        return True
    if not all(name_of(op) in _WITHIN_KERNELS for op in step.ops):
        return True
    return sum(map(size_of, step.reads)) > _AS_CHEAP * size_of(step.results[0])


def _step(kernel: FusedKernel, model: Model, device: Device, rates: Rates) -> KernelStep:
    op = kernel.root.op
    ops = tuple(node.op for node in kernel.nodes)
    reads = dict.fromkeys(kernel.reads)
    inner = 0
    if has_regions(op):
        reads.update(dict.fromkeys([*op.operands, *captured_values(op)]))
        inner = _inner_bytes(op, device, rates)
    return KernelStep(op, ops, tuple(reads), model.price(kernel).seconds, inner)


def _inner_bytes(op: ir.OpView, device: Device, rates: Rates) -> int:
    if op.operation.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
        return 0
    blocks = [block for region in op.regions for block in region.blocks]
    return max((Timeline(block, device, rates).peak for block in blocks), default=0)

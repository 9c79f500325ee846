"""How long values stay in memory: the kernels of a block in order, and the bytes that are live.

The order is that of the program, which is the order in which JAX traced it. XLA schedules kernels
for itself, mostly to need less memory, within the same dependences.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeVar

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.bounds import trip_count
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

Key = TypeVar("Key", bound=Hashable)

_ALIASES = names("reshape transpose optimization_barrier custom_call")
"""Ops that compute nothing, if their results are not those of a kernel."""

_WITHIN_KERNELS = ELEMENTWISE | FREE | names("broadcast_in_dim reshape")

_AS_CHEAP = 1.1
"""The bytes to compute a value may exceed its own by the results of reductions over rows."""


@dataclass(frozen=True)
class KernelStep:
    """One kernel of a block.

    Attributes:
        op: the op whose results it stores.
        position: the number of the op of the block at which it runs.
        ops: all ops that it computes.
        reads: the values that it reads from memory.
        seconds: its price; 0.0 for an op that has none.
        inner_bytes: what the ops in its regions need besides.
        is_in_place: whether its result is written into an array that a loop carries.
    """

    op: ir.OpView
    position: int
    ops: tuple[ir.OpView, ...]
    reads: tuple[ir.Value, ...]
    seconds: float
    inner_bytes: int = 0
    is_in_place: bool = False

    @cached_property
    def results(self) -> list[ir.Value]:
        """The values that it stores."""
        return list(self.op.results)

    @cached_property
    def stored(self) -> list[int]:
        """The bytes of memory that each result takes."""
        return [0 if self.is_in_place else size_of(value) for value in self.results]


class Timeline:
    """The kernels of a block in order of the program, and when each of their results is live.

    Attributes:
        steps: the kernels.
        made: for each stored value, the index of the step that stores it.
        kind: of the device: "cpu", "gpu" or "tpu".
        last: for each stored value, the index of the last step that reads it; the number of steps
            for a result of the block.
        results: the values that the block returns.
        captured: the values that ops in regions read, but for constants.
        inner: the timelines of the blocks of loops and conditionals.
    """

    def __init__(self, block: ir.Block, device: Device, rates: Rates) -> None:
        self.kind = device.kind
        model = model_of(device, rates)
        model.unknown = Price()
        ops = ops_of(block)
        results = list(terminator(block).operands)
        chooses = None if device.kind == "cpu" else device
        self.captured = _kept_for_regions(ops)
        outputs = [*results, *self.captured]
        found = _in_order(kernels_of(ops, outputs, kind=device.kind, device=chooses), ops)
        inner = [block for _, kernel in found for block in _inner_blocks(kernel.root.op)]
        self.inner = {each: Timeline(each, device, rates) for each in inner}
        model.known = {each: Price(self.inner[each].seconds) for each in inner}
        steps = [self._step(at, kernel, model) for at, kernel in found]
        stored = {value for step in steps for value in step.results}
        self.results = [_source(value, stored) for value in results]
        steps = [replace(s, reads=_sources(s.reads, stored)) for s in steps]
        steps = [_in_place(step, block) for step in steps if not _is_update(step)]
        steps = _fused_again(steps, self.results) if device.kind == "tpu" else steps
        self.steps = _without_initial_values(steps, self.results)
        self.made = {v: i for i, step in enumerate(self.steps) for v in step.results}
        self.last = last_reads(self.steps, self.results)

    def _step(self, at: int, kernel: FusedKernel, model: Model) -> KernelStep:
        op, reads = kernel.root.op, dict.fromkeys(kernel.reads)
        if has_regions(op):
            reads.update(dict.fromkeys([*op.operands, *captured_values(op)]))
        inner = max((self.inner[block].peak for block in _inner_blocks(op)), default=0)
        ops = tuple(node.op for node in kernel.nodes)
        return KernelStep(op, at, ops, tuple(reads), model.price(kernel).seconds, inner)

    @cached_property
    def live(self) -> list[int]:
        """The bytes that are live at each step, without the arguments of the block."""
        return live_bytes([(step, step.results) for step in self.steps], self.last)

    @cached_property
    def peak(self) -> int:
        """The most bytes that are live at one step."""
        return max(self.live, default=0)

    @cached_property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(step.seconds for step in self.steps)

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


@dataclass(frozen=True)
class PeakBlock:
    """The block in which a program needs most memory.

    Attributes:
        block: of @main, or of a loop.
        timeline: of the block.
        runs: how often the block runs.
        outside: bytes that are live around the block.
        elsewhere: the most bytes that are live at other kernels of the blocks around it.
        around: the time of the kernels around it.
    """

    block: ir.Block
    timeline: Timeline
    runs: int = 1
    outside: int = 0
    elsewhere: int = 0
    around: float = 0.0

    @property
    def seconds(self) -> float:
        """The time of the program."""
        return self.around + self.runs * self.timeline.seconds


def peak_block(block: ir.Block, device: Device, rates: Rates) -> PeakBlock:
    """The block that holds more than half of the bytes at the peak of a block.

    That is `block`, or the body of a loop: of steps of training, or of parts of a batch.
    """
    found = PeakBlock(block, Timeline(block, device, rates))
    while (step := _loop_at_peak(found.timeline)) is not None:
        live, number = found.timeline.live, found.timeline.steps.index(step)
        others = [size for index, size in enumerate(live) if index != number]
        body = step.op.body.blocks[0]
        found = PeakBlock(
            body,
            found.timeline.inner[body],
            run_count(body),
            found.outside + live[number] - step.inner_bytes,
            max(found.elsewhere, found.outside + max(others, default=0)),
            found.seconds - found.runs * step.seconds,
        )
    return found


def _loop_at_peak(timeline: Timeline) -> KernelStep | None:
    if not timeline.steps:
        return None
    top = max(range(len(timeline.steps)), key=timeline.live.__getitem__)
    step = timeline.steps[top]
    return step if _is_loop(step) and 2 * step.inner_bytes > timeline.peak else None


def run_count(block: ir.Block) -> int:
    """How often a block runs, by the trip counts of the loops around it; 1 for unknown ones."""
    op, trips = block.owner.opview, list[int]()
    while op is not None and op.operation.name != "func.func":
        if isinstance(op, hlo.WhileOp):
            trips.append(trip_count(op) or 1)
        parent = op.operation.parent
        op = parent.opview if parent is not None else None
    return prod(trips)


def last_reads(steps: Sequence[KernelStep], results: Iterable[ir.Value]) -> dict[ir.Value, int]:
    """For each value, the index of the last step that reads it."""
    found = {value: index for index, step in enumerate(steps) for value in step.reads}
    return {**found, **dict.fromkeys(results, len(steps))}


def live_bytes(
    runs: Sequence[tuple[KernelStep, Sequence[Key]]], last: Mapping[Key, int]
) -> list[int]:
    """The bytes that are live at each kernel, if each value is freed after its last read.

    Args:
        runs: the kernels in order, each with keys of its results, which tell copies apart.
        last: for each key, the index of the last kernel that reads it.
    """
    ending: dict[int, list[int]] = {}
    live, found = 0, []
    for index, (step, keys) in enumerate(runs):
        unread = 0
        for key, size in zip(keys, step.stored, strict=True):
            if (end := last.get(key, -1)) > index:
                ending.setdefault(end, []).append(size)
            else:
                unread += size
        live += sum(step.stored)
        freed = ending.pop(index, [])
        found.append(live - reused_bytes(step, freed) + step.inner_bytes)
        live -= sum(freed) + unread
    return found


def reused_bytes(step: KernelStep, freed: Sequence[int]) -> int:
    """The bytes of results that are stored in the memory of operands that are read no more."""
    name = step.op.operation.name.removeprefix("stablehlo.")
    if name in _IN_PLACE:
        return min(sum(step.stored), sum(freed))
    return max((size for size in freed if size in step.stored), default=0)


def size_of(value: ir.Value) -> int:
    """The bytes of a tensor of static shape; 0 for other values."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 0
    return int(bytes_of(kind))


def _kept_for_regions(ops: Iterable[ir.OpView]) -> list[ir.Value]:
    """The values that loops and branches read from memory; they compute constants themselves."""
    found = []
    for value in dict.fromkeys(value for op in ops for value in captured_values(op)):
        source = value
        while isinstance(source.owner, hlo.BroadcastInDimOp):
            source = source.owner.operands[0]
        if not isinstance(source.owner, hlo.ConstantOp):
            found.append(value)
    return found


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


def _in_place(step: KernelStep, block: ir.Block) -> KernelStep:
    """The kernel, in place if its result is the next value of an array that a loop carries."""
    if len(step.results) != 1 or not _is_body(block):
        return step
    value, following = step.results[0], terminator(block).operands
    for read in step.reads:
        is_carried = read.owner == block and read.type == value.type
        if is_carried and following[ir.BlockArgument(read).arg_number] == value:
            return replace(step, is_in_place=True)
    return step


def _is_body(block: ir.Block) -> bool:
    loop = block.owner.opview
    return isinstance(loop, hlo.WhileOp) and loop.body.blocks[0] == block


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


def _in_order(
    kernels: Iterable[FusedKernel], ops: Sequence[ir.OpView]
) -> list[tuple[int, FusedKernel]]:
    """The kernels in the order in which they run, with their positions.

    A kernel that stores less than it reads runs as soon as it can, as XLA schedules it, which frees
    what it reads: JAX updates the parameters after all of the gradient.
    """
    number = {op: at for at, op in enumerate(ops)}
    positions: dict[ir.Value, int] = {}
    found = []
    for kernel in sorted(kernels, key=lambda kernel: number[kernel.root.op]):
        at, results = number[kernel.root.op], kernel.root.results
        reads = [v for v in _sources(kernel.reads, positions) if v in positions]
        most = max(map(size_of, reads), default=0)
        if sum(map(size_of, results)) < most and not has_regions(kernel.root.op):
            at = max(positions[value] for value in reads)
        positions.update(dict.fromkeys(results, at))
        found.append((at, kernel))
    return sorted(found, key=lambda each: each[0])


def _sources(values: Iterable[ir.Value], stored: Container[ir.Value]) -> tuple[ir.Value, ...]:
    return tuple(dict.fromkeys(_source(value, stored) for value in values))


def _source(value: ir.Value, stored: Container[ir.Value]) -> ir.Value:
    """The stored value of which `value` is a view in the same memory."""
    while value not in stored and not isinstance(value.owner, ir.Block):
        if name_of(value.owner) not in _ALIASES:
            break
        index = ir.OpResult(value).result_number if len(value.owner.operands) > 1 else 0
        value = value.owner.operands[index]
    return value


def _inner_blocks(op: ir.OpView) -> list[ir.Block]:
    """The blocks of a loop or conditional; none for other ops."""
    if op.operation.name not in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
        return []
    return [block for region in op.regions for block in region.blocks]

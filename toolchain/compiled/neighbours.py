"""Kernels that read another kernel's result from memory, and why XLA did not fuse the two.

`unfused_neighbours` follows each value that a kernel reads back to the kernels that computed it
(`dataflow`), and gives each pair the first reason that holds: a barrier, a collective, the boundary
of a loop, a library call, a layout change, and last how the value is computed and used (a
reduction, many users). XLA's passes remove optimization barriers; the module from before them shows
which ops a barrier separated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..hlo import Instruction, Module, Shape, SourceLine
from ..hlo.work import COLLECTIVES, Executed, executed, produced, reads_of
from .dataflow import Dataflow, KernelResult, Path, is_move
from .kernels import counted_ops, kind_of

_REDUCTIONS = frozenset(["reduce", "reduce-window"])
_LAYOUT = frozenset(["copy", "transpose"])
_REGROUPS = frozenset(["tuple", "get-tuple-element"])

OpKey = tuple[str, str, int]
"""The path of a traced op, its file and its line."""


@dataclass(frozen=True)
class Neighbours:
    """Two kernels, the second of which reads the result of the first.

    Attributes:
        producer: the name of the first.
        consumer: the name of the second.
        shape: of the value between them.
        bytes: that the second reads of it in one run of the program.
        on_chip: whether the value stays in memory on the chip.
        reason: why they are not fused.
        producer_line: the line of Python that the first is named after, where known.
        consumer_line: that of the second.
        producer_op: the path of the traced op that the first is named after, or empty.
        consumer_op: that of the second.
    """

    producer: str
    consumer: str
    shape: Shape
    bytes: float
    on_chip: bool
    reason: str
    producer_line: SourceLine | None
    consumer_line: SourceLine | None
    producer_op: str = ""
    consumer_op: str = ""

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        producer, consumer = self.producer_line, self.consumer_line
        return {
            "producer": self.producer,
            "consumer": self.consumer,
            "value": str(self.shape),
            "bytes": self.bytes,
            "on_chip": self.on_chip,
            "reason": self.reason,
            "producer_line": f"{producer.file}:{producer.line}" if producer else None,
            "consumer_line": f"{consumer.file}:{consumer.line}" if consumer else None,
            "producer_op": self.producer_op,
            "consumer_op": self.consumer_op,
        }


class _Edge(NamedTuple):
    """A value that one kernel reads of another, and how many bytes of it."""

    source: KernelResult
    consumer: Instruction
    shape: Shape
    bytes: float

    @property
    def value(self) -> tuple[Instruction, Path]:
        """The kernel and the number of its result."""
        return self.source.producer, self.source.path


def unfused_neighbours(module: Module, before: Module | None = None) -> list[Neighbours]:
    """The pairs of kernels with a value between them: through main memory first, then by bytes.

    A copy between memories is not a kernel here: the pair is the kernel that made the value and the
    one that reads it. Pairs that share a single number are left out.

    Args:
        module: the optimized HLO.
        before: the HLO before XLA's passes, for its optimization barriers.
    """
    flow = Dataflow(module)
    separated = separated_by_barriers(before) if before else frozenset()
    edges = [edge for edge in _edges(executed(module), flow) if edge.shape.elements > 1]
    outputs = flow.outputs()
    users: dict[tuple[Instruction, Path], set[Instruction]] = {}
    for edge in edges:
        users.setdefault(edge.value, set()).add(edge.consumer)
    kernels = {kernel for edge in edges for kernel in (edge.source.producer, edge.consumer)}
    layout_changes = {kernel for kernel in kernels if _is_layout_change(kernel)}
    found = []
    for edge in edges:
        producer, consumer = edge.source.producer, edge.consumer
        reason = _reason_across(edge, separated, layout_changes) or _reason_in_value(
            edge.source, len(users[edge.value]), edge.value in outputs
        )
        is_moved = "move" in edge.source.crossed
        pair = Neighbours(
            producer.name,
            consumer.name,
            edge.shape,
            edge.bytes,
            not is_moved and all(leaf.memory_space for leaf in edge.shape.leaves),
            reason,
            producer.place,
            consumer.place,
            producer.op_name,
            consumer.op_name,
        )
        found.append(pair)
    return sorted(found, key=lambda pair: (pair.on_chip, -pair.bytes))


def _edges(runs: list[Executed], flow: Dataflow) -> Iterator[_Edge]:
    """The results of other kernels that each kernel reads, in bytes of one run of the program."""
    times: dict[Instruction, float] = {}
    for run in runs:
        times[run.instruction] = times.get(run.instruction, 0.0) + run.times
    for consumer, often in times.items():
        for operand, size in () if is_move(consumer) else reads_of(consumer):
            sources = [source for source in flow.sources(operand) if source.producer in times]
            for source in sources if size else ():
                # A value from before the loop is read in one iteration, the other in the rest.
                share = often if len(sources) == 1 else min(often, times[source.producer])
                shape = produced(source.producer)
                for index in reversed(source.path):
                    shape = shape.parts[index] if index < len(shape.parts) else shape
                yield _Edge(source, consumer, shape, min(size, shape.bytes) * share)


# -- reasons ---------------------------------------------------------------------------------------


def _reason_across(
    edge: _Edge,
    separated: frozenset[tuple[OpKey, OpKey]],
    layout_changes: Collection[Instruction],
) -> str:
    """The first reason in either kernel or between them; empty if there is none.

    Args:
        edge: the two kernels and what is between them.
        separated: pairs of ops on the two sides of an optimization barrier.
        layout_changes: the kernels that only change a layout.
    """
    both, crossed = (edge.source.producer, edge.consumer), edge.source.crossed
    if "barrier" in crossed or _are_separated(*both, separated):
        return "an optimization barrier"
    if any(each.base_opcode in COLLECTIVES for each in both):
        return "a collective"
    for boundary in ("loop", "branch"):
        if boundary in crossed:
            return f"a {boundary}'s boundary"
    if any(map(_is_library, both)):
        return "a library call stands between"
    if any(each in layout_changes for each in both):
        return "a layout change (copy/transpose)"
    return "a copy that keeps a value from being overwritten" if any(map(_is_copy, both)) else ""


def _reason_in_value(source: KernelResult, users: int, is_output: bool) -> str:
    """The reason in how the value is computed and which kernels read it.

    Args:
        source: the result of the first kernel.
        users: the number of kernels that read it.
        is_output: whether the program returns it.
    """
    if _ends_in_reduction(source):
        return "a reduction ends the fusion"
    if is_output:
        return "the value is an output too"
    if users > 1:
        return f"{users} users"
    return "a move between memories" if "move" in source.crossed else "the compiler decided so"


def _is_layout_change(kernel: Instruction) -> bool:
    return not _is_copy(kernel) and all(op.opcode in _LAYOUT for op in counted_ops(kernel))


def _is_library(kernel: Instruction) -> bool:
    """Whether a library runs it.

    A product that is a kernel of its own is a library call, except on TPU, whose compiler adds a
    `window_config`.
    """
    kind = kind_of(kernel)
    if kind in ("dot", "convolution"):
        return "window_config" not in kernel.attributes.get("backend_config", "")
    return kind in ("library", "call") or kernel.opcode in ("fft", "cholesky", "triangular-solve")


def _is_copy(kernel: Instruction) -> bool:
    """Whether it copies a buffer into the same layout and type."""
    if kernel.opcode != "copy":
        return False
    before, after = kernel.operands[0].shape, kernel.shape
    return (before.layout, before.element_type) == (after.layout, after.element_type)


def _ends_in_reduction(source: KernelResult) -> bool:
    """Whether the kernel computes this result from a reduction."""
    fused = source.producer.callee("calls") if source.producer.opcode == "fusion" else None
    if fused is None:
        return source.producer.opcode in _REDUCTIONS
    root = fused.root
    result = root.operands[source.path[-1]] if source.path and root.opcode == "tuple" else root
    visited, left = set(), [result]
    while left:
        each = left.pop()
        if each.opcode in _REDUCTIONS:
            return True
        if each not in visited:
            visited.add(each)
            left.extend((*each.operands, each.fused.root) if each.fused else each.operands)
    return False


# -- optimization barriers -------------------------------------------------------------------------


def separated_by_barriers(before: Module) -> frozenset[tuple[OpKey, OpKey]]:
    """The pairs of ops on the two sides of a barrier, in a module before XLA's passes."""
    return frozenset(
        (above, below)
        for computation in before.computations.values()
        for barrier in computation.instructions
        if barrier.opcode == "opt-barrier"
        for above in _keys(_next(barrier, lambda op: op.operands))
        for below in _keys(_next(barrier, lambda op: op.users))
    )


def _next(
    op: Instruction, step: Callable[[Instruction], Iterable[Instruction]]
) -> Iterator[Instruction]:
    """The operands or users of an op, tuples and their elements followed."""
    for each in step(op):
        if each.opcode in _REGROUPS:
            yield from _next(each, step)
        else:
            yield each


def _are_separated(
    producer: Instruction, consumer: Instruction, separated: frozenset[tuple[OpKey, OpKey]]
) -> bool:
    """Whether a barrier separated an op of one kernel from an op of the other."""
    if not separated:
        return False
    below = set(_keys(counted_ops(consumer)))
    return any((a, b) in separated for a in _keys(counted_ops(producer)) for b in below)


def _keys(ops: Iterable[Instruction]) -> Iterator[OpKey]:
    for op in ops:
        if op.op_name and op.place is not None:
            yield op.op_name, op.place.file, op.place.line

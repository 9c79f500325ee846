"""Kernels that read another kernel's result from memory, and why XLA did not fuse the two.

`unfused_neighbours` follows each value that a kernel reads back to the kernels that made it
(`dataflow`), and gives each pair the first reason that holds: a barrier, a collective, the boundary
of a loop, a library call, a layout change, and last what the value itself says (a reduction, many
users). XLA removes optimization barriers once it has respected them; the module from before its
passes says which ops they separated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...hlo import Instruction, Module, Shape, SourceLine
from ...hlo.work import COLLECTIVES, Executed, executed, produced, reads_of
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
        lines = (self.producer_line, self.consumer_line)
        return {
            "producer": self.producer,
            "consumer": self.consumer,
            "value": str(self.shape),
            "bytes": self.bytes,
            "on_chip": self.on_chip,
            "reason": self.reason,
            "producer_line": f"{lines[0].file}:{lines[0].line}" if lines[0] else None,
            "consumer_line": f"{lines[1].file}:{lines[1].line}" if lines[1] else None,
            "producer_op": self.producer_op,
            "consumer_op": self.consumer_op,
        }


@dataclass(frozen=True)
class _Edge:
    """A value that one kernel reads of another, and how many bytes of it."""

    source: KernelResult
    consumer: Instruction
    bytes: float

    @property
    def value(self) -> tuple[Instruction, Path]:
        """The kernel and the number of its result."""
        return self.source.producer, self.source.path

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return shape_at(produced(self.source.producer), self.source.path)


def unfused_neighbours(module: Module, before: Module | None = None) -> list[Neighbours]:
    """The pairs of kernels with a value between them: through main memory first, then by bytes.

    A copy between memories is not a kernel here: the pair is the kernel that made the value and the
    one that reads it. Pairs that share a single number are left out.

    Args:
        module: the optimized HLO.
        before: the HLO before XLA's passes, for its optimization barriers.
    """
    flow = Dataflow(module)
    reasons = Reasons(separated_by_barriers(before) if before else frozenset())
    edges = [edge for edge in _edges(executed(module), flow) if edge.shape.elements > 1]
    outputs = flow.outputs()
    users: dict[tuple[Instruction, Path], set[Instruction]] = {}
    for edge in edges:
        users.setdefault(edge.value, set()).add(edge.consumer)
    found = []
    for edge in edges:
        readers = len(users[edge.value])
        reason = reasons.of(edge.source, edge.consumer, readers, edge.value in outputs)
        found.append(_neighbours(edge, reason))
    return sorted(found, key=lambda pair: (pair.on_chip, -pair.bytes))


def _neighbours(edge: _Edge, reason: str) -> Neighbours:
    moved, shape = "move" in edge.source.crossed, edge.shape
    return Neighbours(
        edge.source.producer.name,
        edge.consumer.name,
        shape,
        edge.bytes,
        not moved and all(leaf.memory_space for leaf in shape.leaves),
        reason,
        edge.source.producer.place,
        edge.consumer.place,
        edge.source.producer.op_name,
        edge.consumer.op_name,
    )


def _edges(run: list[Executed], flow: Dataflow) -> Iterator[_Edge]:
    """The results of other kernels that each kernel reads, in bytes of one run of the program."""
    times: dict[Instruction, float] = {}
    for each in run:
        times[each.instruction] = times.get(each.instruction, 0.0) + each.times
    for consumer, often in times.items():
        for operand, size in () if is_move(consumer) else reads_of(consumer):
            sources = [source for source in flow.sources(operand) if source.producer in times]
            for source in sources if size else ():
                # A value from before the loop is read in one iteration, the other in the rest.
                share = often if len(sources) == 1 else min(often, times[source.producer])
                own = shape_at(produced(source.producer), source.path).bytes
                yield _Edge(source, consumer, min(size, own) * share)


def shape_at(shape: Shape, path: Path) -> Shape:
    """A part of a shape, the outermost index last."""
    for index in reversed(path):
        shape = shape.parts[index] if index < len(shape.parts) else shape
    return shape


# -- reasons ---------------------------------------------------------------------------------------


class Reasons:
    """Finds the reason for each pair.

    Args:
        separated: pairs of ops on the two sides of an optimization barrier.
    """

    def __init__(self, separated: frozenset[tuple[OpKey, OpKey]] = frozenset()) -> None:
        self._separated = separated
        self._layout_changes: dict[Instruction, bool] = {}

    def of(self, source: KernelResult, consumer: Instruction, users: int, is_output: bool) -> str:
        """Why two kernels are not fused: the first reason that holds.

        Args:
            source: the result of the first, and what is between it and the second.
            consumer: the second.
            users: how many kernels read the value.
            is_output: whether the program returns the value.
        """
        both, crossed = (source.producer, consumer), source.crossed
        if "barrier" in crossed or _are_separated(*both, self._separated):
            return "an optimization barrier"
        if any(each.base_opcode in COLLECTIVES for each in both):
            return "a collective"
        for boundary in ("loop", "branch"):
            if boundary in crossed:
                return f"a {boundary}'s boundary"
        if any(map(_is_library, both)):
            return "a library call stands between"
        if any(map(self._is_layout_change, both)):
            return "a layout change (copy/transpose)"
        if any(map(_is_copy, both)):
            return "a copy that keeps a value from being overwritten"
        return _of_the_value(source, users, is_output)

    def _is_layout_change(self, kernel: Instruction) -> bool:
        found = self._layout_changes.get(kernel)
        if found is None:
            ops = counted_ops(kernel)
            found = not _is_copy(kernel) and all(op.opcode in _LAYOUT for op in ops)
            self._layout_changes[kernel] = found
        return found


def _of_the_value(source: KernelResult, users: int, is_output: bool) -> str:
    """The reason in how the value is made and who reads it."""
    if _ends_in_reduction(source):
        return "a reduction ends the fusion"
    if is_output:
        return "the value is an output too"
    if users > 1:
        return f"{users} users"
    return "a move between memories" if "move" in source.crossed else "the compiler decided so"


def _is_library(kernel: Instruction) -> bool:
    """Whether a library runs it.

    A library runs each product that is a kernel by itself, except on TPU, whose compiler gives it a
    window.
    """
    kind = kind_of(kernel)
    if kind in ("dot", "convolution"):
        return "window_config" not in kernel.attributes.get("backend_config", "")
    return kind in ("library", "call") or kernel.opcode in ("fft", "cholesky", "triangular-solve")


def _is_copy(kernel: Instruction) -> bool:
    """Whether it copies a buffer as it is, into the same layout and type."""
    if kernel.opcode != "copy":
        return False
    before, after = kernel.operands[0].shape, kernel.shape
    return (before.layout, before.element_type) == (after.layout, after.element_type)


def _ends_in_reduction(source: KernelResult) -> bool:
    """Whether a reduction is among what the kernel computes this result from."""
    fused = source.producer.fused
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
        for above in _keys(_above(barrier))
        for below in _keys(_below(barrier))
    )


def _are_separated(
    producer: Instruction, consumer: Instruction, separated: frozenset[tuple[OpKey, OpKey]]
) -> bool:
    """Whether a barrier separated an op of one kernel from an op of the other."""
    if not separated:
        return False
    below = set(_keys(counted_ops(consumer)))
    return any((a, b) in separated for a in _keys(counted_ops(producer)) for b in below)


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


def _keys(ops: Iterator[Instruction] | list[Instruction]) -> Iterator[OpKey]:
    for op in ops:
        if op.op_name and op.place is not None:
            yield op.op_name, op.place.file, op.place.line

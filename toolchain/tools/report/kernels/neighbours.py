"""Kernels joined by a value that goes through memory, and why they are two and not one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hlo import Instruction, Module, Shape, SourceLine
from ....hlo.work import Executed, executed, produced, reads_of
from .barriers import parted_by_barriers
from .flow import Flow, Path, Source, is_move
from .reasons import Reasons


@dataclass(frozen=True)
class Neighbours:
    """Two kernels, the second of which reads what the first writes.

    Attributes:
        producer: the name of the first.
        consumer: the name of the second.
        shape: of the value between them.
        bytes: what the second reads of it in one run of the program.
        on_chip: whether the value stays in memory on the chip, off the main memory.
        reason: why they did not become one, in words.
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

    def as_json(self) -> dict[str, object]:
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
    """A value on its way from one kernel to another, and how many bytes are read of it."""

    source: Source
    consumer: Instruction
    bytes: float

    @property
    def value(self) -> tuple[Instruction, Path]:
        """The result that is read, whatever lies on the way."""
        return self.source.producer, self.source.path

    @property
    def shape(self) -> Shape:
        """The shape of the value."""
        return shape_at(produced(self.source.producer), self.source.path)


def unfused_neighbours(module: Module, before: Module | None = None) -> list[Neighbours]:
    """The pairs of kernels with a value between them: through main memory first, then by bytes.

    Moves between memories are no kernels here: what is moved lies between the kernel that made it
    and the one that reads it. Pairs with a single number between them are left out.

    Args:
        module: what XLA compiled.
        before: the same before XLA's passes, to know of optimization barriers, which XLA takes out
            when it has respected them.
    """
    flow = Flow(module)
    reasons = Reasons(parted_by_barriers(before) if before else frozenset())
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


def _edges(run: list[Executed], flow: Flow) -> Iterator[_Edge]:
    """What each kernel reads of another's results, in bytes in one run of the program."""
    times: dict[Instruction, float] = {}
    for each in run:
        times[each.instruction] = times.get(each.instruction, 0.0) + each.times
    for consumer, often in times.items():
        for operand, size in () if is_move(consumer) else reads_of(consumer):
            sources = [source for source in flow.sources(operand) if source.producer in times]
            for source in sources if size else ():
                # A value from before a loop and one from the turn before share its turns.
                share = often if len(sources) == 1 else min(often, times[source.producer])
                own = shape_at(produced(source.producer), source.path).bytes
                yield _Edge(source, consumer, min(size, own) * share)


def shape_at(shape: Shape, path: Path) -> Shape:
    """A part of a shape, the outermost index last."""
    for index in reversed(path):
        shape = shape.parts[index] if index < len(shape.parts) else shape
    return shape

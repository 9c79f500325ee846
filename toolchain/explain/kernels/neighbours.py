"""Kernels joined by a value that goes through memory, and why they are two and not one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..hlo import Instruction, Module, Place, Shape
from ..work import COLLECTIVES, Executed, base_opcode, executed, produced, reads_of
from .flow import Flow, Path, Source, is_move
from .kernel import counted_ops, kind_of

_REDUCTIONS = frozenset(["reduce", "reduce-window"])
_LAYOUT = frozenset(["copy", "transpose"])


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
    """

    producer: str
    consumer: str
    shape: Shape
    bytes: float
    on_chip: bool
    reason: str
    producer_line: Place | None
    consumer_line: Place | None

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
        }


@dataclass(frozen=True)
class _Edge:
    """A value on its way from one kernel to another."""

    source: Source
    consumer: Instruction
    bytes: float


def unfused_neighbours(module: Module) -> list[Neighbours]:
    """The pairs of kernels with a value between them: through main memory first, then by bytes.

    Moves between memories are no kernels here: what is moved lies between the kernel that made it
    and the one that reads it. Pairs with a single number between them are left out.
    """
    flow = Flow(module)
    edges = list(_edges(executed(module), flow))
    outputs = flow.outputs()
    users: dict[tuple[Instruction, Path], set[Instruction]] = {}
    for edge in edges:
        value = (edge.source.producer, edge.source.path)
        users.setdefault(value, set()).add(edge.consumer)
    found = [_neighbours(edge, users, outputs) for edge in edges]
    found = [pair for pair in found if pair.shape.elements > 1]
    return sorted(found, key=lambda pair: (pair.on_chip, -pair.bytes))


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
                own = _shape_at(produced(source.producer), source.path).bytes
                yield _Edge(source, consumer, min(size, own) * share)


def _neighbours(
    edge: _Edge,
    users: Mapping[tuple[Instruction, Path], set[Instruction]],
    outputs: set[tuple[Instruction, Path]],
) -> Neighbours:
    value = (edge.source.producer, edge.source.path)
    shape = _shape_at(produced(edge.source.producer), edge.source.path)
    return Neighbours(
        edge.source.producer.name,
        edge.consumer.name,
        shape,
        edge.bytes,
        "move" not in edge.source.crossed and all(leaf.memory_space for leaf in shape.leaves),
        _reason(edge.source, edge.consumer, len(users[value]), value in outputs),
        edge.source.producer.place,
        edge.consumer.place,
    )


def _shape_at(shape: Shape, path: Path) -> Shape:
    for index in reversed(path):
        shape = shape.parts[index] if index < len(shape.parts) else shape
    return shape


def _reason(source: Source, consumer: Instruction, users: int, is_output: bool) -> str:
    """Why two kernels are two: the first that holds."""
    both = (source.producer, consumer)
    holds = {
        "an optimization barrier": "barrier" in source.crossed,
        "a collective": any(base_opcode(each) in COLLECTIVES for each in both),
        "a loop's boundary": "loop" in source.crossed,
        "a branch's boundary": "branch" in source.crossed,
        "a library call stands between": any(map(_is_library, both)),
        "a layout change (copy/transpose)": any(map(_is_layout_change, both)),
        "a copy that keeps a value from being overwritten": any(map(_is_copy, both)),
        "a reduction ends the fusion": _ends_in_reduction(source),
        "the value is an output too": is_output,
        f"{users} users": users > 1,
        "a move between memories": "move" in source.crossed,
    }
    return next((reason for reason, is_so in holds.items() if is_so), "the compiler decided so")


def _is_library(kernel: Instruction) -> bool:
    """Whether code that XLA did not write runs it.

    A product that stands alone is a library's, but for one whose window a TPU's compiler laid out.
    """
    kind = kind_of(kernel)
    if kind in ("dot", "convolution"):
        return "window_config" not in kernel.attributes.get("backend_config", "")
    return kind in ("library", "call") or kernel.opcode in ("fft", "cholesky", "triangular-solve")


def _is_layout_change(kernel: Instruction) -> bool:
    return not _is_copy(kernel) and all(op.opcode in _LAYOUT for op in counted_ops(kernel))


def _is_copy(kernel: Instruction) -> bool:
    """Whether it copies a buffer as it is, into the same layout and type."""
    if kernel.opcode != "copy":
        return False
    before, after = kernel.operands[0].shape, kernel.shape
    return (before.layout, before.element_type) == (after.layout, after.element_type)


def _ends_in_reduction(source: Source) -> bool:
    """Whether the result is reduced in its kernel, whatever is done with it afterwards."""
    fused = source.producer.callee("calls") if source.producer.opcode == "fusion" else None
    if fused is None:
        return source.producer.opcode in _REDUCTIONS
    root = fused.root
    result = root.operands[source.path[-1]] if source.path and root.opcode == "tuple" else root
    seen, left = set(), [result]
    while left:
        each = left.pop()
        inner = each.callee("calls") if each.opcode == "fusion" else None
        if each.opcode in _REDUCTIONS:
            return True
        if each not in seen:
            seen.add(each)
            left.extend(each.operands if inner is None else (*each.operands, inner.root))
    return False

"""The memory that a compiled program takes on each device, by buffer.

The sizes of arguments, outputs and temporaries are XLA's own count; the buffers are from the dumps
of its buffer assignment (`buffers`); the line of Python that wrote each is from the optimized HLO
(`origins`). `peak_bytes` is the one definition of a program's peak memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..hlo import Module, SourceLine
from ..units import show_bytes
from .buffers import (
    Allocation,
    Ranges,
    Value,
    parse_assignment,
    parse_live_ranges,
    range_of,
    regions_at_peak,
)
from .origins import Origins, Part


@dataclass(frozen=True)
class Buffer:
    """Memory that holds one value, or several that share it.

    Attributes:
        bytes: its size, with the padding of the layout.
        kind: "argument", "output", "temporary" or "constant"; a donated argument that an output
            is written into is an argument.
        instruction: the name of the instruction that wrote the largest value in it.
        shape: of that value, such as "f32[8,128]"; "tuple" of a table of pointers.
        name: the path of an argument ("params['w']"), else the traced op ("jit(step)/sin");
            empty where neither is known.
        place: the line of Python; None for arguments, and where it is not known.
        shared_with: the other values in the same bytes, by the instructions that wrote them.
        is_donated: whether an output takes the memory of this argument.
    """

    bytes: int
    kind: str
    instruction: str
    shape: str
    name: str = ""
    place: SourceLine | None = None
    shared_with: tuple[str, ...] = ()
    is_donated: bool = False

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        name = f" ({self.name or self.instruction})"
        return f"{show_bytes(self.bytes)} {self.shape} {self.kind}{where}{name}"

    def as_json(self) -> dict[str, Any]:
        """The same, the line as file and number."""
        return {
            "bytes": self.bytes,
            "kind": self.kind,
            "instruction": self.instruction,
            "shape": self.shape,
            "name": self.name,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "shared_with": list(self.shared_with),
            "donated": self.is_donated,
        }


@dataclass(frozen=True)
class Memory:
    """What one device needs for a program, in bytes.

    Attributes:
        arguments: of the program's arguments.
        outputs: of its outputs.
        temporaries: of intermediate values: the whole of XLA's arena for them, gaps included.
        aliases: of outputs that are written into a donated argument.
        generated_code: of the program itself; on TPU with its constants.
        constants: of constants that are not immediates in the code.
        xla_peak: the GPU compiler's own count of the peak, with constants; None for other
            compilers: the CPU's leaves out temporaries, the TPU's adds the vector memory.
        buffers: those that are live when the temporaries take the most, the largest first. They
            do not overlap, so their sum is at most the peak; the rest are gaps.
        constant_buffers: the constants, the largest first.
    """

    arguments: int
    outputs: int
    temporaries: int
    aliases: int
    generated_code: int
    constants: int
    xla_peak: int | None
    buffers: tuple[Buffer, ...] = field(repr=False)
    constant_buffers: tuple[Buffer, ...] = field(default=(), repr=False)

    @property
    def peak(self) -> int:
        """Bytes at the peak, see `peak_bytes`."""
        return peak_bytes(self.arguments, self.outputs, self.temporaries, self.aliases)

    @property
    def needed(self) -> int:
        """The peak, and the code and the constants, which stay loaded.

        XLA counts constants as code on TPU and not at all elsewhere, hence the maximum.
        """
        return self.peak + max(self.generated_code, self.constants)

    @property
    def gaps(self) -> int:
        """Bytes of the peak in no buffer: padding between temporaries."""
        return self.peak - sum(buffer.bytes for buffer in self.buffers)

    def as_json(self) -> dict[str, Any]:
        """All sizes in bytes, and the buffers."""
        sizes = {f"{name}_bytes": getattr(self, name) for name in (*_NAMES, "constants")}
        return {
            "peak_bytes": self.peak,
            "needed_bytes": self.needed,
            "xla_peak_bytes": self.xla_peak,
            **sizes,
            "gaps_bytes": self.gaps,
            "buffers": [buffer.as_json() for buffer in self.buffers],
            "constant_buffers": [buffer.as_json() for buffer in self.constant_buffers],
        }


def peak_bytes(arguments: int, outputs: int, temporaries: int, aliases: int) -> int:
    """The bytes of arguments, outputs and temporaries, with memory that two share counted once.

    Every command that prints peak memory counts it so. XLA's own peak leaves out temporaries on
    CPU.
    """
    return arguments + outputs + temporaries - aliases


def measure_memory(
    assignment: str,
    live_ranges: str,
    stats: Mapping[str, int] | None,
    module: Module,
    kind: str,
) -> Memory:
    """The memory of a compiled program, from XLA's count and its dumps.

    Args:
        assignment: the text of `*-buffer-assignment.txt` in XLA's dump.
        live_ranges: the text of `*-live-range.txt`.
        stats: XLA's count by name, such as "temp_size_in_bytes"; None where compilation failed
            before it: then the assignment is added up.
        module: the optimized HLO.
        kind: of the target: "cpu", "gpu" or "tpu".
    """
    # Memory space 1 is main memory for collectives on GPU, and memory of a core on TPU.
    spaces = (0, 1) if kind == "gpu" else (0,)
    allocations = [each for each in parse_assignment(assignment) if each.space in spaces]
    ranges = parse_live_ranges(live_ranges)
    if stats is None:
        sizes = _added_up(allocations)
    else:
        sizes = {ours: max(0, stats[f"{xla}_size_in_bytes"]) for ours, xla in _NAMES.items()}
    builder = _BufferBuilder(Origins(module), ranges)
    constants = [each for each in allocations if each.kind == "constant"]
    return Memory(
        **sizes,
        constants=sum(each.size for each in constants),
        xla_peak=(stats or {}).get("peak_memory_in_bytes") or None if kind == "gpu" else None,
        buffers=_sorted(builder.live(allocations, sizes["temporaries"])),
        constant_buffers=_sorted(builder.whole(each) for each in constants),
    )


_NAMES = {
    "arguments": "argument",
    "outputs": "output",
    "temporaries": "temp",
    "aliases": "alias",
    "generated_code": "generated_code",
}
"""The sizes of `Memory`, and XLA's names for them."""


def _added_up(allocations: Iterable[Allocation]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for each in allocations:
        sizes[each.kind] += each.size
        if each.kind == "argument" and each.is_output:
            sizes["alias"] += each.size
    return {
        "arguments": sizes["argument"],
        "outputs": sizes["output"] + sizes["alias"],
        "temporaries": sizes["temporary"],
        "aliases": sizes["alias"],
        "generated_code": 0,
    }


def _sorted(buffers: Iterable[Buffer]) -> tuple[Buffer, ...]:
    return tuple(sorted(buffers, key=lambda buffer: -buffer.bytes))


class _BufferBuilder:
    """Makes buffers of allocations."""

    def __init__(self, origins: Origins, ranges: Ranges) -> None:
        self.origins, self.ranges = origins, ranges

    def live(self, allocations: Sequence[Allocation], temporaries: int) -> Iterator[Buffer]:
        """Arguments and outputs, and the temporaries that are live at their peak.

        Args:
            allocations: those in main memory.
            temporaries: the bytes that XLA counts; on TPU it leaves out an arena of pointers.
        """
        for each in allocations:
            if each.kind in ("argument", "output"):
                yield self.whole(each)
        arenas = [each for each in allocations if each.kind == "temporary"]
        for region in regions_at_peak(arenas, self.ranges):
            temporaries -= region.bytes
            if temporaries >= 0:
                yield self._buffer(region.bytes, "temporary", region.values)

    def whole(self, allocation: Allocation) -> Buffer:
        """The buffer of a whole allocation, named after the largest value that is in it last."""
        is_argument = allocation.kind == "argument"
        values = list(allocation.values)
        if not is_argument:  # of equally large ones, the last
            values.sort(key=lambda value: (-value.size, -self._end(value)))
        is_donated = is_argument and allocation.is_output
        return self._buffer(allocation.size, allocation.kind, values, is_donated)

    def _end(self, value: Value) -> int:
        steps = range_of(value, self.ranges)
        return steps.end if steps else 0

    def _buffer(
        self, size: int, kind: str, values: Iterable[Value], is_donated: bool = False
    ) -> Buffer:
        writers = [(value, self.origins.writer(value.instruction, value.index)) for value in values]
        if kind == "temporary":  # of equally large ones, the one with a name and a line
            writers.sort(key=lambda each: (-each[0].size, _anonymity(each[1])))
        if not writers:
            return Buffer(size, kind, "", "", is_donated=is_donated)
        value, writer = writers[0]
        first, *others = dict.fromkeys(w[0].name if w else v.instruction for v, w in writers)
        op_name, place = self.origins.name_and_line(writer) if writer else ("", None)
        shared = tuple(others)
        return Buffer(size, kind, first, value.shape, op_name, place, shared, is_donated)


def _anonymity(writer: Part | None) -> int:
    """The number of an instruction's name and line that are missing; 3 if it is not found."""
    return 3 if writer is None else (not writer[0].op_name) + (writer[0].place is None)

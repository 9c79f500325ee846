"""How much memory a compiled program takes on each device, and what takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...backend.targets.device import Device
from ...hlo import Module, SourceLine
from ...units import show_bytes
from .memory_assignment import Allocation, Value, parse_assignment, parse_live_ranges
from .memory_fit import Fit, Refusal
from .memory_origin import Origins, Part
from .memory_peak import Ranges, range_of, regions_at_peak

_SHOWN = 3  # buffers that an advice names
_SMALL = 0.01  # of what is needed: not worth an advice
_GPU_SHARE = 0.75  # of a GPU's memory, what JAX takes unless XLA_PYTHON_CLIENT_MEM_FRACTION is set


@dataclass(frozen=True)
class Buffer:
    """Memory that holds one value, or several that share it.

    Attributes:
        bytes: its size, with the padding of the layout.
        kind: "argument", "output", "temporary" or "constant"; a donated argument that an output
            is written into is an argument.
        instruction: who wrote the largest value in it: the name in the HLO text.
        shape: of that value, such as "f32[8,128]"; "tuple" of a table of pointers.
        name: the path of an argument ("params['w']"), else the traced op ("jit(step)/sin");
            empty where neither is known.
        place: the line of Python; None for arguments, and where it is not known.
        shared_with: the other values in the same bytes, by the name of who wrote them.
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
        temporaries: of what lives in between: the whole of XLA's arena for it, gaps included.
        aliases: of outputs that take the memory of a donated argument.
        generated_code: of the program itself; on TPU with its constants.
        constants: of constants that are not in the code as immediates.
        xla_peak: XLA's own figure for the peak, or None: only the GPU compiler's counts what the
            others here count. The CPU compiler's leaves out temporaries, the TPU compiler's adds
            the vector memory. It includes constants.
        buffers: what is live when the temporaries take the most, the largest first. Each byte is
            in one of them, so their sum is at most the peak; the rest are gaps.
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
        """Arguments, outputs and temporaries, what is shared counted once."""
        return self.arguments + self.outputs + self.temporaries - self.aliases

    @property
    def needed(self) -> int:
        """The peak, and what stays loaded beside it: the code and the constants.

        XLA counts constants as code on TPU and not at all elsewhere, hence the larger one.
        """
        return self.peak + max(self.generated_code, self.constants)

    @property
    def gaps(self) -> int:
        """Bytes of the peak in no buffer: padding between temporaries."""
        return self.peak - sum(buffer.bytes for buffer in self.buffers)

    def as_json(self) -> dict[str, Any]:
        """Every figure in bytes, and the buffers."""
        names = ("arguments", "outputs", "temporaries", "aliases", "generated_code", "constants")
        figures = {f"{name}_bytes": getattr(self, name) for name in names}
        return {
            "peak_bytes": self.peak,
            "needed_bytes": self.needed,
            "xla_peak_bytes": self.xla_peak,
            **figures,
            "gaps_bytes": self.gaps,
            "buffers": [buffer.as_json() for buffer in self.buffers],
            "constant_buffers": [buffer.as_json() for buffer in self.constant_buffers],
        }


def measure_memory(
    assignment: str,
    live_ranges: str,
    stats: Mapping[str, int] | None,
    module: Module,
    kind: str,
) -> Memory:
    """What a compiled program takes, from what XLA wrote about it.

    Args:
        assignment: the text of `*-buffer-assignment.txt` in XLA's dump.
        live_ranges: the text of `*-live-range.txt` beside it.
        stats: XLA's figures by name, such as "temp_size_in_bytes"; None where compilation ended
            before it gave any: then they are added up from the assignment.
        module: the optimised HLO.
        kind: what it was compiled for: "cpu", "gpu" or "tpu".
    """
    # On GPU memory space 1 is what collectives may use, in the same chips; on TPU it is on a core.
    spaces = (0, 1) if kind == "gpu" else (0,)
    allocations = [each for each in parse_assignment(assignment) if each.space in spaces]
    ranges = parse_live_ranges(live_ranges)
    figures = _figures(allocations) if stats is None else _stated(stats)
    builder = _Builder(Origins(module), ranges)
    constants = [each for each in allocations if each.kind == "constant"]
    return Memory(
        **figures,
        constants=sum(each.size for each in constants),
        xla_peak=(stats or {}).get("peak_memory_in_bytes") or None if kind == "gpu" else None,
        buffers=_sorted(builder.live(allocations, figures["temporaries"])),
        constant_buffers=_sorted(builder.whole(each) for each in constants),
    )


def _stated(stats: Mapping[str, int]) -> dict[str, int]:
    names = {"argument": "arguments", "output": "outputs", "temp": "temporaries"}
    names |= {"alias": "aliases", "generated_code": "generated_code"}
    return {ours: max(0, stats[f"{xla}_size_in_bytes"]) for xla, ours in names.items()}


def _figures(allocations: Iterable[Allocation]) -> dict[str, int]:
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


class _Builder:
    """Buffers from allocations."""

    def __init__(self, origins: Origins, ranges: Ranges) -> None:
        self.origins, self.ranges = origins, ranges

    def live(self, allocations: Iterable[Allocation], temporaries: int) -> Iterator[Buffer]:
        """Arguments and outputs, and the temporaries that are live at their peak.

        Args:
            allocations: those in main memory.
            temporaries: how many bytes XLA counts: on TPU it leaves out an arena that holds
                nothing but tables of pointers.
        """
        arenas = []
        for each in allocations:
            if each.kind in ("argument", "output"):
                yield self.whole(each)
            elif each.kind == "temporary":
                arenas.append(each)
        for region in regions_at_peak(arenas, self.ranges):
            temporaries -= region.bytes
            if temporaries >= 0:
                yield self._buffer(region.bytes, "temporary", region.values)

    def whole(self, allocation: Allocation) -> Buffer:
        """The buffer of an allocation that holds one thing: what is there in the end names it."""
        last = sorted(allocation.values, key=lambda value: -self._end(value))
        is_argument = allocation.kind == "argument"
        values = allocation.values if is_argument else sorted(last, key=lambda v: -v.size)
        is_donated = is_argument and allocation.is_output
        return self._buffer(allocation.size, allocation.kind, values, is_donated)

    def _end(self, value: Value) -> int:
        steps = range_of(value, self.ranges)
        return steps.end if steps else 0

    def _buffer(
        self, size: int, kind: str, values: Iterable[Value], is_donated: bool = False
    ) -> Buffer:
        writers = [(value, self.origins.writer(value.instruction, value.index)) for value in values]
        if kind == "temporary":  # of those as large, the one that says most
            writers.sort(key=lambda each: (-each[0].size, _silence(each[1])))
        if not writers:
            return Buffer(size, kind, "", "", is_donated=is_donated)
        value, writer = writers[0]
        first, *others = dict.fromkeys(w[0].name if w else v.instruction for v, w in writers)
        op_name, place = self.origins.told(writer) if writer else ("", None)
        shared = tuple(others)
        return Buffer(size, kind, first, value.shape, op_name, place, shared, is_donated)


def _silence(writer: Part | None) -> int:
    """How little an instruction tells of itself: 2 without a name and a line, 3 when unknown."""
    return 3 if writer is None else (not writer[0].op_name) + (writer[0].place is None)


def fits(memory: Memory, device: Device, refused: Refusal | None = None) -> Fit:
    """Whether a program fits into a device's main memory, and what would help.

    Args:
        memory: what it needs.
        device: where.
        refused: what the compiler said, if it refused the program for its memory; `memory` is then
            from what it had written by then, without the code, and the larger figure counts.
    """
    largest = tuple(map(str, memory.buffers[:_SHOWN]))
    if refused is not None:
        needed, available = max(memory.needed, refused.needed), refused.available
        return Refusal(needed, available or device.memory_bytes, largest, tuple(_savings(memory)))
    advice: Iterable[str] = ()
    if 0 < device.memory_bytes < memory.needed:
        advice = _savings(memory)
    elif device.kind == "gpu" and memory.needed > _GPU_SHARE * device.memory_bytes > 0:
        advice = [_more_of_it(device)]
    return Fit(memory.needed, device.memory_bytes, largest, tuple(advice))


def _more_of_it(device: Device) -> str:
    share = show_bytes(_GPU_SHARE * device.memory_bytes)
    return (
        f"JAX takes {_GPU_SHARE:.0%} of a GPU's memory, {share}, which is less: set "
        "XLA_PYTHON_CLIENT_MEM_FRACTION"
    )


def _savings(memory: Memory) -> Iterator[str]:
    """What would make it less, a sentence each."""
    small = memory.needed * _SMALL
    temporaries = [b for b in memory.buffers if b.kind == "temporary" and b.bytes > small]
    if temporaries:
        named = "; ".join(map(str, temporaries[:_SHOWN]))
        yield f"the largest temporaries at the peak: {named}"
    saved = [each for each in temporaries if "jvp(" in each.name and "transpose(" not in each.name]
    if saved:
        size = show_bytes(sum(each.bytes for each in saved))
        yield f"{size} of temporaries are kept for the gradient: jax.checkpoint computes them again"
    donable = _donable(memory.buffers)
    if donable > small:
        yield f"donating arguments (donate_argnums) may save up to {show_bytes(donable)}"


def _donable(buffers: Iterable[Buffer]) -> int:
    """Bytes of outputs that would fit into arguments of the same shape that nobody donated."""
    of: dict[str, Counter[tuple[str, int]]] = {"argument": Counter(), "output": Counter()}
    for each in buffers:
        if each.kind in of and not each.is_donated:
            of[each.kind][each.shape, each.bytes] += 1
    both = of["argument"] & of["output"]
    return sum(size * count for (_, size), count in both.items())

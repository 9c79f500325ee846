"""The kernels of a compiled program: the ops, the cost and the lines of Python of each.

A kernel is an instruction that XLA launches: a fusion, a library call, a copy. `kernels_of` reads
them from the optimized HLO, with how often each runs. Its cost is its flops and its accesses to
memory; `roofline` turns both into the least time on a device. If the target's compiler estimates
cycles, `Kernel.estimate` prefers them to the roofline.

The roofline model (Williams, Waterman and Patterson, 2009): a kernel takes at least as long as its
flops at the device's peak, and at least as long as its traffic at the bandwidth of memory. Here
bytes that the cache still holds (`jxc.hlo.work.reuse`) count at the cache's bandwidth, and the time
to launch the kernel is added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..hlo import Instruction, Module, SourceLine
from ..hlo.work import (
    COLLECTIVES,
    Access,
    Executed,
    Flops,
    Traffic,
    accesses_of,
    executed,
    flops_of,
    inner_ops,
    is_free,
    is_library,
    reads_of,
    stablehlo_name,
    traffic_of,
)

if TYPE_CHECKING:
    from ..cost.device import Device

_NEAREST = {"f16": ("bf16",), "bf16": ("f16",), "u8": ("s8",), "s4": ("s8",), "u4": ("s8",)}
_KINDS = {"kLoop": "loop", "kInput": "input", "kOutput": "output", "kCustom": "custom"}
_ENGINE = re.compile(r'"fusion(?:_backend)?_config"\s*:\s*\{\s*"kind"\s*:\s*"([^"]*)"')
_CYCLES = re.compile(r'"estimated_cycles"\s*:\s*"?(\d+)')
_UNKNOWN_CYCLES = 2**63 - 1  # what the TPU compiler writes where it makes no estimate
_OF_LIBRARIES = re.compile(r"__(?:ynn|xnn|onednn|cudnn|cublas)")
_MOVES = {"copy", "slice", "dynamic-slice", "dynamic-update-slice"}


@dataclass(frozen=True)
class Roofline:
    """The least time that a device needs for one run of a kernel.

    Attributes:
        compute_seconds: its flops at the device's peak.
        memory_seconds: its traffic with main memory at that memory's bandwidth.
        cache_seconds: its traffic with the cache at the cache's bandwidth.
        launch_seconds: the launch.
    """

    compute_seconds: float
    memory_seconds: float
    cache_seconds: float
    launch_seconds: float

    @property
    def work_seconds(self) -> float:
        """The time without the launch. Arithmetic and traffic overlap."""
        return max(self.compute_seconds, self.memory_seconds + self.cache_seconds)

    @property
    def seconds(self) -> float:
        """The time with the launch."""
        return self.work_seconds + self.launch_seconds

    @property
    def bound(self) -> str:
        """The largest part of the time: "compute", "memory", "cache" or "launch"."""
        if self.launch_seconds > self.work_seconds:
            return "launch"
        if self.compute_seconds > self.memory_seconds + self.cache_seconds:
            return "compute"
        return "cache" if self.cache_seconds > self.memory_seconds else "memory"

    def as_json(self) -> dict[str, object]:
        """As an object for `--json`."""
        return {"seconds": self.seconds, "bound": self.bound, **asdict(self)}


def roofline(
    flops: Mapping[str, int],
    accesses: Sequence[Access],
    device: Device,
    *,
    is_launched: bool = True,
) -> Roofline:
    """The roofline of one run of a kernel.

    Args:
        flops: by rate, see `jxc.hlo.work.Flops.by_type`.
        accesses: to main memory; those that the device's cache serves count for the cache.
        device: its peaks, bandwidths and cost of a launch.
        is_launched: whether the kernel is launched separately.
    """
    rates = ((amount, peak_of(device, kind)) for kind, amount in flops.items())
    compute = sum(amount / rate for amount, rate in rates if rate)
    cached = cached_bytes(accesses, device)
    main = sum(each.bytes for each in accesses) - cached
    return Roofline(
        compute,
        main / device.bandwidth if device.bandwidth else 0.0,
        cached / device.cache_bandwidth if device.cache_bandwidth else 0.0,
        device.launch_seconds if is_launched else 0.0,
    )


def cached_bytes(accesses: Sequence[Access], device: Device) -> int:
    """The bytes that the device's cache serves; 0 for a device whose cache is not modelled."""
    size = device.cache_bytes if device.cache_bandwidth else 0
    return sum(each.bytes for each in accesses if each.distance <= size)


def peak_of(device: Device, kind: str) -> float:
    """The flops per second of a device at a rate of `Flops.by_type`.

    If the device does not list the rate, that of the nearest element type or of f32 is used; then
    the same for the name without its first word, such as "function-f32" for "scalar-function-f32";
    then the highest rate. It is 0.0 for a device without rates.
    """
    peaks = device.peak_flops
    *words, element = kind.split("-")
    near = _NEAREST.get(element, ("f8e4m3fn", "bf16") if element.startswith("f8") else ())
    for n in range(len(words) + 1):
        for each in (element, *near, "f32"):
            if (name := "-".join([*words[n:], each])) in peaks:
                return peaks[name]
    return max(peaks.values(), default=0.0)


@dataclass(frozen=True)
class Kernel:
    """One kernel that XLA launches.

    Attributes:
        name: of the HLO instruction.
        kind: of a fusion "loop", "input", "output", "library" or "custom"; else "dot",
            "convolution", "copy", "library", "call" (of an unknown target), "collective", "op".
        engine: the library or custom-call target, such as "__ynn_fusion",
            "__triton_nested_gemm_fusion", "__cudnn$convForward"; else empty.
        times: the number of launches in one run of the program.
        assumed: whether it is in a loop of unknown trip count, which is taken to be 1.
        branch: the branch of a conditional that it is in, or empty.
        ops: its ops by StableHLO's names, with counts.
        op_name: the path of the traced op that XLA named it after.
        flops: of one run.
        traffic: bytes read and written in one run.
        accesses: those to main memory, each with its reuse distance.
        cycles: the compiler's own estimate of one run, where it makes one.
        is_launched: False inside a small loop, which XLA:CPU compiles into one kernel.
        instruction: in the module.
    """

    name: str
    kind: str
    engine: str
    times: float
    assumed: bool
    branch: str
    ops: Mapping[str, int]
    op_name: str
    flops: Flops
    traffic: Traffic
    accesses: tuple[Access, ...]
    cycles: int | None
    is_launched: bool
    instruction: Instruction

    @cached_property
    def lines(self) -> tuple[SourceLine, ...]:
        """Its lines of Python, those with the most work first."""
        return _lines(self.instruction, counted_ops(self.instruction))

    @property
    def is_asynchronous(self) -> bool:
        """Whether it runs at the same time as the kernels after it."""
        return self.instruction.opcode.endswith("-start")

    def roofline(self, device: Device) -> Roofline:
        """The least time of one run on a device."""
        return roofline(self.flops.by_type, self.accesses, device, is_launched=self.is_launched)

    def compiler_seconds(self, device: Device) -> float | None:
        """The compiler's own estimate of one run; None without one, or without a clock."""
        if self.cycles is None or not device.clock_hz:
            return None
        return self.cycles / device.clock_hz

    def estimate(self, device: Device) -> float:
        """The seconds of one run: the compiler's estimate, or else the roofline."""
        seconds = self.compiler_seconds(device)
        return self.roofline(device).seconds if seconds is None else seconds

    def as_json(self, device: Device) -> dict[str, Any]:
        """As an object for `--json`, with times for a device."""
        return {
            "name": self.name,
            "kind": self.kind,
            "engine": self.engine,
            "times": self.times,
            "assumed_trip_count": self.assumed,
            "branch": self.branch,
            "asynchronous": self.is_asynchronous,
            "ops": dict(self.ops),
            "lines": [{"file": place.file, "line": place.line} for place in self.lines],
            "op_name": self.op_name,
            "flops": self.flops.total,
            "transcendentals": self.flops.transcendentals,
            "unknown_flops": dict(self.flops.unknown),
            "bytes_in": self.traffic.read,
            "bytes_out": self.traffic.written,
            "main_memory_bytes": self.traffic.main,
            "estimated_cycles": self.cycles,
            "roofline": self.roofline(device).as_json(),
            "compiler_seconds": self.compiler_seconds(device),
        }


def least_seconds(kernels: Sequence[Kernel], device: Device) -> float:
    """The least time of a run of the program on a device, by the rooflines of its kernels.

    Kernels run one after the other, asynchronous ones at the same time as these. All together take
    no less than their traffic takes at the bandwidth of main memory.
    """
    serial = overlapped = moved = 0.0
    for kernel in kernels:
        seconds = kernel.roofline(device).seconds * kernel.times
        if kernel.is_asynchronous:
            overlapped = max(overlapped, seconds)
        else:
            serial += seconds
        moved += (kernel.traffic.main - cached_bytes(kernel.accesses, device)) * kernel.times
    return max(serial, overlapped, moved / device.bandwidth if device.bandwidth else 0.0)


def kernels_of(module: Module) -> list[Kernel]:
    """The kernels that a program launches, each once, in order of the schedule."""
    runs = executed(module)
    return [kernel_of(*each) for each in zip(runs, accesses_of(runs), strict=True)]


def kernel_of(run: Executed, accesses: tuple[Access, ...]) -> Kernel:
    """The kernel of an instruction that runs, with its accesses to main memory."""
    instruction = run.instruction
    cycles = _CYCLES.search(instruction.attributes.get("backend_config", ""))
    return Kernel(
        name=instruction.name,
        kind=kind_of(instruction),
        engine=_engine(instruction),
        times=run.times,
        assumed=run.assumed,
        branch=run.branch,
        ops=dict(Counter(map(stablehlo_name, counted_ops(instruction)))),
        op_name=instruction.op_name,
        flops=flops_of(instruction),
        traffic=traffic_of(instruction),
        accesses=accesses,
        cycles=int(cycles[1]) if cycles and int(cycles[1]) < _UNKNOWN_CYCLES else None,
        is_launched=not run.is_inlined,
        instruction=instruction,
    )


def kind_of(instruction: Instruction) -> str:
    """The kind of a kernel, see `Kernel.kind`."""
    opcode = instruction.base_opcode
    if opcode == "fusion":
        is_of_library = _OF_LIBRARIES.match(_engine(instruction))
        return "library" if is_of_library else _KINDS.get(instruction.attributes["kind"], "custom")
    if opcode == "custom-call":
        return "library" if is_library(instruction) else "call"
    if opcode in COLLECTIVES:
        return "collective"
    if opcode in ("dot", "convolution"):
        return opcode
    return "copy" if opcode in _MOVES else "op"


def _engine(instruction: Instruction) -> str:
    found = _ENGINE.search(instruction.attributes.get("backend_config", ""))
    return found[1] if found else instruction.target


def counted_ops(instruction: Instruction) -> list[Instruction]:
    """The ops of a kernel that would each be a kernel if nothing were fused.

    Ops that only rename values (bitcasts, reshapes, copies in the same layout) or broadcast a
    scalar are left out.
    """
    if instruction.fused is None:
        return [instruction]
    inside = list(inner_ops(instruction.fused))
    return [op for op in inside if _is_pass(op)] or inside[-1:]


def _is_pass(op: Instruction) -> bool:
    if is_free(op) or op.opcode == "reshape" or _is_scalar_broadcast(op):
        return False
    if op.opcode == "transpose":
        dims = [int(dim) for dim in re.findall(r"\d+", op.attributes["dimensions"])]
        return dims != sorted(dims)
    return op.opcode != "copy" or op.shape.layout != op.operands[0].shape.layout


def _is_scalar_broadcast(op: Instruction) -> bool:
    return op.opcode == "broadcast" and not op.operands[0].shape.dims


def _bytes_of(op: Instruction) -> int:
    """The bytes that an op of a fusion would read and write by itself."""
    reads = 0
    for operand, size in reads_of(op):
        is_scalar = _is_scalar_broadcast(operand)
        reads += operand.operands[0].shape.bytes if is_scalar else size
    return reads + traffic_of(op).written


def _lines(kernel: Instruction, ops: list[Instruction]) -> tuple[SourceLine, ...]:
    """The lines of Python in a kernel, those with the most bytes and flops first."""
    weights: Counter[tuple[str, int]] = Counter()
    places: dict[tuple[str, int], SourceLine] = {}
    for op in ops:
        if op.place is not None:
            line = (op.place.file, op.place.line)
            places.setdefault(line, op.place)
            weights[line] += _bytes_of(op) + flops_of(op).total
    if not weights and kernel.place is not None:
        return (kernel.place,)
    return tuple(places[line] for line, _ in weights.most_common())

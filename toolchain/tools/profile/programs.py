"""The kernels of a recorded program: their cost, and which lines and layers their time belongs to.

A fusion has ops of several lines. Its time is divided between them in proportion to the least time
that each op would need by itself, by the roofline; such parts are marked as estimated. A kernel
that XLA:CPU compiled out of a small loop or call is divided between its ops in the same way.

A costly op without metadata has the line of the op that XLA made it out of (`unlabelled.py`). Other
instructions without metadata are part of those around them that have none either, or else of the
only line that reads the same arguments. The rest has no line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...compiled.kernels import Kernel, counted_ops, kernel_of, kernels_of, peak_of
from ...errors import JxcError
from ...hlo import Computation, Instruction, Module, parse_hlo
from ...hlo.frames import Frames, read_frames
from ...hlo.work import Executed, accesses_of, flops_of, stablehlo_name, traffic_of
from .unlabelled import (
    NOWHERE,
    LoweredOps,
    Origin,
    arguments_of,
    has_source,
    lowered_ops,
    only_moves,
    origin_of,
)

if TYPE_CHECKING:
    from ...cost.device import Device

_CALLBACK = "callback"
_CONTROL = {"while", "conditional", "call", "async-start"}
_FAR = 16  # instructions without metadata that are followed to one with a known line
_TRANSFERS = {"infeed", "outfeed", "send", "recv"}


@dataclass(frozen=True)
class KernelCost:
    """What one run of a kernel does.

    Attributes:
        name: of the HLO instruction.
        kind: as in `report.kernels.Kernel`, or "callback", "transfer" or "control".
        what: its engine and ops, in a few words.
        flops: additions, multiplications, comparisons.
        bytes: read and written.
        least_seconds: by the roofline, without the launch; None if it is not known.
        parts: the share of each origin in its time; they add up to 1.
    """

    name: str
    kind: str
    what: str
    flops: float
    bytes: float
    least_seconds: float | None
    parts: tuple[tuple[Origin, float], ...]


class RecordedProgram:
    """A program of a trace, read from its optimized HLO.

    Args:
        name: such as "jit_step(4)".
        hlo: the text; empty if the trace has none.
        ops: the names of the kernels that ran.
        device: for the roofline.
        lowered: returns the module that was lowered, or None.
    """

    def __init__(
        self,
        name: str,
        hlo: str,
        ops: frozenset[str],
        device: Device,
        lowered: Callable[[], Any] = lambda: None,
    ) -> None:
        self.name, self.hlo = name, hlo
        self._ops, self._device, self._module_of = ops, device, lowered

    @cached_property
    def module(self) -> Module | None:
        """The optimized HLO; None if there is none, or it cannot be read."""
        try:
            return parse_hlo(self.hlo) if self.hlo else None
        except JxcError:
            return None

    @cached_property
    def _frames(self) -> Frames:
        return read_frames(self.hlo)

    @cached_property
    def _instructions(self) -> Mapping[str, Instruction]:
        module = self.module
        computations = module.computations.values() if module else ()
        return {each.name: each for part in computations for each in part.instructions}

    @cached_property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels that run, by the static model, by name."""
        return {each.name: each for each in kernels_of(self.module)} if self.module else {}

    @cached_property
    def _depths(self) -> Mapping[Computation, int]:
        """How many loops, branches and calls are around each computation."""
        depths: dict[Computation, int] = {}
        pending = [(self.module.entry, 0)] if self.module else []
        while pending:
            computation, depth = pending.pop()
            if depths.get(computation, -1) >= depth:
                continue
            depths[computation] = depth
            for each in computation.instructions:
                if each.opcode in _CONTROL:
                    pending += [(inner, depth + 1) for inner in each.called]
        return depths

    def depth_of_control(self, op: str) -> int | None:
        """The depth of a loop, branch or call whose kernels are recorded too; None for others."""
        instruction = self._instructions.get(op)
        if instruction is None or instruction.opcode not in _CONTROL:
            return None
        inside = (each.name for part in _reached(instruction) for each in part.instructions)
        if self._ops.isdisjoint(inside):
            return None
        return self._depths.get(instruction.computation, 0)

    def is_repeated(self, op: str) -> bool:
        """Whether a kernel may run more than once in a run: it is in a loop, branch or call."""
        instruction = self._instructions.get(op)
        return instruction is None or self._depths.get(instruction.computation, 1) > 0

    def cost_of(self, op: str) -> KernelCost:
        """The cost of a kernel by the name of its instruction."""
        instruction = self._instructions.get(op)
        if instruction is None:
            is_copy = op.startswith(("Memcpy", "Memset"))
            return KernelCost(op, "copy" if is_copy else "op", op, 0, 0, None, _UNKNOWN)
        if instruction.opcode in _CONTROL:
            return self._control(instruction)
        if instruction.opcode == "custom-call" and _CALLBACK in instruction.target:
            origins = ((self._origin(instruction), 1.0),)
            return KernelCost(op, "callback", "callback", 0, 0, None, origins)
        return self._kernel(instruction)

    def _kernel(self, instruction: Instruction) -> KernelCost:
        kernel = self.kernels.get(instruction.name)
        if kernel is None:  # in a branch that the static model does not count
            run = Executed(instruction, 1.0)
            kernel = kernel_of(run, accesses_of([run])[0])
        roof = kernel.roofline(self._device)
        kind = "transfer" if instruction.base_opcode in _TRANSFERS else kernel.kind
        return KernelCost(
            kernel.name,
            kind,
            _what(kernel),
            kernel.flops.total,
            kernel.traffic.read + kernel.traffic.written,
            None if kernel.flops.unknown else roof.work_seconds or None,
            self._parts(instruction, counted_ops(instruction)),
        )

    def _control(self, instruction: Instruction) -> KernelCost:
        """A loop or call: its own overhead if its kernels are recorded, else all that is inside."""
        name, opcode = instruction.name, instruction.opcode
        if self.depth_of_control(name) is not None:
            origins = ((self._origin(instruction), 1.0),)
            return KernelCost(
                name, "control", f"{opcode}: between its kernels", 0, 0, None, origins
            )
        reached = set(_reached(instruction))
        inner = [k for k in self.kernels.values() if k.instruction.computation in reached]
        around = [
            k.times
            for k in self.kernels.values()
            if k.instruction.computation is instruction.computation
        ]
        times = around[0] if around else 1.0
        ops = [op for kernel in inner for op in counted_ops(kernel.instruction)]
        return KernelCost(
            name,
            opcode,
            f"{opcode}: {_names(Counter(o for k in inner for o in k.ops))}",
            sum(k.flops.total * k.times for k in inner) / times,
            sum((k.traffic.read + k.traffic.written) * k.times for k in inner) / times,
            sum(k.roofline(self._device).work_seconds * k.times for k in inner) / times,
            self._parts(instruction, ops),
        )

    def _parts(
        self, instruction: Instruction, ops: Sequence[Instruction]
    ) -> tuple[tuple[Origin, float], ...]:
        weights: Counter[Origin] = Counter()
        for op in ops:
            if op.place is not None or has_source(op):
                origin = self._origin(op, instruction)
                weights[origin] += self._weight(op)  # type: ignore[assignment]
        total = sum(weights.values())
        if not total:
            return ((self._origin(instruction), 1.0),)
        return tuple((origin, weight / total) for origin, weight in weights.most_common())

    def _weight(self, op: Instruction) -> float:
        """The least seconds of an op by itself; never 0, so that each line has a part."""
        peaks = ((n, peak_of(self._device, kind)) for kind, n in flops_of(op).by_type.items())
        compute = sum(amount / peak for amount, peak in peaks if peak)
        moved = traffic_of(op).total / (self._device.cache_bandwidth or self._device.bandwidth or 1)
        return max(compute, moved, 1e-12)

    def _origin(self, op: Instruction, kernel: Instruction | None = None) -> Origin:
        """The origin of an instruction, which may be in a fusion: the kernel."""
        if op.place is not None:
            stack = self._frames.stack_of(op.attributes.get("metadata", ""))
            return origin_of(stack, op.op_name)._replace(line=op.place)
        kernel = kernel or op
        return self._source(op, kernel) or self._part_of_others(kernel, frozenset()) or NOWHERE

    @cached_property
    def _lowered(self) -> LoweredOps | None:
        return lowered_ops(self._module_of)

    @cached_property
    def _named(self) -> frozenset[tuple[str, str]]:
        ops = self._instructions.values()
        return frozenset((stablehlo_name(each), each.op_name) for each in ops if each.op_name)

    def _source(self, op: Instruction, kernel: Instruction) -> Origin | None:
        """The origin of the op that XLA made a costly instruction out of."""
        if op.fused is not None:
            op = next(filter(has_source, counted_ops(op)), op)
        if self._lowered is None or not has_source(op):
            return None
        return self._lowered.source_of(op, arguments_of(kernel), self._named)

    def _part_of_others(self, op: Instruction, passed: frozenset[Instruction]) -> Origin | None:
        """The origin of the instructions around one without metadata, if they have none either."""
        if self._lowered is None or len(passed) > _FAR:
            return None
        operands = [each for each in op.operands if each.opcode not in ("parameter", "constant")]
        for around in (operands, op.users):
            if around and all(each.place is None and each not in passed for each in around):
                origins = {
                    self._source(each, each) or self._part_of_others(each, passed | {op})
                    for each in around
                }
                if len(origins) == 1 and None not in origins:
                    return origins.pop()
        if operands or not only_moves(op):
            return None
        readers = {self._lowered.only_reader(each) for each in arguments_of(op)}
        return readers.pop() if len(readers) == 1 else None


_UNKNOWN = ((NOWHERE, 1.0),)


def _reached(instruction: Instruction) -> Iterator[Computation]:
    """The computations that an instruction runs, through loops, branches and calls."""
    for computation in instruction.called:
        yield computation
        for each in computation.instructions:
            if each.opcode in _CONTROL:
                yield from _reached(each)


def _what(kernel: Kernel) -> str:
    return f"{kernel.engine or kernel.kind}: {_names(kernel.ops)}"


def _names(ops: Mapping[str, int]) -> str:
    ranked = sorted(ops.items(), key=lambda each: -each[1])
    named = [f"{name} {count}" if count > 1 else name for name, count in ranked]
    return " ".join(named[:4]) + (f" +{len(named) - 4}" if len(named) > 4 else "")

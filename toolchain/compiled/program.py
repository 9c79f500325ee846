"""A program compiled for a target, and its measurements.

`compile_module` compiles in a process of its own (`backend.targets`) and keeps the result as a
`Compiled`. Its properties read memory, kernels, collectives and totals from the optimized HLO and
XLA's dumps on first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jaxlib.mlir import ir

from ..backend.lowered import Lowered
from ..backend.targets import Target
from ..backend.targets.build import Build, BuildError, RunningBuild, start_build
from ..cost.cpu import MAPPED
from ..cost.network import Fabric
from ..cost.rates import rates_of
from ..cost.roofline import FIRST_TOUCH
from ..hlo import Module, parse_hlo
from ..hlo.work import Executed, Totals, executed, totals_of
from ..ir import count_ops
from ..ir.shardings import meshes_of
from ..pipeline import PipelineLike
from ..units import counted, show_bytes, show_count, show_seconds
from .collectives import Collective, collectives_of, groups_along
from .fit import Fit, fits, parse_out_of_memory
from .host_copies import host_copies_of
from .kernels import Kernel, kernels_of, least_seconds
from .memory import Memory, measure_memory
from .mesh_shapes import MeshShape, fitting_shapes, mesh_shapes
from .replicated import MIN_SPLIT_BYTES, Replicated, Split, global_arguments, replicated_arguments
from .schedule import Step, fabric_of, step_of
from .scratch import scratch_bytes


@dataclass(frozen=True, repr=False)
class Compiled:
    """A compiled program and its measurements.

    Attributes:
        ops: the number of StableHLO ops.
        build: the compiler's output.
        mesh: axes and their sizes, in order; empty for one device.
        global_arguments: the name and the bytes of each argument, before it is split.
        other_meshes: other shapes of the mesh that fit the arguments.
    """

    ops: int
    build: Build
    mesh: Mapping[str, int]
    global_arguments: Sequence[tuple[str, int]] = field(repr=False)
    other_meshes: Sequence[Mapping[str, int]] = field(repr=False, default=())

    @cached_property
    def module(self) -> Module:
        """The optimized HLO."""
        return parse_hlo(self.build.hlo)

    @cached_property
    def memory(self) -> Memory:
        """The memory that one device needs."""
        made = self.build
        texts = (made.buffer_assignment, made.live_ranges)
        return measure_memory(*texts, made.memory, self.module, made.target.kind)

    @cached_property
    def fit(self) -> Fit:
        """Whether the program fits into a device's memory."""
        return fits(self.memory, self.build.target.device, scratch=self.scratch_bytes)

    @cached_property
    def scratch_bytes(self) -> int:
        """The bytes that the libraries of XLA:CPU take besides; 0 for other targets."""
        if self.build.target.kind != "cpu":
            return 0
        return scratch_bytes(each.instruction for each in self.executed)

    @cached_property
    def rematerialized(self) -> int:
        """How many instructions compute values again, which the compiler added to save memory.

        XLA's rematerialization names them so: "fusion.7.remat2".
        """
        return sum(".remat" in each.instruction.name for each in self.executed)

    @cached_property
    def executed(self) -> list[Executed]:
        """The instructions that run, and how often each does."""
        return executed(self.module)

    @cached_property
    def totals(self) -> Totals:
        """Flops and bytes of one device's share."""
        return totals_of(self.executed)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, in order of the schedule."""
        return tuple(kernels_of(self.module))

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """The communication between devices."""
        return tuple(collectives_of(self.module, self.mesh, self.executed))

    @cached_property
    def replicated(self) -> tuple[Replicated, ...]:
        """Arguments of which every device holds the whole."""
        return tuple(replicated_arguments(self.module, self.global_arguments))

    @cached_property
    def splittable(self) -> tuple[tuple[Replicated, Split], ...]:
        """The replicated arguments of `MIN_SPLIT_BYTES` or more, and how each could be split."""
        large = (each for each in self.replicated if each.bytes >= MIN_SPLIT_BYTES)
        found = ((each, each.split(self.mesh)) for each in large)
        return tuple((each, split) for each, split in found if split)

    @cached_property
    def fabric(self) -> Fabric | None:
        """The network between the devices; None if it is not known."""
        devices = self.module.num_partitions * self.module.num_replicas
        return fabric_of(self.build.target, self.build.places, devices)

    @cached_property
    def gathering_seconds(self) -> float | None:
        """The time to gather the arguments in `splittable` once; None if it is not known."""
        prices = [
            self.fabric.price("all-gather", each.bytes, groups_along(split.axes, self.mesh))
            for each, split in self.splittable
            if self.fabric
        ]
        known = [price.seconds for price in prices if price]
        return sum(known) if known and len(known) == len(self.splittable) else None

    @cached_property
    def mesh_shapes(self) -> tuple[MeshShape, ...]:
        """Other shapes of the mesh whose collectives are estimated to take less time."""
        if self.fabric is None or not self.other_meshes:
            return ()
        given = self.collectives, self.mesh, self.other_meshes, self.fabric, self.build.orders
        return tuple(mesh_shapes(*given))

    @cached_property
    def step(self) -> Step:
        """The time of a run, with and without communication and copies to and from the host."""
        fabric = self.fabric if self.collectives else None
        copies = host_copies_of(self.module, self.executed)
        return step_of(self.kernels, self.collectives, fabric, self.build.target.device, copies)

    @cached_property
    def mapping_seconds(self) -> float:
        """The time in which a CPU's system maps pages for large arrays; 0 for other targets.

        The C library returns the memory of such an array when it is freed, so each run pays.
        """
        if self.build.target.kind != "cpu":
            return 0.0
        results = (b for b in self.memory.buffers if b.kind == "output" and not b.is_donated)
        arrays = [self.memory.temporaries, *(each.bytes for each in results)]
        mapped = sum(size for size in arrays if size >= MAPPED)
        return 1e-9 * rates_of("cpu")[FIRST_TOUCH] * mapped

    @property
    def roofline_seconds(self) -> float:
        """The least time of a run by the roofline, see `least_seconds`.

        Collectives count as long as the device waits for them, or where the network is not known
        as their traffic with memory.
        """
        device = self.build.target.device
        if not (self.collectives and self.step.is_priced):
            return least_seconds(self.kernels, device)
        rest = [kernel for kernel in self.kernels if kernel.kind != "collective"]
        return least_seconds(rest, device) + self.step.exposed_seconds

    @property
    def estimated_seconds(self) -> float | None:
        """The time of a run by the compiler's own estimate; None if it makes none."""
        device = self.build.target.device
        found = [(kernel.compiler_seconds(device), kernel.times) for kernel in self.kernels]
        known = [seconds * times for seconds, times in found if seconds is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float:
        """The time of a run: the compiler's estimate, or else the roofline."""
        estimated = self.estimated_seconds
        return self.roofline_seconds if estimated is None else estimated

    def __repr__(self) -> str:
        kernels = counted(round(self.totals.launches), "kernel")
        flops, size = show_count(self.totals.flops), show_bytes(self.memory.peak)
        return (
            f"Compiled({self.build.target.name}: {kernels}, {flops} flops, {size} at the peak, "
            f"{show_seconds(self.seconds)})"
        )

    def as_json(self) -> dict[str, Any]:
        """All measurements, in bytes, seconds and flops."""
        return {
            "ops": self.ops,
            "xla_seconds": self.build.seconds,
            "memory": self.memory.as_json(),
            "scratch_bytes": self.scratch_bytes,
            "fit": self.fit.as_json(),
            "totals": self.totals.as_json(),
            "roofline_seconds": self.roofline_seconds,
            "estimated_seconds": self.estimated_seconds,
            "xla_cost": dict(self.build.cost) if self.build.cost else None,
            "kernels": [kernel.as_json(self.build.target.device) for kernel in self.kernels],
            "collectives": [each.as_json() for each in self.step.communication],
            "communication": self.step.as_json() if self.collectives else None,
            "mesh_shapes": [each.as_json() for each in self.mesh_shapes],
            "replicated": [
                {**each.as_json(), "split": str(each.split(self.mesh) or "") or None}
                for each in self.replicated
            ],
        }


@dataclass(frozen=True)
class Refused:
    """A program that the compiler refused.

    Attributes:
        ops: the number of StableHLO ops.
        message: the compiler's.
        fit: the verdict on memory; None if the compiler refused for another reason.
    """

    ops: int
    message: str
    fit: Fit | None

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        fit = self.fit.as_json() if self.fit else None
        return {"ops": self.ops, "refused": self.message, "fit": fit}


def compile_module(
    module: ir.Module,
    target: Target,
    options: Mapping[str, Any],
    mesh: Mapping[str, int] | None = None,
) -> Compiled | Refused:
    """Compile a module without running passes; the result, or the compiler's refusal.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the module is for more devices than the target has.
    """
    with start_compilation(module, target, options, mesh) as running:
        return running.result()


@dataclass(frozen=True)
class RunningCompilation:
    """A compilation in a process of its own, which ends when its context is left.

    Attributes:
        ops: the number of StableHLO ops.
        mesh, arguments, shapes: as of `Compiled`.
        build: the process.
    """

    ops: int
    mesh: Mapping[str, int]
    arguments: Sequence[tuple[str, int]]
    shapes: Sequence[Mapping[str, int]]
    build: RunningBuild

    def __enter__(self) -> RunningCompilation:
        return self

    def __exit__(self, *given: object) -> None:
        self.build.__exit__(*given)

    @property
    def is_done(self) -> bool:
        """Whether the compiler has ended."""
        return self.build.is_done

    def result(self) -> Compiled | Refused:
        """Wait for the compiler."""
        try:
            made = self.build.result()
        except BuildError as error:
            return Refused(self.ops, error.compiler_message, _fit_of(error))
        return Compiled(self.ops, made, self.mesh, self.arguments, self.shapes)


def start_compilation(
    module: ir.Module,
    target: Target,
    options: Mapping[str, Any],
    mesh: Mapping[str, int] | None = None,
) -> RunningCompilation:
    """Start what `compile_module` does, whose errors these are."""
    mesh = mesh or next(iter(meshes_of(module).values()), {})
    shapes = fitting_shapes(module, mesh)
    running = start_build(module, target, xla_options=options, mesh=mesh, other_meshes=shapes)
    return RunningCompilation(count_ops(module), mesh, global_arguments(module), shapes, running)


def compile_lowered(lowered: Lowered, target: Target, pipeline: PipelineLike) -> Compiled | Refused:
    """Compile a lowered program for a target, after the passes of `pipeline`.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the program cannot be lowered for the target, or a pass fails.
    """
    is_same = lowered.platform == target.platform
    here = lowered if is_same else lowered.for_target(target.name)
    made = here.opt(pipeline, target=target.name)
    return compile_module(made.module, target, {}, lowered.mesh)


def read_optimised(hlo: str, target: Target) -> Compiled:
    """The measurements of optimized HLO alone: without memory and the compiler's own numbers."""
    return Compiled(0, Build(target, hlo, "", "", "", {}, None, 0.0, None), {}, [])


def _fit_of(error: BuildError) -> Fit | None:
    """The verdict on memory in a refusal, with the buffers if the compiler dumped them."""
    refused = parse_out_of_memory(error.compiler_message)
    if refused is None or not (error.hlo and error.buffer_assignment):
        return refused
    texts = (error.buffer_assignment, error.live_ranges)
    memory = measure_memory(*texts, None, parse_hlo(error.hlo), error.target.kind)
    return fits(memory, error.target.device, refused)

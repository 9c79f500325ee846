"""What the compiler of a target makes of a program: before our passes, and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target, find_target
from ...backend.targets.build import Build, BuildError, build
from ...errors import JxcError
from ...hlo import Module, parse_hlo
from ...hlo.work import Executed, Totals, executed, totals_of
from ...ir import count_ops, write_bytecode
from ...ir.shardings import meshes_of
from ...pipeline import PipelineLike
from .collectives import (
    Collective,
    Replicated,
    collectives_of,
    global_arguments,
    replicated_arrays,
)
from .fit import Fit, fits, parse_out_of_memory
from .kernels import Kernel, kernels_of, least_seconds
from .memory import Memory, measure_memory
from .neighbours import Neighbours, unfused_neighbours


@dataclass(frozen=True)
class Compiled:
    """A module as a compiler made it, and what can be read from that.

    Attributes:
        ops: of the StableHLO module.
        build: what came back from the compiler.
        mesh: axes and their sizes, in order; empty for one device.
        global_arguments: the name and the bytes of each argument, before it is split.
    """

    ops: int
    build: Build
    mesh: Mapping[str, int]
    global_arguments: Sequence[tuple[str, int]] = field(repr=False)

    @cached_property
    def module(self) -> Module:
        """The optimised HLO."""
        return parse_hlo(self.build.hlo)

    @cached_property
    def memory(self) -> Memory:
        """What one device needs."""
        found = self.build
        kind = found.target.kind
        texts = (found.buffer_assignment, found.live_ranges)
        return measure_memory(*texts, found.memory, self.module, kind)

    @cached_property
    def fit(self) -> Fit:
        """Whether a device has that much."""
        return fits(self.memory, self.build.target.device)

    @cached_property
    def executed(self) -> list[Executed]:
        """What runs, and how often."""
        return executed(self.module)

    @cached_property
    def totals(self) -> Totals:
        """Flops and bytes of one device's share."""
        return totals_of(self.executed)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """What is launched, in order of the schedule."""
        return tuple(kernels_of(self.module))

    @cached_property
    def neighbours(self) -> tuple[Neighbours, ...]:
        """Kernels between which a value goes through memory."""
        before = parse_hlo(self.build.hlo_before) if self.build.hlo_before else None
        return tuple(unfused_neighbours(self.module, before))

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """What devices tell each other."""
        return tuple(collectives_of(self.module, self.mesh, self.executed))

    @cached_property
    def replicated(self) -> tuple[Replicated, ...]:
        """Arguments that every device holds whole."""
        return tuple(replicated_arrays(self.module, self.global_arguments))

    @property
    def roofline_seconds(self) -> float:
        """The least time that all kernels take, by the device's figures."""
        return least_seconds(self.kernels, self.build.target.device)

    @property
    def estimated_seconds(self) -> float | None:
        """The compiler's own estimate; None where it makes none."""
        device = self.build.target.device
        found = [(kernel.compiler_seconds(device), kernel.times) for kernel in self.kernels]
        known = [seconds * times for seconds, times in found if seconds is not None]
        return sum(known) if known else None

    def as_json(self) -> dict[str, Any]:
        """Every figure, in bytes, seconds and flops."""
        return {
            "ops": self.ops,
            "xla_seconds": self.build.seconds,
            "memory": self.memory.as_json(),
            "fit": self.fit.as_json(),
            "totals": self.totals.as_json(),
            "roofline_seconds": self.roofline_seconds,
            "estimated_seconds": self.estimated_seconds,
            "xla_cost": dict(self.build.cost) if self.build.cost else None,
            "kernels": [kernel.as_json(self.build.target.device) for kernel in self.kernels],
            "neighbours": [each.as_json() for each in self.neighbours],
            "collectives": [each.as_json() for each in self.collectives],
            "replicated": [each.as_json() for each in self.replicated],
        }


@dataclass(frozen=True)
class Refused:
    """A module that the compiler did not take.

    Attributes:
        ops: of the StableHLO module.
        message: what the compiler said.
        fit: what it said of memory; None where it was about something else.
    """

    ops: int
    message: str
    fit: Fit | None

    def as_json(self) -> dict[str, Any]:
        """What it said."""
        fit = self.fit.as_json() if self.fit else None
        return {"ops": self.ops, "refused": self.message, "fit": fit}


@dataclass(frozen=True)
class Report:
    """A program on one target.

    Attributes:
        target: what it was compiled for.
        plain: without our passes; None where that was not asked for.
        optimised: with them.
        rules: how often each rule applied.
        seconds: by stage: "trace", "lower", "passes"; XLA's are with what it made.
        program: the module before any pass; None where it cannot be lowered for this target.
    """

    target: Target
    plain: Compiled | Refused | None
    optimised: Compiled | Refused
    rules: Mapping[str, int]
    seconds: Mapping[str, float]
    program: ir.Module | None = field(default=None, repr=False)

    @property
    def fit(self) -> Fit | None:
        """Whether it fits, after our passes."""
        return self.optimised.fit

    def as_json(self) -> dict[str, Any]:
        """All of it, as an object."""
        return {
            "target": self.target.name,
            "device": {
                "name": self.target.device.name,
                "memory_bytes": self.target.device.memory_bytes,
                "bandwidth_bytes_per_second": self.target.device.bandwidth,
                "peak_flops": dict(self.target.device.peak_flops),
                "source": self.target.device.source,
            },
            "seconds": dict(self.seconds),
            "rules": dict(self.rules),
            "before": self.plain.as_json() if self.plain else None,
            "after": self.optimised.as_json(),
        }


def report(
    lowered: Lowered,
    target: Target | str,
    pipeline: PipelineLike = "O2",
    *,
    assume: str | Sequence[str] = (),
    with_plain: bool = True,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Compile a program for a target, and read what the compiler made of it.

    Args:
        lowered: the program before any pass.
        target: what for, such as "tpu:v5e:2x2".
        pipeline: the passes to run.
        assume: promises such as "no-nans".
        with_plain: whether to compile it without the passes too.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass of the user's on HLO, run with ours.
        progress: told what is being done.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: a pass fails.
    """
    if isinstance(target, str):
        target = find_target(target)
    plain = lowered
    if lowered.platform != target.platform:
        progress(f"lowering for {target.name}")
        try:
            plain = lowered.for_target(target.name)
        except JxcError as error:  # this target's alone: others may do
            return Report(target, None, Refused(0, str(error), None), {}, lowered.seconds)
    start = perf_counter()
    optimised = plain.opt(pipeline, target=target.name, assume=assume)
    seconds = {**lowered.seconds, **plain.seconds, "passes": perf_counter() - start}
    options, axes = dict(xla_options or {}), lowered.mesh
    before = None
    if with_plain:
        progress(f"compiling for {target.name}, without passes")
        before = compile_module(plain.module, target, options, axes)
    if before and not hlo_pass and _is_same(plain.module, optimised.module):
        after = before
    else:
        progress(f"compiling for {target.name}")
        after = compile_module(optimised.module, target, options, axes, hlo_pass)
    rules = optimised.report.hits if optimised.report else {}
    return Report(target, before, after, rules, seconds, plain.module)


def compile_module(
    module: ir.Module,
    target: Target,
    options: Mapping[str, Any],
    mesh: Mapping[str, int] | None = None,
    hlo_pass: str | None = None,
) -> Compiled | Refused:
    """Compile a module as it stands: what the compiler made of it, or why it refused.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the module is for more devices than the target has.
    """
    ops = count_ops(module)
    try:
        made = build(module, target, xla_options=options, hlo_pass=hlo_pass)
    except BuildError as error:
        return Refused(ops, error.compiler_message, _fit_of(error))
    meshes = list(meshes_of(module).values())
    return Compiled(ops, made, mesh or (meshes[0] if meshes else {}), global_arguments(module))


def read_optimised(hlo: str, target: Target) -> Compiled:
    """What can be read from an optimised module alone: nothing of memory, or of the compiler."""
    made = Build(target, hlo, "", "", "", {}, None, 0.0, None)
    return Compiled(0, made, {}, [])


def _fit_of(error: BuildError) -> Fit | None:
    """What a refusal says of memory, with the buffers where the compiler wrote them down."""
    refused = parse_out_of_memory(error.compiler_message)
    if refused is None or not (error.hlo and error.buffer_assignment):
        return refused
    texts = (error.buffer_assignment, error.live_ranges)
    memory = measure_memory(*texts, None, parse_hlo(error.hlo), error.target.kind)
    return fits(memory, error.target.device, refused)


def _is_same(one: ir.Module, other: ir.Module) -> bool:
    return write_bytecode(one) == write_bytecode(other)

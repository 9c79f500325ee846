"""Reports on compiled programs: what a compiler makes of a program, with and without our passes.

`report` lowers a program for its target, compiles it in a process of its own (`backend.targets`),
and keeps what came back as a `Compiled`. Its properties read memory, kernels, collectives and
totals from the optimized HLO and XLA's dumps when they are first asked for. `table` prints it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ...backend.lowered import Lowered, lower
from ...backend.targets import Target, find_target
from ...backend.targets.build import Build, BuildError, build
from ...errors import JxcError, UsageError
from ...hlo import Module, parse_hlo
from ...hlo.work import Executed, Totals, executed, totals_of
from ...ir import count_ops, write_bytecode
from ...ir.shardings import meshes_of
from ...pipeline import PipelineLike
from ...units import show_bytes, show_count, show_seconds
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


@dataclass(frozen=True, repr=False)
class Compiled:
    """A program as a compiler compiled it, and its measurements.

    Attributes:
        ops: how many the StableHLO module has.
        build: the compiler's output.
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
        """The memory that one device needs."""
        found = self.build
        kind = found.target.kind
        texts = (found.buffer_assignment, found.live_ranges)
        return measure_memory(*texts, found.memory, self.module, kind)

    @cached_property
    def fit(self) -> Fit:
        """Whether the program fits into a device's memory."""
        return fits(self.memory, self.build.target.device)

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
    def neighbours(self) -> tuple[Neighbours, ...]:
        """Pairs of kernels with a value between them in memory."""
        before = parse_hlo(self.build.hlo_before) if self.build.hlo_before else None
        return tuple(unfused_neighbours(self.module, before))

    @cached_property
    def collectives(self) -> tuple[Collective, ...]:
        """The communication between devices."""
        return tuple(collectives_of(self.module, self.mesh, self.executed))

    @cached_property
    def replicated(self) -> tuple[Replicated, ...]:
        """Arguments of which every device holds the whole."""
        return tuple(replicated_arrays(self.module, self.global_arguments))

    @property
    def roofline_seconds(self) -> float:
        """The least time of a run by the roofline, see `least_seconds`."""
        return least_seconds(self.kernels, self.build.target.device)

    @property
    def estimated_seconds(self) -> float | None:
        """The time of a run by the compiler's own estimate; None where it makes none."""
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
        kernels = f"{self.totals.launches:.0f} kernel{'s' * (self.totals.launches != 1)}"
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
    """A program that the compiler refused.

    Attributes:
        ops: how many the StableHLO module has.
        message: the compiler's.
        fit: its verdict on memory; None where it refused for another reason.
    """

    ops: int
    message: str
    fit: Fit | None

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        fit = self.fit.as_json() if self.fit else None
        return {"ops": self.ops, "refused": self.message, "fit": fit}


@dataclass(frozen=True, repr=False)
class Report:
    """A program on one target; `print` gives the tables of the command line.

    Attributes:
        target: what it was compiled for.
        plain: compiled without our passes; None where that was not wanted.
        optimised: compiled with them.
        rules: how often each rule was applied.
        seconds: by stage: "trace", "lower", "passes"; XLA's are in `plain` and `optimised`.
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
        """Whether it fits into a device's memory, after our passes."""
        return self.optimised.fit

    def __repr__(self) -> str:
        if isinstance(self.optimised, Refused):
            return f"Report({self.target.name}: refused, {self.optimised.message.splitlines()[0]})"
        before = f"{self.plain!r} -> " if isinstance(self.plain, Compiled) else ""
        return f"Report({before}{self.optimised!r})"

    def __str__(self) -> str:
        from .table import as_text

        return as_text([self], {}, whole=True)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
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
    program: Lowered | Callable[..., Any],
    /,
    *args: Any,
    target: Target | str | None = None,
    pipeline: PipelineLike = "O2",
    assume: str | Sequence[str] = (),
    with_plain: bool = True,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    **kwargs: Any,
) -> Report:
    """Compile a program for a target, and report its memory, kernels and collectives.

        jxc.report(step, "f32[8,128]", target="tpu:v5e:2x2")
        jxc.report(jxc.lower(step, x), "gpu:h100", "O2")

    Args:
        program: a function, what `jax.jit` made of one, or the result of `jxc.lower`.
        args, kwargs: of a function, as `jxc.lower` takes them; none for a lowered program, except
            that its target and pipeline may be given by position.
        target: the hardware, which need not be present: "cpu" (the default), "tpu:v5e:2x2".
        pipeline: the passes to run.
        assume: promises such as "no-nans".
        with_plain: whether to compile it without the passes too.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO, run with ours.
        progress: called with a description of each step.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the function cannot be lowered, or a pass fails.
    """
    if isinstance(program, Lowered):
        if len(args) > 2 or kwargs or (args and target is not None):
            raise UsageError(
                "report: a lowered program has its arguments; expected report(lowered, target, "
                "pipeline)"
            )
        if args:
            target = args[0]
        if len(args) == 2:
            pipeline = args[1]
        lowered = program
    elif callable(program):
        lowered = lower(program, *args, **kwargs)
    else:
        raise UsageError(
            "report: expected a function with its arguments, or what jxc.lower returns; found "
            f"{type(program).__name__}"
        )
    found = target if isinstance(target, Target) else find_target(target or "cpu")
    return _report(
        lowered, found, pipeline, assume, with_plain, dict(xla_options or {}), hlo_pass, progress
    )


def _report(
    lowered: Lowered,
    target: Target,
    pipeline: PipelineLike,
    assume: str | Sequence[str],
    with_plain: bool,
    options: Mapping[str, Any],
    hlo_pass: str | None,
    progress: Callable[[str], None],
) -> Report:
    plain = lowered
    if lowered.platform != target.platform:
        progress(f"lowering for {target.name}")
        try:
            plain = lowered.for_target(target.name)
        except JxcError as error:  # it may still be lowered for other targets
            return Report(target, None, Refused(0, str(error), None), {}, lowered.seconds)
    start = perf_counter()
    optimised = plain.opt(pipeline, target=target.name, assume=assume)
    seconds = {**lowered.seconds, **plain.seconds, "passes": perf_counter() - start}
    before = None
    if with_plain:
        progress(f"compiling for {target.name}, without passes")
        before = compile_module(plain.module, target, options, lowered.mesh)
    if before and not hlo_pass and _is_same(plain.module, optimised.module):
        after = before
    else:
        progress(f"compiling for {target.name}")
        after = compile_module(optimised.module, target, options, lowered.mesh, hlo_pass)
    rules = optimised.report.hits if optimised.report else {}
    return Report(target, before, after, rules, seconds, plain.module)


def compile_module(
    module: ir.Module,
    target: Target,
    options: Mapping[str, Any],
    mesh: Mapping[str, int] | None = None,
    hlo_pass: str | None = None,
) -> Compiled | Refused:
    """Compile a module without running passes; the result, or the compiler's refusal.

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
    """The measurements of optimized HLO alone: without memory and the compiler's own numbers."""
    made = Build(target, hlo, "", "", "", {}, None, 0.0, None)
    return Compiled(0, made, {}, [])


def _fit_of(error: BuildError) -> Fit | None:
    """The verdict on memory in a refusal, with the buffers where the compiler dumped them."""
    refused = parse_out_of_memory(error.compiler_message)
    if refused is None or not (error.hlo and error.buffer_assignment):
        return refused
    texts = (error.buffer_assignment, error.live_ranges)
    memory = measure_memory(*texts, None, parse_hlo(error.hlo), error.target.kind)
    return fits(memory, error.target.device, refused)


def _is_same(one: ir.Module, other: ir.Module) -> bool:
    return write_bytecode(one) == write_bytecode(other)

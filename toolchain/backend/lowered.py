"""The stages as values: a lowered program, and the executable that XLA makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
from jaxlib.mlir import ir

from ..errors import MissingTargetError, UsageError
from ..frontend.arguments import read_specs
from ..frontend.lowering import LoweredFunction, is_jitted
from ..frontend.lowering import lower as _lower
from ..frontend.request import LowerRequest, run_request
from ..ir import clone_module, write_bytecode, write_text
from ..ir.extra_results import EXTRA_RESULTS
from ..pipeline import Pipeline, PipelineLike, PipelineReport, make_pipeline, run_pipeline
from ..rewrite import PassContext, promises
from . import _private, hook
from .extra_results import reader_of
from .targets import Target, find_target
from .targets.build import Build, build

_MEMORY = ("argument", "output", "temp", "alias", "generated_code")


@dataclass(frozen=True)
class Origin:
    """What a `Lowered` came from: JAX's own values, and the module before any pass.

    Attributes:
        traced: JAX's `Traced`, or a stand-in's of the same signature; None where nothing is called.
        lowered: JAX's `Lowered`, which knows how to call what is compiled; None likewise.
        plain: the module before any pass; None for a function, which can be lowered again.
        lowering: of a function, which can; None for a module from a file.
    """

    traced: Any
    lowered: Any
    plain: ir.Module | None = None
    lowering: LoweredFunction | None = None

    def lowered_for(self, platform: str) -> Lowered:
        """The program before any pass, for another platform."""
        if self.lowering is None:
            assert self.plain is not None
            return Lowered(self.plain, "", None, platform, self)
        return _of_lowering(self.lowering.for_platform(platform), platform)


@dataclass(frozen=True)
class Lowered:
    """A Python function as a module, and what is needed to call it once it is compiled.

    Attributes:
        module: the module as it stands. Belongs to this value: do not change it.
        pipeline: the pipelines it went through, as text; empty for what JAX lowered.
        report: what the last pipeline did; None before one has run.
        platform: what it was lowered for, in JAX's words: "cpu", "cuda", "rocm" or "tpu".
        seconds: by stage, "trace" and "lower", where they are known.
        mesh: the axes of the mesh that it was lowered over, and their sizes; empty without one.
    """

    module: ir.Module
    pipeline: str
    report: PipelineReport | None
    platform: str
    _origin: Origin
    _ran: tuple[tuple[Pipeline, frozenset[str]], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    mesh: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def has_jaxpr(self) -> bool:
        """Whether it was traced: a module from a file was not."""
        return self._origin.plain is None

    @property
    def function(self) -> Callable[..., Any] | None:
        """The user's function that was traced; None for a module from a file."""
        return self._origin.lowering.function if self._origin.lowering else None

    @property
    def jax_lowered(self) -> Any:
        """JAX's own value, which knows how the program is called; None where nothing is called."""
        return self._origin.lowered

    @property
    def jaxpr(self) -> Any:
        """The jaxpr that JAX traced the function to."""
        return self._origin.traced.jaxpr

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What its executable takes: a `jax.ShapeDtypeStruct` for each positional argument leaf."""
        args, _ = self._origin.lowered.args_info
        return jax.tree.map(lambda info: jax.ShapeDtypeStruct(info.shape, info.dtype), args)

    def as_text(self, stage: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
            stage: "jaxpr", "stablehlo", or "hlo" for XLA's form before it optimises.
            debug_info: print locations; StableHLO only.
        """
        if stage == "jaxpr":
            return f"{self.jaxpr}\n"
        if stage == "hlo":
            return self._carrying().as_text("hlo")
        if stage != "stablehlo":
            raise UsageError(f"no stage {stage!r} of a lowered program: jaxpr, stablehlo or hlo")
        return write_text(self.module, debug_info=debug_info)

    def as_bytecode(self) -> bytes:
        """The module as MLIR bytecode."""
        return write_bytecode(self.module)

    def opt(
        self,
        pipeline: PipelineLike = "O2",
        *,
        target: str | None = None,
        assume: str | Sequence[str] = (),
    ) -> Lowered:
        """The program after a pipeline; this one stays as it is.

        Args:
            pipeline: a level, a textual pipeline, or passes and rules.
            target: the hardware that rules assume, such as "cpu", "gpu:h100" or "tpu:v5e:2x2";
                what the program was lowered for unless said.
            assume: promises such as "no-nans".

        Raises:
            JxcError: a name is unknown, or a pass failed.
        """
        kind = target.partition(":")[0] if target else hook.kind_of_platform(self.platform)
        return self._after(make_pipeline(pipeline), kind, promises(assume))

    def _after(self, steps: Pipeline, kind: str, assumptions: frozenset[str]) -> Lowered:
        module = clone_module(self.module)
        report = run_pipeline(module, steps, PassContext(kind, assumptions))
        ran = ",".join(filter(None, [self.pipeline, *map(str, steps.steps)]))
        history = (*self._ran, (steps, assumptions))
        return replace(self, module=module, pipeline=ran, report=report, _ran=history)

    def for_target(self, target: str) -> Lowered:
        """The program lowered for other hardware, and through the same pipelines again.

        A module from a file is taken as it is: what it was lowered for is settled there.

        Args:
            target: such as "gpu:h100" or "tpu:v5e:2x2".
        """
        found = find_target(target)
        lowered = self._origin.lowered_for(found.platform)
        for steps, assumptions in self._ran:
            lowered = lowered._after(steps, found.kind, assumptions)
        return lowered

    def compile(
        self, target: str | None = None, *, xla_options: Mapping[str, Any] | None = None
    ) -> Executable | CrossExecutable:
        """Hand the module to XLA.

        Args:
            target: the hardware, which need not be there: "gpu:h100", "tpu:v5e:2x2". The program is
                lowered again where it was lowered for other hardware. Unless said, the devices that
                it was lowered for.
            xla_options: XLA's options by name, such as {"xla_cpu_enable_fast_math": True}.

        Returns:
            What can be called, after a pass that adds results an `Instrumented`; for hardware that
            is not there, what can be looked at and saved.
        """
        options = dict(xla_options) if xla_options else None
        found = find_target(target) if target else None
        if found is None or (found.is_present and found.platform == jax.default_backend()):
            if EXTRA_RESULTS in self.module.operation.attributes:
                compile_ = reader_of(self.module, [pipeline for pipeline, _ in self._ran])
                return compile_(self, self.module, options)
            return Executable(self._carrying().compile(options), self)
        lowered = self if self.platform == found.platform else self.for_target(found.name)
        return CrossExecutable(build(lowered.module, found, xla_options=options), lowered)

    def _carrying(self) -> jax.stages.Lowered:
        return _private.with_module(self._origin.lowered, self.module)


@dataclass(frozen=True)
class Executable:
    """A compiled program: called with the function's own arguments, pytrees and all.

    Attributes:
        compiled: JAX's own object.
        lowered: what it was compiled from.
    """

    compiled: jax.stages.Compiled
    lowered: Lowered

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Static arguments are left out, as with `jax.jit(...).lower().compile()`."""
        return self.compiled(*args, **kwargs)

    def as_text(self, stage: str = "hlo") -> str:
        """The program as text: "hlo" after XLA optimised it, or a stage of `Lowered`."""
        return self._hlo if stage == "hlo" else self.lowered.as_text(stage)

    @cached_property
    def _hlo(self) -> str:
        return (self.compiled.as_text() or "").rstrip() + "\n"

    def cost(self) -> dict[str, float]:
        """XLA's own count: "flops", "bytes accessed" (bytes), "transcendentals", ..."""
        return dict(self.compiled.cost_analysis() or {})

    def memory(self) -> dict[str, int]:
        """XLA's own count, in bytes: arguments, outputs, temporaries, aliases, code."""
        analysis = self.compiled.memory_analysis()
        return {name: getattr(analysis, f"{name}_size_in_bytes", 0) for name in _MEMORY}


@dataclass(frozen=True)
class CrossExecutable:
    """A program compiled for hardware that is not here: it can be looked at and saved, not called.

    Attributes:
        build: what the compiler made.
        lowered: what it was compiled from.
    """

    build: Build
    lowered: Lowered

    @property
    def target(self) -> Target:
        """What it was compiled for."""
        return self.build.target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """It cannot be called here.

        Raises:
            MissingTargetError: always.
        """
        raise MissingTargetError(
            f"this program was compiled for {self.target.name}, which this machine does not have: "
            "call it there, or `.compile()` it for the devices that are here"
        )

    def as_text(self, stage: str = "hlo") -> str:
        """The program as text: "hlo" after XLA optimised it, or a stage of `Lowered`."""
        return self.build.hlo if stage == "hlo" else self.lowered.as_text(stage)

    def cost(self) -> dict[str, float]:
        """The count of `Executable.cost`, of one device: "flops", "bytes accessed", ...

        The compiler's own; where it makes none, as those of GPUs, ours of its optimised HLO, in
        which the body of a loop counts as often as it runs.
        """
        return dict(self.build.cost or self._counted)

    @cached_property
    def _counted(self) -> dict[str, float]:
        from ..cost.formulas import TRANSCENDENTAL  # which XLA counts beside the flops
        from ..hlo import parse_hlo
        from ..hlo.work import executed, totals_of

        totals = totals_of(executed(parse_hlo(self.build.hlo)))
        return {
            "flops": totals.flops - TRANSCENDENTAL * totals.transcendentals,
            "transcendentals": totals.transcendentals,
            "bytes accessed": totals.bytes_in + totals.bytes_out,
        }

    def memory(self) -> dict[str, int]:
        """The compiler's own count, in bytes of one device, by the names of `Executable.memory`."""
        return {name: self.build.memory.get(f"{name}_size_in_bytes", 0) for name in _MEMORY}


def lower(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Lowered:
    """Trace and lower a function, or what `jax.jit` made of one.

    Args:
        fn: the function; pass `jax.jit(fn, static_argnames=...)` for static arguments, donation or
            shardings.
        args: arrays, `jax.ShapeDtypeStruct`s, specs of arrays as the command line takes them
            ("f32[8,128]", "key<fry>[]", "@x.npy"), or pytrees of these.
        kwargs: the same, by name.

    Raises:
        JxcError: the function cannot be traced with these arguments, or a string is no spec; the
            message names the user's line and the remedy.
    """
    args, kwargs = read_specs(args, kwargs, takes_strings=is_jitted(fn))
    with hook.context(None):  # what is lowered here is compiled here: no stamp
        return _of_lowering(_lower(fn, args, kwargs))


def lowered_from_request(
    request: LowerRequest,
) -> tuple[Lowered, tuple[Any, ...], dict[str, Any]]:
    """What a command line names, lowered, with the arguments to call its executable with.

    Raises:
        JxcError: as `run_request`; and for symbolic dimensions, which cannot be compiled.
    """
    done = run_request(request)
    if done.lowering.is_symbolic:
        raise UsageError("symbolic dimensions cannot be compiled: give each a number")
    return _of_lowering(done.lowering, request.platform), done.args, done.kwargs


def _of_lowering(lowering: LoweredFunction, platform: str | None = None) -> Lowered:
    module = clone_module(lowering.module)
    origin = Origin(lowering.traced, lowering.lowered, lowering=lowering)
    seconds = {"trace": lowering.trace_seconds, "lower": lowering.lower_seconds}
    name = platform or jax.default_backend()
    return Lowered(module, "", None, name, origin, seconds=seconds, mesh=lowering.mesh)

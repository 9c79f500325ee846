"""The stages of compilation as values: `Lowered`, and the executables compiled from it.

`jxc.lower` traces and lowers a function with JAX. `Lowered.opt` runs a pipeline on a copy of the
module. `Lowered.compile` puts the module back into JAX's own `Lowered`, whose calling convention
(pytrees, donation, shardings) the executable keeps; for hardware that is not here, a process of its
own compiles it (`targets.build`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, overload

import jax
from jaxlib.mlir import ir

from ..display.progress import progress
from ..errors import MissingTargetError, UsageError
from ..frontend import LowerRequest, kind_of_platform
from ..frontend.arguments import read_specs
from ..frontend.lowering import LoweredFunction, is_jitted, lower as _lower
from ..frontend.request import run_request
from ..ir import clone_module, count_ops, write_bytecode, write_text
from ..ir.extra_results import EXTRA_RESULTS
from ..ir.module import module_name
from ..pipeline import Pipeline, PipelineLike, PipelineReport, make_pipeline, run_pipeline
from ..rewrite import PassContext, promises
from . import _private, interception, registered
from .agreement import agreed_by_processes
from .description import as_html, as_table, describe, lowered_as_html
from .extra_results import reader_of
from .targets import Target, find_target
from .targets.build import Build, build
from .tuning import stored_choice

_MEMORY = ("argument", "output", "temp", "alias", "generated_code")


@dataclass(frozen=True)
class ModuleOrigin:
    """The module from a file that a `Lowered` came from.

    Attributes:
        module: the module before any pass.
        traced: JAX's `Traced` of a function with the module's signature; None if it has none.
        lowered: JAX's `Lowered` of that function, which has the calling convention; None likewise.
    """

    module: ir.Module
    traced: Any = None
    lowered: Any = None


@dataclass(frozen=True, repr=False)
class Lowered:
    """A program as a StableHLO module, with what is needed to compile and call it.

    Attributes:
        module: the module. It belongs to this value: do not change it.
        pipeline: the passes that ran on it, as text; empty for what JAX lowered.
        report: what the last pipeline did; None before the first.
        platform: what it was lowered for, as JAX names it: "cpu", "cuda", "rocm" or "tpu".
        seconds: by stage, "trace" and "lower", where they are known.
        mesh: the mesh that it was lowered over, sizes by axis; empty without one.
        xla_options: XLA's options by name that O3 chose for it.
    """

    module: ir.Module
    pipeline: str
    report: PipelineReport | None
    platform: str
    _origin: LoweredFunction | ModuleOrigin
    _ran: tuple[tuple[Pipeline, frozenset[str]], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    mesh: Mapping[str, int] = field(default_factory=dict, compare=False)
    xla_options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The module's name, such as "jit_step"."""
        return module_name(self.module)

    @property
    def has_jaxpr(self) -> bool:
        """Whether it has a jaxpr: a module from a file has none."""
        return isinstance(self._origin, LoweredFunction)

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function that was traced; None for a module from a file."""
        return self._origin.function if isinstance(self._origin, LoweredFunction) else None

    @property
    def jax_lowered(self) -> Any:
        """JAX's own value, which has the calling convention; None if it cannot be called."""
        return self._origin.lowered

    @property
    def jaxpr(self) -> Any:
        """The jaxpr that JAX traced the function to."""
        return self._origin.traced.jaxpr

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The types of its positional arguments: a `jax.ShapeDtypeStruct` for each leaf."""
        args, _ = self._origin.lowered.args_info
        return tuple(jax.tree.map(lambda i: jax.ShapeDtypeStruct(i.shape, i.dtype), args))

    @property
    def used_arguments(self) -> tuple[int, ...]:
        """The positions of the leaves of its arguments that the module takes.

        JAX drops those that the function does not use.
        """
        return tuple(_private.kept_arguments(self._origin.lowered))

    def as_text(self, stage: str = "stablehlo", *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
            stage: "jaxpr", "stablehlo", or "hlo" for HLO before XLA optimises it.
            debug_info: print locations; StableHLO only.
        """
        if stage == "jaxpr":
            return f"{self.jaxpr}\n"
        if stage == "hlo":
            return str(_private.with_module(self.jax_lowered, self.module).as_text("hlo"))
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
        """The program after a pipeline. This value does not change.

        "O3" is what was measured for this program and hardware (`jxc tune`, or a call under O3),
        and O2 if nothing was, or in a job of several processes.

        Args:
            pipeline: a level, a textual pipeline, or passes and rules.
            target: the hardware that rules assume, such as "cpu", "gpu:h100" or "tpu:v5e:2x2";
                by default what the program was lowered for.
            assume: promises such as "no-nans".

        Raises:
            JxcError: a name is unknown, or a pass failed.
        """
        if registered.is_tuned(pipeline) and not self._ran:
            found = find_target(target) if target else None
            name = found.name if found and not found.is_present else ""
            pipeline, options = stored_choice(self.module, self.platform, name, promises(assume))
            return replace(self.opt(pipeline, target=target, assume=assume), xla_options=options)
        for_target = target or kind_of_platform(self.platform)
        return self._after(make_pipeline(pipeline), PassContext(for_target, promises(assume)))

    def __repr__(self) -> str:
        passes = f" after {self.pipeline}" if self.pipeline else ""
        text = f"<jxc.Lowered {self.name}: {count_ops(self.module)} ops for {self.platform}{passes}"
        return f"{text if len(text) < 160 else text[:157] + '...'}>"

    _repr_html_ = lowered_as_html

    def _after(self, steps: Pipeline, context: PassContext) -> Lowered:
        module = clone_module(self.module)
        with progress(f"running passes on {self.name}"):
            report = run_pipeline(module, steps, context)
        ran = ",".join(filter(None, [self.pipeline, *map(str, steps.steps)]))
        history = (*self._ran, (steps, context.assumptions))
        return replace(self, module=module, pipeline=ran, report=report, _ran=history)

    def for_target(self, target: str) -> Lowered:
        """The program lowered for other hardware, after the same pipelines.

        A module from a file cannot be lowered again, and is taken as it is.

        Args:
            target: such as "gpu:h100" or "tpu:v5e:2x2".
        """
        found = find_target(target)
        origin, platform = self._origin, found.platform
        if isinstance(origin, ModuleOrigin):
            lowered = Lowered(origin.module, "", None, platform, origin)
        else:
            lowered = lowered_of(origin.for_platform(platform), platform)
        for steps, assumptions in self._ran:
            context = PassContext(found.kind, assumptions, device=found.device)
            lowered = lowered._after(steps, context)
        return lowered

    @overload
    def compile(
        self, target: None = None, *, xla_options: Mapping[str, Any] | None = None
    ) -> Executable: ...

    @overload
    def compile(
        self, target: str, *, xla_options: Mapping[str, Any] | None = None
    ) -> Executable | CrossExecutable: ...

    def compile(
        self, target: str | None = None, *, xla_options: Mapping[str, Any] | None = None
    ) -> Executable | CrossExecutable:
        """Compile the module with XLA.

        Args:
            target: the hardware to compile for, present or not: "gpu:h100", "tpu:v5e:2x2". A
                function is lowered again if it was lowered for other hardware. By default the
                devices that it was lowered for.
            xla_options: XLA's options by name, such as {"xla_cpu_enable_fast_math": True}.

        Returns:
            An `Executable`, which can be called; for hardware that is not here a `CrossExecutable`,
            which can be inspected and saved. After `locate-nans`, calling it raises `NanError`.

        Raises:
            JxcError: the target is unknown or its compiler is not installed, or XLA refuses the
                module.
        """
        with progress(f"compiling {self.name}"):
            return self._compile(target, xla_options)

    def _compile(
        self, target: str | None, xla_options: Mapping[str, Any] | None
    ) -> Executable | CrossExecutable:
        options = {**self.xla_options, **(xla_options or {})} or None
        found = find_target(target) if target else None
        if found is None or (found.is_present and found.platform == jax.default_backend()):
            with interception.backend_options():
                if EXTRA_RESULTS in self.module.operation.attributes:
                    compile_ = reader_of(self.module, [pipeline for pipeline, _ in self._ran])
                    executable: Executable = compile_(self, self.module, options)
                    return executable
                agreed = agreed_by_processes(self)
                options = options if agreed is self else dict(xla_options or {}) or None
                carrying = _private.with_module(self.jax_lowered, agreed.module)
                return Executable(carrying.compile(options), agreed)
        lowered = self if self.platform == found.platform else self.for_target(found.name)
        return CrossExecutable(build(lowered.module, found, xla_options=options), lowered)


@dataclass(frozen=True, repr=False)
class Executable:
    """A compiled program. It is called with the arguments of the function, pytrees included.

    Attributes:
        compiled: JAX's own object.
        lowered: what it was compiled from.
    """

    compiled: jax.stages.Compiled
    lowered: Lowered

    __repr__ = describe
    __str__ = as_table
    _repr_html_ = as_html

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Static arguments are omitted, as with `jax.jit(...).lower().compile()`."""
        return self.compiled(*args, **kwargs)

    def as_text(self, stage: str = "hlo") -> str:
        """The program as text: "hlo" after XLA optimised it, or a stage of `Lowered`."""
        return self._hlo if stage == "hlo" else self.lowered.as_text(stage)

    @cached_property
    def _hlo(self) -> str:
        return (self.compiled.as_text() or "").rstrip() + "\n"

    def cost(self) -> dict[str, float]:
        """XLA's cost analysis: "flops", "bytes accessed" (bytes), "transcendentals", ..."""
        return dict(self.compiled.cost_analysis() or {})

    def memory(self) -> dict[str, int]:
        """XLA's count in bytes: "argument", "output", "temp", "alias", "generated_code"."""
        return memory_sizes(self.compiled.memory_analysis())


@dataclass(frozen=True, repr=False)
class CrossExecutable:
    """A program compiled for hardware that is not here. It can be inspected and saved, not called.

    Attributes:
        build: the output of the compiler.
        lowered: what it was compiled from.
    """

    build: Build
    lowered: Lowered

    __repr__ = describe
    __str__ = as_table
    _repr_html_ = as_html

    @property
    def target(self) -> Target:
        """The target that it was compiled for."""
        return self.build.target

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to run: the hardware is not here.

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
        """The cost analysis of one device, by the names of `Executable.cost`.

        It is the compiler's own. The GPU's compiler has none; then jxc counts the optimised HLO,
        with the body of a loop times its trip count.
        """
        return dict(self.build.cost or self._counted)

    @cached_property
    def _counted(self) -> dict[str, float]:
        from ..cost.formulas import TRANSCENDENTAL  # which XLA counts apart from flops
        from ..hlo import parse_hlo
        from ..hlo.work import executed, totals_of

        totals = totals_of(executed(parse_hlo(self.build.hlo)))
        return {
            "flops": totals.flops - TRANSCENDENTAL * totals.transcendentals,
            "transcendentals": totals.transcendentals,
            "bytes accessed": totals.bytes_in + totals.bytes_out,
        }

    def memory(self) -> dict[str, int]:
        """The compiler's count in bytes of one device, by the names of `Executable.memory`."""
        return {name: self.build.memory.get(f"{name}_size_in_bytes", 0) for name in _MEMORY}


def memory_sizes(analysis: Any) -> dict[str, int]:
    """The sizes in JAX's memory analysis in bytes, by the names of `Executable.memory`."""
    return {name: int(getattr(analysis, f"{name}_size_in_bytes", 0)) for name in _MEMORY}


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
    with registered.context(None):  # no stamp: `Lowered.opt` chooses the passes
        return lowered_of(_lower(fn, args, kwargs))


def lowered_from_request(
    request: LowerRequest,
) -> tuple[Lowered, tuple[Any, ...], dict[str, Any]]:
    """The program that a command line names, and the arguments for its executable.

    Raises:
        JxcError: as `run_request`; and for symbolic dimensions, which cannot be compiled.
    """
    done = run_request(request)
    if done.lowering.is_symbolic:
        raise UsageError("symbolic dimensions cannot be compiled: give each dimension a number")
    return lowered_of(done.lowering, request.platform), done.args, done.kwargs


def lowered_of(lowering: LoweredFunction, platform: str | None = None) -> Lowered:
    """What the frontend lowered, to run passes on it and compile it."""
    module = clone_module(lowering.module)
    seconds = {"trace": lowering.trace_seconds, "lower": lowering.lower_seconds}
    name = platform or jax.default_backend()
    return Lowered(module, "", None, name, lowering, seconds=seconds, mesh=lowering.mesh)

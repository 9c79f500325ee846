"""The stages as values: a lowered program, and the executable that XLA makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
from jaxlib.mlir import ir

from ..errors import UsageError
from ..frontend import LowerRequest, run_request
from ..frontend.lowering import Lowering
from ..frontend.lowering import lower as _lower
from ..ir import clone_module, write_bytecode, write_text
from ..pipeline import PipelineLike, Report, make_pipeline, run_pipeline
from ..rewrite import Facts, promises
from . import _private, hook


@dataclass(frozen=True)
class Lowered:
    """A Python function as a module, and what is needed to call it once it is compiled.

    Attributes:
        module: the module as it stands. Belongs to this value: do not change it.
        pipeline: the pipelines it went through, as text; empty for what JAX lowered.
        report: what the last pipeline did; None before one has run.
    """

    module: ir.Module
    pipeline: str
    report: Report | None
    _traced: jax.stages.Traced
    _lowered: jax.stages.Lowered

    @property
    def jaxpr(self) -> Any:
        """The jaxpr that JAX traced the function to."""
        return self._traced.jaxpr

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What its executable takes: a `jax.ShapeDtypeStruct` for each positional argument leaf."""
        args, _ = self._lowered.args_info
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
        target: str = "cpu",
        assume: str | Sequence[str] = (),
    ) -> Lowered:
        """The program after a pipeline; this one stays as it is.

        Args:
            pipeline: a level, a textual pipeline, or passes and rules.
            target: the hardware that rules assume: "cpu", "gpu" or "tpu".
            assume: promises such as "no-nans".

        Raises:
            JxcError: a name is unknown, or a pass failed.
        """
        steps = make_pipeline(pipeline)
        module = clone_module(self.module)
        report = run_pipeline(module, steps, Facts(target, promises(assume)))
        ran = ",".join(filter(None, [self.pipeline, *map(str, steps.steps)]))
        return replace(self, module=module, pipeline=ran, report=report)

    def compile(self, *, xla_options: Mapping[str, Any] | None = None) -> Executable:
        """Hand the module to XLA, for the devices it was lowered for.

        Args:
            xla_options: XLA's options by name, such as {"xla_cpu_enable_fast_math": True}.
        """
        options = dict(xla_options) if xla_options else None
        return Executable(self._carrying().compile(options), self)

    def _carrying(self) -> jax.stages.Lowered:
        return _private.with_module(self._lowered, self.module)


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
        names = ("argument", "output", "temp", "alias", "generated_code")
        return {name: getattr(analysis, f"{name}_size_in_bytes", 0) for name in names}


def lower(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Lowered:
    """Trace and lower a function, or what `jax.jit` made of one.

    Args:
        fn: the function; pass `jax.jit(fn, static_argnames=...)` for static arguments, donation or
            shardings.
        args: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them.
        kwargs: the same, by name.

    Raises:
        JxcError: the function cannot be traced with these arguments; the message names the user's
            line and the remedy.
    """
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
    return _of_lowering(done.lowering), done.args, done.kwargs


def _of_lowering(lowering: Lowering) -> Lowered:
    module = clone_module(lowering.module)
    return Lowered(module, "", None, lowering.traced, lowering.lowered)

"""Compile one program with each contender and record what compilation costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

import jax

import jxc
from jxc.ir import count_ops

Function = Callable[..., Any]
T = TypeVar("T")


@dataclass
class Compiled:
    """An executable and the cost of compiling it.

    Attributes:
        call: the executable; takes the arguments of the function.
        ops: the number of ops in the module that XLA compiles.
        lower: seconds of tracing and lowering, including what a contender adds to them.
        passes: seconds of rewriting.
        xla: seconds of XLA.
        rules: the number of rewrites by each rule.
        text: the module that XLA compiles.
        tuning: seconds of finding the candidate of O3, in the first compilation of a process.
        choice: the candidate of O3.
    """

    call: Any
    ops: int
    lower: float
    passes: float
    xla: float
    rules: dict[str, int] = field(default_factory=dict)
    tuning: float = 0.0
    choice: str = ""
    text: str = ""

    @property
    def temporaries(self) -> int:
        """Bytes of temporaries that the executable allocates, as XLA reports them."""
        return int(getattr(self.call.memory_analysis(), "temp_size_in_bytes", 0))


def compile_program(contender: str, function: Function, args: tuple[Any, ...]) -> Compiled:
    """Compile with "plain" `jax.jit`, with "enzyme", or at a level such as "O2"."""
    jax.clear_caches()  # otherwise a second compilation would hit the caches of JAX
    if contender == "enzyme":
        return _by_enzyme(function, args)
    return (
        _plainly(function, args) if contender == "plain" else _by_level(contender, function, args)
    )


def _plainly(function: Function, args: tuple[Any, ...]) -> Compiled:
    lowered, lower = _timed(lambda: jax.jit(function).lower(*args))
    module = lowered.compiler_ir("stablehlo")
    ops, text = count_ops(module), str(module)
    call, xla = _timed(lowered.compile)
    return Compiled(call, ops, lower, 0.0, xla, text=text)


def _by_level(level: str, function: Function, args: tuple[Any, ...]) -> Compiled:
    lowered, lower = _timed(lambda: jxc.lower(function, *args))
    tuning, choice = _tuned(lowered, args) if level == "O3" else (0.0, "")
    optimised, passes = _timed(lambda: lowered.opt(level))
    exe, xla = _timed(optimised.compile)
    rules = dict(optimised.report.hits) if optimised.report else {}
    ops = count_ops(optimised.module)
    text = str(optimised.module)
    return Compiled(exe.compiled, ops, lower, passes, xla, rules, tuning, choice, text)


def _tuned(lowered: Any, args: tuple[Any, ...]) -> tuple[float, str]:
    """Tune a program for O3 unless it has a verdict: the seconds, and the candidate chosen."""
    from jxc.backend.targets import find_target
    from jxc.backend.tuning import NotTuned
    from jxc.tools.tune.explicit import verdict_for

    try:
        verdict, seconds = _timed(lambda: verdict_for(lowered, find_target("cpu"), args))
    except NotTuned as error:
        return 0.0, f"O2, not tuned: {error}"
    return seconds, verdict.choice


def _by_enzyme(function: Function, args: tuple[Any, ...]) -> Compiled:
    """Compile with Enzyme-JAX's default optimization pipeline.

    Enzyme-JAX traces and compiles the plain program a second time to find unused arguments. That
    time counts as lowering, because its user waits for it.
    """
    from enzyme_ad.jax import enzyme_jax_ir, primitives

    enzyme, passes = primitives.enzyme_call, [0.0]
    run = enzyme.run_pass_pipeline

    def timed_run(*given: Any) -> Any:
        result, seconds = _timed(lambda: run(*given))
        passes[0] += seconds
        return result

    enzyme.run_pass_pipeline = timed_run
    try:
        lowered, spent = _timed(lambda: jax.jit(enzyme_jax_ir()(function)).lower(*args))
    finally:
        enzyme.run_pass_pipeline = run
    ops = count_ops(lowered.compiler_ir("stablehlo"))
    call, xla = _timed(lowered.compile)
    return Compiled(call, ops, spent - passes[0], passes[0], xla)


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    start = perf_counter()
    return call(), perf_counter() - start

"""One program compiled by each contender, with what that took."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

import jax

import jxc
from jxc.ir import count_ops

REPEATS, REPEAT_SECONDS = 3, 2.0
"""How often each compilation is timed, and the seconds in all after which once was enough."""

Function = Callable[..., Any]
T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Compiled:
    """An executable, and what making it took.

    Attributes:
        call: the executable, on the function's own arguments.
        ops: operations of the module that XLA was given.
        lower: seconds of tracing and lowering, and of what a contender adds to them.
        passes: seconds of rewriting.
        xla: seconds of XLA.
        rules: how often each rule fired.
    """

    call: Any
    ops: int
    lower: float
    passes: float
    xla: float
    rules: dict[str, int] = field(default_factory=dict)

    @property
    def temporaries(self) -> int:
        """Bytes that the executable allocates beside arguments and results, by XLA's count."""
        return int(getattr(self.call.memory_analysis(), "temp_size_in_bytes", 0))


def compile_program(contender: str, function: Function, args: tuple[Any, ...]) -> Compiled:
    """Compile as "plain" `jax.jit` does, by "enzyme", or by a level such as "O2"."""
    jax.clear_caches()
    if contender == "enzyme":
        return _by_enzyme(function, args)
    return (
        _plainly(function, args) if contender == "plain" else _by_level(contender, function, args)
    )


def _plainly(function: Function, args: tuple[Any, ...]) -> Compiled:
    lowered, lower = _timed(lambda: jax.jit(function).lower(*args))
    ops = count_ops(lowered.compiler_ir("stablehlo"))
    call, xla = _repeatedly(lambda: jax.jit(function).lower(*args), lambda low: low.compile())
    return Compiled(call, ops, lower, 0.0, xla)


def _by_level(level: str, function: Function, args: tuple[Any, ...]) -> Compiled:
    lowered, lower = _timed(lambda: jxc.lower(function, *args))
    optimised, passes = _repeatedly(lambda: lowered, lambda low: low.opt(level))
    exe, xla = _repeatedly(lambda: optimised, lambda opt: opt.compile())
    rules = dict(optimised.report.hits) if optimised.report else {}
    return Compiled(exe.compiled, count_ops(optimised.module), lower, passes, xla, rules)


def _by_enzyme(function: Function, args: tuple[Any, ...]) -> Compiled:
    """By Enzyme-JAX's default pipeline of optimisations.

    It traces and compiles the plain program once more to find unused arguments: that is counted as
    lowering, since its user waits for it.
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


def _repeatedly(prepare: Callable[[], T], work: Callable[[T], U]) -> tuple[U, float]:
    """What `work` makes of what `prepare` does, and its median seconds."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < REPEATS and sum(seconds) < REPEAT_SECONDS):
        jax.clear_caches()  # else XLA is not asked twice for the same module
        prepared = prepare()
        result, spent = _timed(lambda prepared=prepared: work(prepared))
        seconds.append(spent)
    return result, statistics.median(seconds)

"""The checks `callback-in-loop` and `tiny-loop-body`."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import jxc
from jxc.backend.targets import find_target
from jxc.compiled.program import read_optimised
from jxc.tools.doctor import Finding, all_checks, program_of

from .doctoring import PROGRAMS, f32, findings_of, names_of, source_line


def noisy(x: Any, *, every: int = 1) -> Any:
    def body(i: Any, c: Any) -> Any:
        def say() -> None:
            jax.debug.print("{c}", c=c)

        if every == 1:
            say()
        else:
            lax.cond(i % every == 0, say, lambda: None)
        return c * 0.5

    return lax.fori_loop(0, 100, body, x)


def test_callback_in_loop_counts_calls() -> None:
    (each,) = findings_of(noisy, f32(8))
    assert (each.name, each.cost.calls, each.cost.bytes) == ("callback-in-loop", 100, 3200)
    assert "debug.print" in source_line(each)
    assert names_of(partial(noisy, every=10), f32(8)) == []
    assert names_of(lambda x: [jax.debug.print("{}", x), x * 2][1], f32(8)) == []


def test_callback_in_loop_without_trip_count() -> None:
    def body(c: Any) -> Any:
        jax.debug.print("{}", c)
        return c * 0.5

    (each,) = findings_of(lambda x: lax.while_loop(lambda c: c > 1e-3, body, x), f32())
    assert each.cost.calls is None
    assert "in each iteration" in each.message


def settle(v: Any) -> Any:
    def body(c: Any, _: Any) -> Any:
        return jnp.tanh(c @ c.T) * 0.5, None

    return lax.scan(body, v, None, length=500)[0]


def tiny_loops(target: str, compiled: Any = None) -> list[Finding]:
    program = program_of(jxc.lower(settle, jnp.ones((8, 8))), "cpu", may_compile=True)
    if compiled is not None:
        object.__setattr__(program, "target", find_target(target))
        program.__dict__["compiled"] = compiled
    return all_checks()["tiny-loop-body"].run(program)


def test_tiny_loop_body_reports_gpu_and_not_cpu() -> None:
    """XLA:CPU starts a kernel in a tenth of a microsecond, and unrolling gains nothing there."""
    text = (PROGRAMS / "tiny_loop.gpu.hlo").read_text()
    (each,) = tiny_loops("gpu:h100", read_optimised(text, find_target("gpu:h100")))
    assert "each of 500 iterations launches 3 kernels" in each.message
    assert each.cost.calls == 1500
    assert tiny_loops("cpu") == []

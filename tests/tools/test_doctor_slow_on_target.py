"""The check `slow-on-target`: hits of rules, in loops too, and when times are a finding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.tools.doctor import Finding, all_checks, program_of
from jxc.tools.doctor.checks import slow_on_target

from .doctoring import f32, source_line


def pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").sum()


def set_times(monkeypatch: pytest.MonkeyPatch, plain: list[float], ours: list[float]) -> None:
    """Replace the measurement by these seconds of each round."""
    monkeypatch.setattr(slow_on_target, "_times", lambda *calls: (plain, ours))


def test_slow_on_target_needs_gain_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(jxc.lower(pooled, f32(8, 64, 64, 32)), "cpu", may_compile=True)
    set_times(monkeypatch, [4e-3, 5e-3], [1e-3, 1e-3])
    (each,) = all_checks()["slow-on-target"].run(program)
    assert "reduce_window" in each.message
    assert each.cost.seconds == pytest.approx(3.5e-3)
    assert "lax.reduce_window" in source_line(each)
    program.kept.clear()  # measure again
    set_times(monkeypatch, [4e-3, 5e-3], [1e-3, 4.9e-3])
    assert all_checks()["slow-on-target"].run(program) == []  # the gain is not in every round
    program.kept.clear()
    set_times(monkeypatch, [4e-3, 5e-3], [1e-3, 1e-3])
    monkeypatch.setattr(slow_on_target, "free_bytes", lambda: 1 << 16)
    assert all_checks()["slow-on-target"].run(program) == []  # would consume the remaining times


def test_lines_share_what_o2_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The costs of two findings add up to what both together save."""

    def both(x: Any) -> Any:
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        return pooled.sum(), jnp.sort(x[0].reshape(-1)).sum()

    program = program_of(jxc.lower(both, f32(4, 64, 64, 16)), "cpu", may_compile=True)
    set_times(monkeypatch, [4e-3, 4e-3], [1e-3, 1e-3])
    found = all_checks()["slow-on-target"].run(program)
    assert len(found) == 2
    assert sum(each.cost.seconds or 0.0 for each in found) == pytest.approx(3e-3)
    assert all("the part of this line in what 2 lines save" in str(e.cost) for e in found)


def test_slow_on_target_reports_f64_without_hardware() -> None:
    def twice(x: Any) -> Any:
        return x * 2

    def on(kind: str, peaks: dict[str, float]) -> list[Finding]:
        device = SimpleNamespace(peak_flops=peaks)
        target = SimpleNamespace(kind=kind, name=kind, device=device)
        with jax.enable_x64(True):
            lowered = jxc.lower(twice, jax.ShapeDtypeStruct((65536,), jnp.float64))
        program = program_of(lowered, "cpu", may_compile=False)
        object.__setattr__(program, "target", target)
        return list(slow_on_target._doubles(program))

    (each,) = on("tpu", {"bf16": 1e14, "f32": 1e14})
    assert "in software" in each.message
    assert source_line(each) == "return x * 2"
    (each,) = on("gpu", {"f64": 1e12, "f32": 64e12})
    assert "0.016 times the rate of f32" in each.message
    assert on("gpu", {"f64": 33e12, "f32": 67e12}) == []
    assert on("cpu", {"f32": 1e11}) == []


def shifted(x: Any, table: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") + table


def test_slow_on_target_times_given_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random arguments may be much slower: results overflow or become denormal."""
    seen = []

    def times(plain: Any, ours: Any) -> Any:
        seen.append([np.asarray(call()).max() for call in (plain, ours)])
        return [4e-3, 4e-3], [1e-3, 1e-3]

    monkeypatch.setattr(slow_on_target, "_times", times)
    x, table = jnp.full((4, 64, 64, 32), 7.0), jnp.full(32, 1000.0)
    (each,) = jxc.doctor(shifted, x, table, only=["slow-on-target"])
    assert seen == [[1007.0, 1007.0]]
    assert str(each.cost) == "3 ms (of 0.004 s a run, measured on the arguments given)"
    types = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in (x, table)]
    (each,) = jxc.doctor(shifted, *types, only=["slow-on-target"])
    assert "measured on random arguments" in str(each.cost)


def smoothed(x: Any) -> Any:
    def body(x: Any, _: Any) -> Any:
        window = (1, 3, 3, 1), (1, 1, 1, 1), "SAME"
        return x - 0.5 * lax.reduce_window(x, -jnp.inf, lax.max, *window), None

    return lax.scan(body, x, None, length=200)[0]


def test_hit_in_a_loop_counts_once_for_each_iteration() -> None:
    small = jax.ShapeDtypeStruct((1, 16, 16, 8), jnp.float32)
    program = program_of(jxc.lower(smoothed, small), "cpu", may_compile=False)
    (hit,) = [each for each in program.hits if each.op == "reduce_window"]
    assert hit.times == 200
    assert hit.result_bytes == 200 * 4 * 16 * 16 * 8


def test_slow_on_target_finds_small_ops_in_a_long_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    set_times(monkeypatch, [2e-3, 2e-3], [4e-4, 4e-4])
    (each,) = jxc.doctor(smoothed, jnp.ones((1, 16, 16, 8)), only=["slow-on-target"])
    assert each.place and "lax.reduce_window" in each.place.text
    assert each.cost.seconds == pytest.approx(1.6e-3)


def test_callable_here_runs_executable_of_compiler_process() -> None:
    """The same executable is inspected and timed, so that XLA compiles the program once."""
    program = program_of(jxc.lower(shifted, *_types()), "cpu", may_compile=True)
    made = slow_on_target.callable_here(program.lowered, program.compiled.build)
    x = np.arange(4 * 64 * 64 * 32, dtype=np.float32).reshape(4, 64, 64, 32)
    np.testing.assert_array_equal(made(x, x[0, 0, 0]), jax.jit(shifted)(x, x[0, 0, 0]))


def _types() -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((4, 64, 64, 32), (32,))]


def test_times_leaves_out_first_calls() -> None:
    """The first call includes one-time setup and must not be counted."""
    calls = {"plain": 0, "ours": 0}

    def caller(name: str) -> Any:
        def call() -> Any:
            calls[name] += 1
            return jnp.zeros(1)

        return call

    plain, ours = slow_on_target._times(caller("plain"), caller("ours"))
    assert len(plain) == len(ours) >= 2
    assert min(calls.values()) >= 4

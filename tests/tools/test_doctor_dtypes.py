"""The checks `f64`, `implicit-upcast` and `weak-type`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from .doctoring import bf16, f32, findings_of, names_of, source_line


def widens(x: Any) -> Any:
    grid = jnp.linspace(0.0, 1.0, 65536)
    return x * grid.astype(x.dtype)


def test_f64_reports_where_f64_begins() -> None:
    with jax.enable_x64(True):
        (each,) = findings_of(widens, f32(65536), only=["f64"])
        assert "linspace" in source_line(each)
        assert each.cost.bytes == pytest.approx(65536 * 4, rel=1e-3)
        doubles = jax.ShapeDtypeStruct((65536,), jnp.float64)
        assert names_of(widens, doubles) == []  # f64 is requested
        assert names_of(lambda x: x * jnp.float64(3.0), f32(8)) == []  # too small to matter
    assert names_of(widens, f32(65536)) == []


def test_implicit_upcast_names_both_types() -> None:
    (each,) = findings_of(lambda x, gain: x * gain, bf16(256, 512), f32(512))
    assert each.name == "implicit-upcast"
    assert (
        each.message == "bf16[256,512] becomes f32[256,512], because the other operand is f32[512]"
    )
    assert each.cost.bytes == 256 * 512 * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, gain: x.astype(jnp.float32) * gain,  # written out
        lambda x, gain: (x * gain).astype(x.dtype),  # narrowed at once
        lambda x, gain: x.sum() + gain.sum(),  # accumulated in f32 by jnp.sum
        lambda x, gain: x * 2.0 + gain.astype(x.dtype),  # a Python number does not widen x
        lambda x, gain: jnp.mean(x, dtype=jnp.float32) + gain,
        lambda x, gain: jax.nn.softmax(x, axis=-1).sum() + gain.sum(),
    ],
)
def test_implicit_upcast_ignores_written_and_narrowed_conversions(function: Any) -> None:
    assert "implicit-upcast" not in names_of(function, bf16(256, 512), f32(512))


def test_weak_type_reports_result_that_compiles_twice() -> None:
    def step(state: Any) -> Any:
        flag = jnp.where(state["n"] > 3, 1.0, 0.0)
        return {"n": flag, "w": state["w"] * 2}

    state = {"n": jnp.float32(0), "w": jnp.ones(4)}
    (each,) = findings_of(step, state)
    assert each.name == "weak-type"
    assert "jnp.where" in source_line(each)
    jitted = jax.jit(step)
    jitted(jitted(state))
    assert jitted._cache_size() == 2


def test_weak_type_ignores_unchanged_types() -> None:
    def typed(state: Any) -> Any:
        flag = jnp.where(state["n"] > 3, jnp.float32(1), 0.0)
        return {"n": flag, "w": state["w"] * 2}

    state = {"n": jnp.float32(0), "w": jnp.ones(4)}
    assert names_of(typed, state) == []
    jitted = jax.jit(typed)
    jitted(jitted(state))
    assert jitted._cache_size() == 1
    assert names_of(lambda x, y: jnp.where(x.sum() > y, 1.0, 0.0), f32(8), f32()) == []  # a loss


def test_sizes_in_a_loop_count_once_for_each_iteration() -> None:
    def accumulate(x: Any, gain: Any) -> Any:
        def body(total: Any, _: Any) -> Any:
            return total + (x * gain).sum(), None  # widens 2 KiB

        return lax.scan(body, jnp.float32(0), None, length=200)[0]

    (each,) = findings_of(accumulate, bf16(512), f32(512), only=["implicit-upcast"])
    assert "x * gain" in source_line(each)
    assert each.cost.bytes == 200 * 512 * 2
    assert "200 iterations" in str(each.cost)

"""The checks of the inputs and outputs of a function: constants, donations, dead outputs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

import jxc
from jxc.backend.lowered import lowered_of
from jxc.frontend.lowering import lower
from jxc.tools.doctor import choose_checks, examine, program_of

from .doctoring import f32, findings_of, names_of, source_line

BIG = np.ones((512, 513), np.float32)
SMALL = np.ones((8, 8), np.float32)


def test_captured_constants_reports_large_arrays() -> None:
    (each,) = findings_of(lambda x: x + BIG, f32(513))
    assert each.name == "captured-constants"
    assert "global BIG" in each.message
    assert each.cost.bytes == BIG.nbytes
    assert "x + BIG" in source_line(each)
    assert names_of(lambda x: x + SMALL, f32(8)) == []
    assert names_of(lambda x, big: x + big, f32(513), f32(512, 513)) == []


def train(params: Any, x: Any) -> Any:
    grads = jax.grad(lambda p: (jnp.tanh(x @ p["w"]) ** 2).mean() + (p["b"] ** 2).sum())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), x.sum()


def gradients(params: Any, x: Any) -> Any:
    return jax.grad(lambda p: (jnp.tanh(x @ p["w"]) ** 2).mean() + (p["b"] ** 2).sum())(params)


def put(cache: Any, x: Any, i: Any) -> Any:
    return lax.dynamic_update_slice(cache, x, (i, 0)), x.sum()


def advance(u: Any) -> Any:
    u = jnp.sin(u) + u
    u = u / 2
    return u  # noqa: RET504 - the check uses the name of the result


PARAMS = {"w": f32(512, 1024), "b": f32(1024)}


def test_donation_possible_reports_updated_arguments() -> None:
    (each,) = findings_of(train, PARAMS, f32(8, 512))
    assert (each.name, each.cost.bytes) == ("donation-possible", 512 * 1024 * 4 + 4096)
    assert "donate_argnames='params'" in each.fix
    assert "def train" in source_line(each)
    (each,) = findings_of(put, f32(1024, 512), f32(1, 512), jnp.int32(0))
    assert "cache, an array of 2 MiB" in each.message
    assert names_of(advance, f32(1024, 512)) == ["donation-possible"]


def test_donation_possible_ignores_gradients_layers_and_small_arrays() -> None:
    assert names_of(gradients, PARAMS, f32(8, 512)) == []  # the caller still needs the parameters
    assert names_of(jax.jit(train, donate_argnums=0), PARAMS, f32(8, 512)) == []
    assert names_of(lambda x: jnp.tanh(x) * 2, f32(1024, 512)) == []  # a layer, not a state
    small = {"w": f32(8, 16), "b": f32(16)}
    assert names_of(train, small, f32(8, 8)) == []


def test_donation_unused_gives_reason() -> None:
    def scaled(x: Any, scratch: Any, spare: Any) -> Any:
        return x * scratch.sum()

    donating = jax.jit(scaled, donate_argnums=(0, 1, 2))
    shapes = f32(512, 512), f32(512, 300), f32(400, 400)
    first, second = findings_of(donating, *shapes)
    assert {first.name, second.name} == {"donation-unused"}
    assert "the donation of scratch has no effect: no other result" in first.message
    assert "the donation of spare has no effect: the program does not use it" in second.message
    assert names_of(jax.jit(scaled, donate_argnums=(0,)), *shapes) == []


def averaged(old: Any, new: Any) -> Any:
    return jax.tree.map(lambda w, v: 0.9 * w + 0.1 * v, old, new)


def trained(old: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        return (jnp.tanh(jnp.tanh(x @ weights["a"]) @ weights["b"]) ** 2).sum()

    return jax.tree.map(lambda w, g: w - 0.1 * g, old, jax.grad(loss)(old))


def test_donation_possible_does_not_overstate_savings() -> None:
    """XLA uses the memory of results for temporaries until the results are written."""
    square = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
    weights = {"a": square, "b": square}
    only = ["donation-possible"]
    (each,) = jxc.doctor(averaged, weights, weights, only=only)
    assert str(each.cost) == "8 MiB (of 24 MiB at the peak)"
    (each,) = jxc.doctor(trained, weights, square, only=only)
    assert str(each.cost).startswith("8 MiB (at most, of ")
    assert "XLA keeps temporaries" in str(each.cost)
    (each,) = jxc.doctor(trained, weights, square, only=only, compile=False)
    assert str(each.cost) == "8 MiB (at most, by the shapes)"


def test_dead_output_reports_constants_duplicates_and_arguments() -> None:
    def step(x: Any, w: Any) -> Any:
        y = x * 2
        return y, y, w, jnp.zeros((256, 256)), x.sum()

    findings = findings_of(step, f32(256, 256), f32(256, 256))
    assert {each.name for each in findings} == {"dead-output"}
    kinds = ("result[3] depends on no", "result[1] is equal to", "result[2] is an argument")
    assert [each.message.startswith(kinds) for each in findings] == [True] * 3
    assert source_line(findings[0]).startswith("return y, y, w")
    donated = jax.jit(step, donate_argnums=1)
    assert len(findings_of(donated, f32(256, 256), f32(256, 256))) == 2


def test_dead_output_ignores_computed_outputs_and_initial_states() -> None:
    halve = jax.jit(lambda x: x / 2)
    assert names_of(lambda x, y: (halve(x), halve(y)), f32(256, 256), f32(256, 256)) == []
    assert (
        names_of(lambda: {"w": jnp.zeros((256, 256)), "b": jnp.ones((256, 256))}) == []
    )  # a state
    assert names_of(lambda x: (x * 2, jnp.zeros((4,)), x.sum()), f32(256, 256)) == []


def test_replicated_argument_reports_what_could_be_split() -> None:
    def loss(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ w).sum()

    def found(width: int, shardings: Any) -> list[Any]:
        args = (f32(width, 512), f32(8, width))
        lowered = lowered_of(lower(loss, args, mesh={"data": 4}, in_shardings=shardings))
        check = choose_checks(["replicated-argument"])
        return list(examine(program_of(lowered, "cpu", may_compile=True), check))

    over_data = {"x": P("data")}
    (each,) = found(1024, over_data)
    assert each.message == "w is whole on each of 4 devices"
    assert '--sharding "w=data"' in each.fix
    assert each.cost.bytes == 3 / 4 * 1024 * 512 * 4
    assert found(64, over_data) == []  # too small
    assert found(1023, {"x": P("data")})[0].fix.startswith('Split it, as --sharding "w=None,data"')
    assert found(1024, {"w": P("data"), "x": P(None, "data")}) == []

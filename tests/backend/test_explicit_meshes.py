"""Programs over meshes with explicit axes: the shards of results, with and without jxc."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

import jxc

from ..devices import assert_same_on_devices

LEVELS = ["O1", "O2", "inline{default-pipeline=},symbol-dce,O2"]


@pytest.fixture
def devices():
    """The four devices of this process, as two by two."""
    return np.array(jax.devices()[:4]).reshape(2, 2)


@pytest.fixture
def explicit(devices):
    """A mesh of two explicit axes, which is the current one."""
    mesh = Mesh(devices, ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        yield mesh


def partial_sums(*axes):
    return P(unreduced=set(axes))


def concatenated(a, b):
    c, d = jnp.concatenate([a, b]), jnp.concatenate([b, a])
    for _ in range(4):
        c = c + d + c
    return c


def summed(a, b):
    return (a + b).reshape(2, 4).sum(0) + jax.lax.slice(a, [2], [6])


def selected(a, b):
    chosen = jnp.where(jnp.arange(8) < 3, a, b)
    return chosen + chosen, chosen.reshape(4, 2).T


def split_up(a, b):
    parts = jax.lax.split(a, (2, 2, 4)) + jax.lax.split(b, (4, 2, 2))
    return parts[0] + parts[1] + parts[5], jnp.concatenate(parts)


def scanned(a, b):
    return jax.lax.scan(lambda total, _: (total + b, None), a, None, length=4)[0] + b


@pytest.mark.parametrize("pipeline", LEVELS)
@pytest.mark.parametrize("program", [concatenated, summed, selected, split_up, scanned])
def test_partial_sums_stay_partial(program, pipeline, explicit):
    a = jax.reshard(jnp.arange(8.0), partial_sums("x"))
    b = jax.reshard(jnp.arange(8.0) - 3, partial_sums("x"))
    expected = jax.jit(program)(a, b)
    assert_same_on_devices(jxc.jit(program, pipeline=pipeline, strict=True)(a, b), expected)


@pytest.mark.parametrize("pipeline", LEVELS)
def test_products_with_partial_sums_stay_partial(pipeline, explicit):
    def product(x, w):
        y = jnp.einsum("ij,jk->ik", x, w, out_sharding=P("y", None, unreduced={"x"}))
        return y + y, jax.reshard(y, P("y", None)) * 2

    x = jax.device_put(jnp.arange(32.0).reshape(4, 8), P("y", "x"))
    w = jax.device_put(jnp.arange(16.0).reshape(8, 2), P("x", None))
    assert_same_on_devices(
        jxc.jit(product, pipeline=pipeline, strict=True)(x, w), jax.jit(product)(x, w)
    )


@pytest.mark.parametrize("pipeline", LEVELS)
def test_gradients_of_reduced_arguments_are_partial_sums(pipeline, explicit):
    def loss(w, x):
        return jnp.einsum("ij,jk->ik", x, w, out_sharding=P("x", None)).sum()

    w = jax.device_put(jnp.arange(16.0).reshape(8, 2), P(reduced={"x"}))
    x = jax.device_put(jnp.arange(32.0).reshape(4, 8), P("x", None))
    gradient = jax.grad(loss)
    expected = jax.jit(gradient)(w, x)
    assert expected.sharding.spec.unreduced == {"x"}
    assert_same_on_devices(jxc.jit(gradient, pipeline=pipeline, strict=True)(w, x), expected)


@pytest.mark.parametrize("pipeline", LEVELS)
def test_constants_are_split_before_they_become_partial_sums(pipeline, explicit):
    x = jax.device_put(jnp.arange(8.0), P(reduced={"x"}))
    gradient = jax.grad(lambda x: jax.reshard(x, P("x")).sum())
    expected = jax.jit(gradient)(x)
    assert expected.sharding.spec.unreduced == {"x"}
    assert_same_on_devices(jxc.jit(gradient, pipeline=pipeline, strict=True)(x), expected)


@pytest.mark.parametrize("pipeline", [*LEVELS, "simplify", "redundant-constraints,simplify"])
def test_functions_may_return_partial_sums(pipeline, explicit):
    def same(x):  # without constraints on its ops, which rules do not look through
        return jax.lax.pad(x, 0.0, [(0, 0, 0)])

    inner = jax.jit(lambda x, y: x + jax.reshard(y, P("x")))
    x = jax.device_put(jnp.arange(8.0), P("x"))
    y = jax.device_put(jnp.arange(8.0), P(reduced={"x"}))
    gradient = jax.grad(lambda x, y: (same(x) * inner(x, y)).sum(), argnums=(0, 1))
    expected = jax.jit(gradient)(x, y)
    assert_same_on_devices(jxc.jit(gradient, pipeline=pipeline, strict=True)(x, y), expected)


def made_in_function(a, b):
    return jax.jit(lambda x: jax.reshard(x, partial_sums("x")))(a * b)


def made_of_result(a, b):
    return jax.reshard(jax.jit(lambda a, b: (a, a * b))(a, b)[1], partial_sums("x"))


def made_in_loop(a, b):
    def body(carry, _):
        total, x = carry
        return (total + jax.reshard(x, partial_sums("x")), x + a), None

    return jax.lax.scan(body, (jax.reshard(a, partial_sums("x")), a * b), None, length=3)[0]


def added_up_in_function(a, b):
    inner = jax.jit(lambda part, b: b + jax.reshard(part, P("x")))
    return inner(jax.reshard(a, partial_sums("x")), jax.reshard(b, P("x")))


def added_up_in_loop(a, b):
    def body(carry, _):
        part, total = carry
        return (part + part, total + jax.reshard(part, P("x"))), None

    first = jax.reshard(a, partial_sums("x")), jax.reshard(b, P("x"))
    return jax.lax.scan(body, first, None, length=3)[0]


PARTIAL = [made_in_function, made_of_result, made_in_loop, added_up_in_function, added_up_in_loop]


@pytest.mark.parametrize("pipeline", [*LEVELS, "redundant-constraints,simplify"])
@pytest.mark.parametrize("program", PARTIAL)
def test_partial_sums_are_made_and_added_up_where_the_program_says_so(program, pipeline, explicit):
    a, b = (jax.device_put(jnp.arange(8.0) + n, P()) for n in (1, 2))
    expected = jax.jit(program)(a, b)
    assert_same_on_devices(jxc.jit(program, pipeline=pipeline, strict=True)(a, b), expected)


@pytest.mark.parametrize("pipeline", LEVELS)
def test_reduction_of_partial_sums_along_a_split_dimension(pipeline, explicit):
    # Shardy's explicit reshards make an invalid all-reduce here, which XLA does not verify.
    def total(x):
        return jax.lax.reduce_sum(x + x, axes=(1,), out_sharding=P("y", unreduced={"x"}))

    x = jax.reshard(jnp.arange(32.0).reshape(4, 8), P(None, "y", unreduced={"x"}))
    ours = jxc.jit(total, pipeline=pipeline, strict=True)(x)
    assert_same_on_devices(ours, jax.jit(total)(x))


@pytest.mark.parametrize("pipeline", LEVELS)
def test_gradient_through_shard_map_is_rewritten(pipeline, explicit):
    square = jax.shard_map(lambda x: x * x, in_specs=P("x"), out_specs=P("x"))
    x = jax.device_put(jnp.arange(8.0), P("x"))
    gradient = jax.grad(lambda x: square(x).sum())
    assert_same_on_devices(
        jxc.jit(gradient, pipeline=pipeline, strict=True)(x), jax.jit(gradient)(x)
    )


@pytest.mark.parametrize("pipeline", LEVELS)
def test_axes_of_one_name_in_two_meshes_are_told_apart(pipeline, devices):
    wide = Mesh(devices.reshape(4), ("x",))
    narrow = Mesh(devices, ("x", "y"))

    def moved(x):
        x = jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(wide, P("x")))
        return jax.lax.with_sharding_constraint(-x, NamedSharding(narrow, P("x"))) * 1

    x = jax.device_put(jnp.arange(8.0), NamedSharding(wide, P("x")))
    assert_same_on_devices(jxc.jit(moved, pipeline=pipeline, strict=True)(x), jax.jit(moved)(x))


RANDOM = """
import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
with jax.set_mesh(mesh):
    split = NamedSharding(mesh, P("x"))
    draw = jax.jit(lambda key: jax.random.NAME(key, *PARAMETERS, (4,), out_sharding=split))
    print(draw(jax.random.key(0)).tolist())
"""


@pytest.mark.parametrize(("name", "parameters"), [("poisson", (3.0,)), ("beta", (2.0, 3.0))])
def test_calls_in_loops_do_not_crash_the_process(name, parameters, tmp_path):
    # In a process of its own, which the fault ended by a signal.
    code = RANDOM.replace("NAME", name).replace("PARAMETERS", repr(parameters))

    def printed(**variables):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert printed(JXC_PIPELINE="simplify", JXC_STRICT="1") == printed()

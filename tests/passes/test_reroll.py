"""Unrolled loops after the pass `reroll`, compared on the interpreter bit for bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jxc
from jxc.check.run import shared_interpreter
from jxc.passes.reroll.sequence import Run, runs_in

SIZE = 4


def whiles(lowered):
    return lowered.as_text().count("stablehlo.while")


def same_bits(function, args, loops, pipeline="reroll"):
    """The pass keeps each bit of the results, and the program has this many loops, if given."""
    plain = jxc.lower(function, *args).opt("inline,symbol-dce")
    after = plain.opt(pipeline)
    assert loops is None or whiles(after) == loops, after.as_text()
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
    want, got = (shared_interpreter().run(each.module, leaves) for each in (plain, after))
    for expected, found in zip(want, got, strict=True):
        np.testing.assert_array_equal(found, expected)
    return after


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layer(steps, x, old, p, shared):
    """A layer made of drawn steps, on the state, the state before, parameters, a shared value."""
    for step in steps:
        if step == "product":
            x = x @ p["w"]
        elif step == "bias":
            x = x + p["b"]
        elif step == "shared":
            x = x * shared + jnp.float32(0.5)
        elif step == "sine":
            x = jnp.sin(x)
        elif step == "sum":
            x = x - x.sum(-1, keepdims=True)
        elif step == "roll":
            x = jnp.roll(x, 1, -1)
        elif step == "split":
            left, right = jnp.split(x, 2, -1)
            x = jnp.concatenate([right, left * left], -1)
        elif step == "older":
            x = x - old
        elif step == "where":
            x = jnp.where(jnp.tril(jnp.ones((SIZE, SIZE), bool)), x, -x)
    return x


STEPS = ("product", "bias", "shared", "sine", "sum", "roll", "split", "older", "where")


@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=5),
    count=st.integers(4, 7),
    residual=st.booleans(),
    results=st.booleans(),
    gradient=st.booleans(),
    stacked=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_random_layers_keep_their_bits(steps, count, residual, results, gradient, stacked):
    def network(x, ps, shared):
        old, ys = x, []
        for number in range(count):
            p = jax.tree.map(lambda leaf, i=number: leaf[i], ps) if stacked else ps[number]
            y = layer(steps, x, old, p, shared)
            old, x = x, x + y if residual else y
            ys.append(x)
        return (x, *ys[1::2]) if results else x

    def loss(*args):
        return sum(each.sum() for each in jax.tree.leaves(network(*args)))

    layers = [{"w": array(SIZE, SIZE, seed=n), "b": array(SIZE, seed=n)} for n in range(count)]
    ps = jax.tree.map(lambda *leaves: np.stack(leaves), *layers) if stacked else layers
    computed = jax.grad(loss, argnums=(0, 1, 2)) if gradient else network
    args = (array(SIZE, SIZE, seed=99), ps, array(SIZE, seed=98))
    # JAX drops arguments that nothing uses.
    same_bits(lambda *args: (computed(*args), args), args, None, "reroll{min-ops=4}")


def network(x, ps):
    for p in ps:
        x = x + jnp.tanh(x @ p["w"] + p["b"]) @ p["v"]
    return x


def layers(count):
    return [
        {"w": array(3, 5, seed=n), "b": array(5, seed=n), "v": array(5, 3, seed=n)}
        for n in range(count)
    ]


def test_layers_become_one_loop():
    same_bits(network, (array(2, 3), layers(5)), 1)


def test_gradient_reads_the_stacks_of_the_forward_pass():
    def loss(x, ps):
        return (network(x, ps) ** 2).sum()

    after = same_bits(jax.value_and_grad(loss, argnums=(0, 1)), (array(2, 3), layers(6)), 2)
    # Only the parameters are stacked before the loops: the gradient reads them in reverse.
    assert after.as_text().count("stablehlo.concatenate") <= 3


def test_time_steps_slice_their_input_and_stack_their_output():
    def rnn(w, xs, h):
        hs = []
        for x in xs:
            h = jnp.tanh(x @ w + h)
            hs.append(h)
        return jnp.stack(hs)

    args = (array(3, 3), array(6, 2, 3), array(2, 3))
    same_bits(rnn, args, 1, "reroll{min-ops=4}")


def test_weights_shared_by_time_steps_sum_their_gradients():
    def loss(w, xs, h):
        for x in xs:
            h = jnp.tanh(x @ w + h * h)
        return h.sum()

    same_bits(jax.grad(loss, argnums=(0, 1)), (array(3, 3), array(7, 2, 3), array(2, 3)), 2)


def test_calls_are_segments_before_inlining():
    @jax.jit
    def step(x, a):
        return jnp.sin(x) * a + x * x

    def solve(x, a):
        for _ in range(6):
            x = step(x, a) - a
        return x

    plain = jxc.lower(solve, array(5), np.float32(0.5))
    after = plain.opt("reroll{min-ops=4}")
    assert whiles(after) == 1 and after.as_text().count("call @step") == 1
    args = [array(5), np.float32(0.5)]
    want, got = (np.asarray(each.compile()(*args)) for each in (plain, after))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_integer_constants_wrap_around():
    def steps(x):
        for number in range(6):
            x = (x * jnp.int32(3) + jnp.int32(2**31 - 1 - number)) ^ jnp.int32(number * 5)
        return x

    same_bits(steps, (np.arange(4, dtype=np.int32),), 1, "reroll{min-ops=4}")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64", "bool", "uint8"])
def test_values_of_other_types_are_stacked(dtype):
    def steps(x, ps):
        found = []
        for p in ps:
            x = (x ^ p) | x & p if dtype == "bool" else x * p + p
            x = jnp.where(x != p, x, p)
            found.append(x)
        return found

    args = (jnp.ones(3, dtype), [jnp.asarray([n, 1, 0]).astype(dtype) for n in range(5)])
    plain = jxc.lower(steps, *args)
    after = plain.opt("inline,symbol-dce,reroll{min-ops=4}")
    assert whiles(after) == 1
    for want, got in zip(steps(*args), after.compile()(*args), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_complex_constants():
    def steps(x):
        for number in range(5):
            x = x * (1 + 2j) + jnp.complex64(number + 1j)
        return x

    args = (array(3).astype(np.complex64),)
    after = jxc.lower(steps, *args).opt("inline,symbol-dce,reroll{min-ops=4}")
    assert whiles(after) == 1
    np.testing.assert_allclose(after.compile()(*args), steps(*args), rtol=1e-5)


def test_empty_values_are_stacked():
    def steps(x, ps):
        for p in ps:
            x = jnp.sin(x * p) + x
        return x

    args = (np.zeros((0, 3), np.float32), [np.zeros((0, 3), np.float32)] * 5)
    after = jxc.lower(steps, *args).opt("reroll{min-ops=4}")
    assert whiles(after) == 1
    assert after.compile()(*args).shape == (0, 3)


def test_donated_parameters():
    def step(ps, x):
        grads = jax.grad(lambda ps: network(x, ps).sum())(ps)
        return jax.tree.map(lambda p, g: p - g, ps, grads)

    args = (layers(5), array(2, 3))
    want = step(*args)
    given_away = jax.tree.map(jnp.asarray, args)
    got = jxc.jit(step, pipeline="reroll", donate_argnums=0)(*given_away)
    for expected, found in zip(jax.tree.leaves(want), jax.tree.leaves(got), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_runs_share_no_ops():
    numbers = np.array([1, 2, 3] * 5 + [4, 5, 3] * 5 + [7, 8], np.int32)
    assert runs_in(numbers, 4, 6) == [Run(0, 15, 3), Run(15, 30, 3)]


def test_runs_of_a_program_without_repetitions():
    numbers = np.random.default_rng(0).integers(0, 50, 20_000).astype(np.int32)
    assert runs_in(numbers, 4, 16) == []


def test_few_repetitions_are_an_error():
    with pytest.raises(jxc.JxcError, match="expected 2 or more"):
        jxc.lower(jnp.sin, array(3)).opt("reroll{min-repeats=1}")


def heat(x):
    for _ in range(10):
        around = (jnp.roll(x, step, axis) for axis in (0, 1) for step in (1, -1))
        x = x + jnp.float32(0.1) * (sum(around) - 4 * x)
    return x


@pytest.mark.parametrize(("size", "loops"), [(32, 1), (128, 1), (200, 0)])
def test_faster_steps_carry_little(size, loops):
    lowered = jxc.lower(heat, f"f32[{size},{size}]").opt("inline,symbol-dce")
    assert whiles(lowered.opt("reroll{if-faster=true min-ops=64}")) == loops


def relaxed(u, rows, columns):
    """Gauss-Seidel by elements: each reads the new values of its neighbours."""
    for i in range(1, rows):
        for j in range(1, columns):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u = u.at[i, j].set(around / 4)
    return u


@pytest.mark.parametrize(("rows", "loops"), [(5, 1), (4, 0)])
def test_faster_loops_write_at_least_32_elements(rows, loops):
    def function(u):
        return relaxed(u, rows, 9)

    same_bits(function, (array(7, 10),), loops, "reroll{if-faster=true min-ops=64}")


def correlated(x, w):
    size = x.shape[0] - w.shape[0] + 1
    total = jnp.zeros((size, size), x.dtype)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            total = total + x[i : i + size, j : j + size] * w[i, j]
    return total


@pytest.mark.parametrize(("width", "size", "loops"), [(16, 40, 1), (15, 40, 0), (16, 90, 0)])
def test_faster_loops_of_elementwise_ops_are_long_and_carry_little(width, size, loops):
    args = array(size, size), array(width, width, seed=1)
    same_bits(correlated, args, loops, "reroll{if-faster=true min-ops=64}")


def test_faster_loops_of_elementwise_ops_write_no_stacks():
    def function(x, c):
        y = jnp.zeros_like(x)
        for each in c:
            y = y * x + each
        return y.sum()

    lowered = jxc.lower(function, "f32[100]", "f32[300]").opt("inline,symbol-dce")
    gradient = jxc.lower(jax.grad(function), "f32[100]", "f32[300]").opt("inline,symbol-dce")
    loops = [whiles(each.opt("reroll{if-faster=true min-ops=64}")) for each in (lowered, gradient)]
    assert loops == [1, 0]


def recurrent(w, xs, h):
    c = h
    for x in xs:
        i, f, g, o = jnp.split(x @ w["x"] + h @ w["h"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return h.sum()


@pytest.mark.parametrize(("width", "loops"), [(32, 2), (512, 0)])
def test_a_gradient_is_rerolled_with_its_forward_pass_or_not_at_all(width, loops):
    """The gradient of 512 units carries 8 MB; without it, the forward pass would write stacks."""
    weight = jax.ShapeDtypeStruct((width, 4 * width), jnp.float32)
    args = {"x": weight, "h": weight}, f"f32[16,8,{width}]", f"f32[8,{width}]"
    lowered = jxc.lower(jax.grad(recurrent), *args).opt("inline,symbol-dce")
    assert whiles(lowered.opt("reroll{if-faster=true min-ops=64}")) == loops


def test_layers_with_parameters_of_their_own_are_not_rerolled_in_o2():
    def network(layers, x):
        for w in layers:
            x = jnp.concatenate([x[:, 2:], x[:, :2]], 1) @ w
            x = jax.nn.gelu(x) - x.mean(-1, keepdims=True)
        return x

    lowered = jxc.lower(network, ["f32[4,4]"] * 16, "f32[2,4]").opt("inline,symbol-dce")
    assert whiles(lowered.opt("reroll")) == 1
    assert whiles(lowered.opt("reroll{if-faster=true}")) == 0


def test_o2_rerolls_steps_on_cpu_alone():
    lowered = jxc.lower(heat, "f32[32,32]")
    assert whiles(lowered.opt("O2")) == 1
    assert whiles(lowered.opt("O2", target="tpu")) == 0

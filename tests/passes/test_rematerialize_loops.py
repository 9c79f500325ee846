"""Pairs of loops after `recompute`, compared bit by bit on the reference interpreter."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax
from jaxlib.mlir.dialects import stablehlo as hlo

import jxc
from jxc.check import compare_modules
from jxc.ir import walk
from jxc.ir.values import direction_of
from jxc.passes.rematerialize.loops import (
    freed_bytes,
    prepare,
    recompute,
    recomputed_ops,
    stacked_values,
)
from jxc.passes.rematerialize.pairs import loop_pairs

from .scanned import arrays, attention_layers, gradient, layer, layers, programs


def stored_bytes(module):
    prepare(module)
    return sum(value.bytes for value in stacked_values(module))


def recompute_all(function, *args, **options):
    """Recompute in each pair of loops; how many values were recomputed, and why others were not."""
    reasons, counts = [], []

    @jxc.module_pass
    def recompute_in_each_pair(module) -> None:
        """Recompute all stacked values."""
        prepare(module)
        before, number = stored_bytes(module), 0
        while number < len(pairs := loop_pairs(module)):
            chosen = pairs[number].stacked
            again = recomputed_ops(chosen, **options)
            has_loops = any(isinstance(each, hlo.WhileOp) for each in again)
            stored, freed = stored_bytes(module), freed_bytes(chosen, **options)
            declined = recompute(chosen, **options)
            assert has_loops or stored_bytes(module) == stored - freed
            counts.append(len(chosen) - len(declined))
            reasons.extend(each.reason for each in declined)
            number += 1
        assert stored_bytes(module) < before or not sum(counts)

    lowered = jxc.lower(function, *args)
    after = lowered.opt([recompute_in_each_pair], target="cpu")
    given = [np.asarray(each) for each in jax.tree.leaves(args)]
    verdict = compare_modules(lowered.module, after.module, kinds=(), given=given)
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)
    return sum(counts), reasons


WS = [(3, 4), (5, 4, 4)]


def test_recompute_stores_the_carry_only():
    count, reasons = recompute_all(gradient(layers), *arrays(*WS))
    assert count >= 4
    assert reasons == ["it is a carried value at the start of an iteration"]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_recompute_in_short_loops(length):
    count, _ = recompute_all(gradient(layers), *arrays((3, 4), (length, 4, 4)))
    assert (count > 0) == (length > 1)


@pytest.mark.parametrize("unroll", [2, 3])
@pytest.mark.parametrize("length", [4, 6, 7])
def test_recompute_in_unrolled_scans(unroll, length):
    def function(x, ws):
        return lax.scan(layer, x, ws, unroll=unroll)[0]

    count, _ = recompute_all(gradient(function), *arrays((3, 4), (length, 4, 4)))
    assert (count > 0) == (length % unroll == 0)


def test_recompute_in_reversed_scans():
    def function(x, ws):
        return lax.scan(layer, x, ws, reverse=True)[0]

    count, _ = recompute_all(gradient(function), *arrays(*WS))
    assert count >= 4


def test_recompute_reads_a_kept_result():
    """The values that are computed from a result of the program read that result."""

    def function(x, ws):
        def step(c, w):
            product = c @ w
            return jnp.tanh(product) + c, product

        return lax.scan(step, x, ws)

    def loss(x, ws):
        value, pull = jax.vjp(function, x, ws)
        return value, pull(value)

    count, _ = recompute_all(loss, *arrays(*WS))
    assert count > 0


@pytest.mark.parametrize("reverse", [False, True])
def test_recompute_reads_the_carry_from_the_results(reverse):
    """A carried value that is a result too needs no stack of its own."""

    def function(x, ws):
        def step(c, w):
            c = jnp.tanh(c @ w) + c
            return c, c

        return jnp.cos(lax.scan(step, x, ws, reverse=reverse)[1])

    count, reasons = recompute_all(gradient(function), *arrays(*WS))
    assert count > 1
    assert not reasons
    _, reasons = recompute_all(gradient(function), *arrays(*WS), from_results=False)
    assert reasons == ["it is a carried value at the start of an iteration"]


def test_recompute_computes_masks_in_the_loops():
    step, args = gradient(attention_layers), arrays((2, 4, 6), (3, 6, 18))
    count, _ = recompute_all(step, *args)
    assert count >= 3
    after = jxc.lower(step, *args).opt("rematerialize{values=attention}")
    loops = [op for op in walk(after.module.operation) if isinstance(op, hlo.WhileOp)]
    assert len(loops) == 2
    assert all(any(isinstance(op, hlo.IotaOp) for op in walk(loop)) for loop in loops)


def test_masks_are_not_kept_between_the_loops():
    """Three layers: the peak falls by the mask, but for one example's."""
    x, ws = arrays((16, 128, 32), (3, 32, 96))
    needed = {}
    for prepared in (lax.optimization_barrier, lambda mask: mask):
        step = gradient(partial(attention_layers, prepared=prepared))
        jitted = jxc.jit(step, pipeline="rematerialize{values=attention}", strict=True)
        memory = jitted.lower(x, ws).compile().memory_analysis()
        needed[prepared] = memory.temp_size_in_bytes
    kept, computed = needed.values()
    assert computed <= kept - 15 * 128 * 128


def test_recompute_keeps_random_bits():
    def function(x, ws, key):
        def step(carry, w):
            c, key = carry
            key, mine = jax.random.split(key)
            mask = jax.random.bernoulli(mine, 0.5, c.shape)
            return (jnp.where(mask, jnp.tanh(c @ w), c), key), mask.sum()

        (c, _), counts = lax.scan(step, (x, key), ws)
        return c * counts.sum()

    x, ws = arrays((3, 4), (3, 4, 4))

    def loss(x, ws, bits):
        return function(x, ws, jax.random.wrap_key_data(bits)).sum()

    count, _ = recompute_all(jax.grad(loss, (0, 1)), x, ws, jnp.array([1, 2], jnp.uint32))
    assert count > 0


def test_recompute_branches():
    def function(x, ws):
        def step(c, each):
            number, w = each
            c = lax.cond(number % 2 == 0, lambda c: jnp.tanh(c @ w), lambda c: jnp.sin(c) * c, c)
            return c, c.sum()

        return lax.scan(step, x, (jnp.arange(len(ws)), ws))[0]

    count, _ = recompute_all(gradient(function), *arrays(*WS))
    assert count > 0


def test_recompute_loops_inside():
    def function(x, ws):
        def step(c, w):
            return lax.scan(lambda c, _: (jnp.tanh(c @ w) + c, None), c, None, length=3)[0], None

        return lax.scan(step, x, ws)[0]

    count, _ = recompute_all(gradient(function), *arrays(*WS))
    assert count > 2  # in the outer loop, and in the inner one that runs again


def test_recompute_of_a_carry_that_no_iteration_changes():
    def function(x, ws):
        def step(carry, w):
            c, fixed = carry
            return (jnp.tanh(c @ w) * fixed, fixed), None

        (c, fixed), _ = lax.scan(step, (x, jnp.sin(x)), ws)
        return c + fixed

    recompute_all(gradient(function), *arrays(*WS))


def test_recompute_in_batches():
    count, _ = recompute_all(gradient(jax.vmap(layers)), *arrays((2, 3, 4), (2, 4, 4, 4)))
    assert count > 0


def test_recompute_in_several_scans():
    def function(x, ws):
        x = lax.scan(layer, x, ws)[0]
        return lax.scan(layer, jnp.cos(x), ws, reverse=True)[0]

    count, _ = recompute_all(gradient(function), *arrays(*WS))
    assert count >= 8


def test_recompute_in_checkpointed_scans():
    def function(x, ws):
        return lax.scan(jax.checkpoint(layer), x, ws)[0]

    _, reasons = recompute_all(gradient(function), *arrays(*WS))
    assert set(reasons) == {"it is a carried value at the start of an iteration"}


def test_recompute_in_gradients_of_gradients():
    def gradient_norm(x, ws):
        return (jax.grad(lambda x, ws: layers(x, ws).sum())(x, ws) ** 2).sum()

    recompute_all(jax.grad(gradient_norm), *arrays((3, 4), (3, 4, 4)))


def test_recompute_in_simulations():
    def function(x):
        return lax.fori_loop(0, 7, lambda i, c: c + 0.1 * jnp.sin(c * i) * jnp.cos(c), x)

    count, _ = recompute_all(gradient(function), *arrays((4,)))
    assert count > 0


def test_recompute_stores_what_a_callback_returns():
    def function(x, ws):
        def step(c, w):
            kind = jax.ShapeDtypeStruct(c.shape, c.dtype)
            scale = jax.pure_callback(np.sin, kind, lax.stop_gradient(c))
            hidden = jnp.sin(scale * jnp.tanh(c @ w)) * scale
            return hidden * hidden, None

        return lax.scan(step, x, ws)[0]

    found, calls = [], []

    @jxc.module_pass
    def reasons_of(module) -> None:
        """Collect the reasons."""
        prepare(module)
        chosen = stacked_values(module)
        found.append((len(chosen), [each.reason for each in recompute(chosen)]))
        calls.extend(op for op in walk(module) if isinstance(op, hlo.CustomCallOp))

    jxc.lower(gradient(function), *arrays(*WS)).opt([reasons_of])
    [(count, reasons)] = found
    assert count > len(reasons)
    assert set(reasons) <= {
        "it is a carried value at the start of an iteration",
        "it is computed by a callback to Python",
    }
    assert len(calls) == 1


def test_recompute_in_two_loops_of_one_direction():
    def function(x, ws):
        def first(c, w):
            c = jnp.tanh(c @ w)
            return c, (jnp.sin(c) * c, jnp.cos(c) - c)

        def second(c, each):
            a, b = each
            return jnp.tanh(c * a + b), None

        return lax.scan(second, x, lax.scan(first, x, ws)[1])[0]

    count, reasons = recompute_all(function, *arrays(*WS))
    assert (count, reasons) == (2, [])


def test_recompute_declines_what_saves_no_bytes():
    """One sine of the carried value is as large as the carried value."""

    def function(x):
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=5)[0]

    count, reasons = recompute_all(gradient(function), *arrays((4,)))
    assert count == 0
    assert reasons == ["the values to store instead take 80 bytes, and it frees 80"]


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(programs(st.integers(2, 6)))
def test_recompute_in_random_programs(program):
    recompute_all(*program)


def test_a_comparison_for_equality_runs_once():
    """The gradient of a maximum compares values with it, to the last bit."""

    def function(x, ws):
        def step(c, w):
            hidden = jnp.sin(c @ w) * 3
            return jnp.tanh(hidden + hidden.max(-1, keepdims=True)), None

        return lax.scan(step, x, ws)[0]

    comparisons = []

    @jxc.module_pass
    def after(module) -> None:
        """Recompute everything, and collect comparisons."""
        prepare(module)
        recompute(stacked_values(module))
        ops = [op for op in walk(module) if isinstance(op, hlo.CompareOp)]
        comparisons.extend(op for op in ops if direction_of(op) == "EQ")

    given_args = arrays(*WS)
    jxc.lower(gradient(function), *given_args).opt([after])
    assert len(comparisons) == 1
    recompute_all(gradient(function), *given_args)

"""Pairs of loops in segments, compared bit by bit on the reference interpreter."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.check import compare_modules
from jxc.passes.rematerialize.loops import prepare, recompute, stacked_values
from jxc.passes.rematerialize.pairs import loop_pairs
from jxc.passes.rematerialize.segments import (
    bytes_in_segments,
    in_segments,
    ops_in_segments,
    segments_of_least_bytes,
)

from .scanned import arrays, gradient, layer, layers, programs


def split(function, *args, segments, levels=1, first=False):
    """Split all pairs of loops; the reasons, empty ones for those that were split."""
    reasons = []

    @jxc.module_pass
    def split_each_pair(module) -> None:
        """Split each pair of loops."""
        prepare(module)
        if first:
            recompute(stacked_values(module)) if len(loop_pairs(module)) == 1 else None
        left = list(range(len(loop_pairs(module))))
        while left:
            pair = loop_pairs(module)[left.pop()]
            bytes_in_segments(pair, segments, levels=levels)
            ops_in_segments(pair)
            reasons.append(in_segments(pair, segments, levels=levels))

    lowered = jxc.lower(function, *args)
    after = lowered.opt([split_each_pair], target="cpu")
    given = [np.asarray(each) for each in jax.tree.leaves(args)]
    verdict = compare_modules(lowered.module, after.module, kinds=(), given=given)
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)
    return reasons


@pytest.mark.parametrize("length", [6, 8, 9, 11, 13])
@pytest.mark.parametrize("segments", [2, 3, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_in_segments_of_any_length(length, segments, reverse):
    def function(x, ws):
        return lax.scan(layer, x, ws, reverse=reverse)[0]

    reasons = split(gradient(function), *arrays((3, 4), (length, 4, 4)), segments=segments)
    assert reasons in ([""], ["a loop of 6 iterations does not split into 4 segments"])


@pytest.mark.parametrize("length", [16, 19, 27])
@pytest.mark.parametrize("segments, levels", [(2, 2), (3, 2), (2, 3)])
def test_in_segments_of_segments(length, segments, levels):
    args = arrays((3, 4), (length, 4, 4))
    assert split(gradient(layers), *args, segments=segments, levels=levels) == [""]


@pytest.mark.parametrize("length", [9, 10])
def test_in_segments_after_recompute(length):
    args = arrays((3, 4), (length, 4, 4))
    assert split(gradient(layers), *args, segments=3, first=True) == [""]


def test_in_segments_of_simulations():
    def function(x):
        return lax.fori_loop(0, 23, lambda i, c: c + 0.1 * jnp.sin(c * i) * jnp.cos(c), x)

    assert split(gradient(function), *arrays((4,)), segments=4) == [""]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "complex64"])
def test_in_segments_of_other_types(dtype):
    """Through XLA: the interpreter does not run all of these."""

    @jxc.module_pass
    def split_the_pair(module) -> None:
        """Split the pair of loops."""
        prepare(module)
        [pair] = loop_pairs(module)
        assert in_segments(pair, 3) == ""

    with jax.enable_x64(dtype == "float64"):
        args = [each.astype(dtype) for each in arrays((3, 4), (11, 4, 4))]

        def function(x, ws):
            return jax.grad(lambda x, ws: jnp.abs(layers(x, ws)).sum(), (0, 1))(x, ws)

        found = jxc.jit(function, pipeline=[split_the_pair], strict=True)(*args)
        for got, want in zip(found, jax.jit(function)(*args), strict=True):
            tolerance = {"float64": 1e-13, "complex64": 1e-5}.get(dtype, 0.05)
            kind = "complex128" if dtype == "complex64" else "float64"
            got, want = np.asarray(got).astype(kind), np.asarray(want).astype(kind)
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_in_segments_declines_loops_of_one_direction():
    def function(x, ws):
        ys = lax.scan(layer, x, ws)[1]
        return lax.scan(lambda c, y: (jnp.tanh(c * y), None), x, ys)[0]

    reasons = split(function, *arrays((3, 4), (9, 4, 4)), segments=3)
    assert reasons == ["the second loop does not read first what the first loop wrote last"]


def test_in_segments_declines_callbacks():
    def function(x, ws):
        def step(c, w):
            kind = jax.ShapeDtypeStruct(c.shape, c.dtype)
            scale = jax.pure_callback(np.sin, kind, lax.stop_gradient(c))
            return jnp.sin(jnp.tanh(c @ w)) * scale, None

        return lax.scan(step, x, ws)[0]

    found = []

    @jxc.module_pass
    def reasons_of(module) -> None:
        """Collect the reasons."""
        prepare(module)
        found.extend(in_segments(pair, 3) for pair in loop_pairs(module))

    jxc.lower(gradient(function), *arrays((3, 4), (9, 4, 4))).opt([reasons_of])
    assert found == ["it is computed by a callback to Python"]


@pytest.mark.parametrize("length", [8, 9])
def test_in_segments_of_a_loop_whose_carry_is_a_result_too(length):
    def function(x, ws):
        def body(carry, w):
            return jnp.sin(carry @ w) * carry, carry

        last, before = lax.scan(body, x, ws)
        return last * before[::2].sum()

    args = arrays((3, 4), (length, 4, 4))
    assert split(gradient(function), *args, segments=3, levels=1)[0] == ""


def test_in_segments_declines_small_savings():
    def function(x):
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=4)[0]

    reasons = split(gradient(function), *arrays((4,)), segments=2)
    assert reasons == ["it stores 80 bytes instead of 64"]


@pytest.mark.parametrize("length, levels, segments", [(100, 1, 20), (97, 1, 22), (128, 2, 8)])
def test_segments_of_least_bytes(length, levels, segments):
    found = []

    @jxc.module_pass
    def choose(module) -> None:
        """Choose a number of segments."""
        prepare(module)
        found.append(segments_of_least_bytes(loop_pairs(module)[0], levels=levels))

    jxc.lower(gradient(layers), *arrays((3, 4), (length, 4, 4))).opt([choose])
    assert found == [segments]


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(programs(st.integers(4, 14)), st.integers(2, 4), st.integers(1, 2))
def test_in_segments_of_random_programs(program, segments, levels):
    split(*program, segments=segments, levels=levels)

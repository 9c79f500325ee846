"""Programs that plain XLA or another StableHLO optimizer miscompiles: correct at O1 and O2.

Each bug was reproduced with jax 0.10.2 and 0.12.0.1 on the CPU. There is one exception: XLA's
importer folds `x + 0.0` to x in every form, so that -0.0 stays -0.0 through `jax.jit`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.lax.lax import lt_to_p

import jxc
from jxc.check.run import shared_interpreter, widen

LEVELS = ["O1", "O2"]
RAMP = np.arange(256, dtype=np.int32)


def _clipped_gather(x):
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    index = np.array([[200]], np.uint8)
    return lax.gather(x, index, numbers, (1,), mode="clip")


def _vmapped_slice(x):
    return jax.vmap(lambda row: lax.dynamic_slice(row, (np.uint8(200),), (1,)))(x)


WRONG_IN_XLA = {
    "dynamic_slice at uint8": (
        lambda x: lax.dynamic_slice(x, (np.uint8(200),), (1,)),
        (RAMP,),
        np.array([200]),
    ),
    "dynamic_slice_in_dim at uint8": (
        lambda x: lax.dynamic_slice_in_dim(x, np.uint8(200), 1),
        (RAMP,),
        np.array([200]),
    ),
    "dynamic_slice under vmap at uint8": (
        _vmapped_slice,
        (np.stack([RAMP, RAMP + 1000]),),
        np.array([[200], [1200]]),
    ),
    "gather at uint8": (_clipped_gather, (RAMP,), np.array([200])),
    "clamp of booleans": (lambda: lax.clamp(False, False, True), (), np.array(False)),
    "sign of -0.0": (lambda: lax.sign(np.float32(-0.0)), (), np.float32(-0.0)),
    "reduce over nothing": (
        lambda x: lax.reduce(x, np.int32(1), lax.add, ()),
        (np.array([5, 6], np.int32),),
        np.array([6, 7]),
    ),
    "reduce of nothing by a constant": (
        lambda x: lax.reduce(x, np.float32(1), lambda a, b: jnp.float32(42), (0,)),
        (np.zeros(0, np.float32),),
        np.float32(1),
    ),
    "total order of zeros": (
        lambda: lt_to_p.bind(np.float32(-0.0), np.float32(0.0)),
        (),
        np.array(True),
    ),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", WRONG_IN_XLA)
def test_bug_of_xla_is_avoided(name, level):
    function, args, expected = WRONG_IN_XLA[name]
    found = np.asarray(jxc.jit(function, pipeline=level)(*args))
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found).tolist() == np.signbit(expected).tolist()


def test_addition_of_zero_is_kept():
    """-0.0 + 0.0 is 0.0: the rules of jxc keep the addition, and the interpreter returns 0.0."""
    lowered = jxc.lower(lambda x: x + 0.0, np.float32(-0.0)).opt("O2")
    [found] = shared_interpreter().run(lowered.module, [np.array(-0.0, np.float32)])
    assert not np.signbit(found)


def _fake_quantised(dtype):
    return lambda x: x.astype(dtype).astype(jnp.float32)


INF = np.float32(np.inf)
EDGES = np.array([0.0, -0.0, 1.1, -1.1, 7e4, np.inf, -np.inf, np.nan], np.float32)
WRONG_ELSEWHERE = {
    "max of products with an initial value": (
        lambda x: lax.reduce(x * 0.5, np.float32(3), lax.max, (0,)),
        (np.array([1, 2, 4], np.float32),),
    ),
    "int32 divided twice": (
        lambda x: lax.div(lax.div(x, np.int32(65536)), np.int32(65536)),
        (np.array([5, -5, 2**31 - 1, -(2**31)], np.int32),),
    ),
    "int8 divided twice": (
        lambda x: lax.div(lax.div(x, np.int8(16)), np.int8(16)),
        (np.array([5, -5, 127, -128], np.int8),),
    ),
    "a round trip through float8": (_fake_quantised(jnp.float8_e4m3fn), (EDGES,)),
    "a round trip through bfloat16": (_fake_quantised(jnp.bfloat16), (EDGES,)),
    "a round trip through float16": (_fake_quantised(jnp.float16), (EDGES,)),
    "where(x > 0, x, 0)": (lambda x: jnp.where(x > 0, x, 0), (EDGES,)),
    "a padded factor": (
        lambda x, y: jnp.pad(x, 1) * y,
        (np.ones(2, np.float32), np.array([np.inf, 1, 2, np.nan], np.float32)),
    ),
    "pow(-inf, 0.5)": (lambda x: lax.pow(x, np.float32(0.5)), (EDGES,)),
    "int32 x / x": (lambda x: lax.div(x, x), (np.array([0, 3, -3, -(2**31)], np.int32),)),
    "int32 0 / x": (lambda x: lax.div(np.int32(0), x), (np.array([0, 3, -3], np.int32),)),
    "log of a square": (lambda x: jnp.log(x * x), (np.array([-2, 2, 0], np.float32),)),
    "a sum of products": (lambda x, y: (x * y).sum(), (EDGES[:4], EDGES[2:6])),
    "the least integer's absolute": (
        lambda x: jnp.maximum(jnp.abs(x), 0),
        (np.array([-(2**31), -1, 0], np.int32),),
    ),
    "a stencil under fori_loop": (
        lambda c: lax.fori_loop(0, 3, lambda _, c: c.at[1:-1].set((c[:-2] + c[2:]) * 0.5), c),
        (np.arange(8, dtype=np.float32) ** 2,),
    ),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", WRONG_ELSEWHERE)
def test_bug_of_other_optimizers_is_avoided(name, level):
    """The result equals that of plain `jax.jit`, bit for bit; all NaNs count as equal."""
    function, args = WRONG_ELSEWHERE[name]
    expected = np.asarray(jax.jit(function)(*args))
    found = np.asarray(jxc.jit(function, pipeline=level)(*args))
    [expected], [found] = widen(expected), widen(found)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    assert (np.signbit(found) == np.signbit(expected))[numbers].all()

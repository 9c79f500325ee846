"""The pass offload: the same bits, and less memory of the device by the compilers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jxc
from jxc.backend.targets import find_target
from jxc.compiled.program import compile_module
from jxc.errors import JxcError
from jxc.ir import clone_module
from jxc.passes.offload import stored_values
from jxc.passes.rematerialize.pairs import prepare

from .scanned import gradient, layers, programs

PLACEMENT = "annotate_device_placement"


def offloadable(lowered):
    """The primitives of the values that loops store for loops."""
    copy = clone_module(lowered.module)
    with copy.context:
        prepare(copy.operation)
        return sorted({each.label.op for each in stored_values(copy.operation)})


def assert_same_bits(lowered, after, args):
    assert PLACEMENT in after.as_text()
    found, expected = (each.compile()(*args) for each in (after, lowered.opt("inline")))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=25, deadline=None)
@given(programs(st.integers(1, 5)))
def test_offload_keeps_the_bits(program):
    function, *args = program
    lowered = jxc.lower(function, *args)
    names = offloadable(lowered)
    if not names:
        return
    after = lowered.opt(f"offload{{values={','.join(names)}}}", target="gpu:h100")
    assert_same_bits(lowered, after, args)


@pytest.mark.parametrize("name", ["tpu:v5e", "gpu:h100"])
def test_offload_lowers_the_peak(name):
    target = find_target(name)
    if target.missing:
        pytest.skip(f"the compiler for {name} is not installed")
    x, ws = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((2048, 512), (16, 512, 512)))
    lowered = jxc.lower(gradient(layers), x, ws).for_target(name)
    try:
        sizes = [
            compile_module(lowered.opt(each, target=name).module, target, {}).memory.temporaries
            for each in ("O2", f"offload{{values={','.join(offloadable(lowered))}}},O2")
        ]
    except JxcError as error:
        pytest.skip(str(error))
    assert sizes[1] < 0.6 * sizes[0]


@settings(max_examples=15, deadline=None)
@given(programs(st.integers(1, 5)), st.data())
def test_offload_after_rematerialize_keeps_the_bits(program, data):
    function, *args = program
    lowered = jxc.lower(function, *args)
    names = offloadable(lowered)
    if not names:
        return
    again = data.draw(st.sampled_from(names))
    before = lowered.opt(f"rematerialize{{values={again}}}")
    left = offloadable(before)
    if not left:
        return
    after = before.opt(f"offload{{values={','.join(left)}}}", target="gpu:h100")
    assert_same_bits(lowered, after, args)

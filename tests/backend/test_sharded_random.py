"""Random programs over four devices: the results and shardings of plain JAX, shard by shard."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from scripts.fuzzing.sharded import KINDS, PIPELINES, run

from ..devices import assert_same_on_devices

_PROGRAMS = 4  # of each kind; `scripts/fuzz.py sharded` runs more


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_have_the_shards_of_plain_jax(kind):
    tally = run([kind], range(_PROGRAMS), lambda: False)
    assert not tally.finds, str(tally)
    compared = tally.compared / len(PIPELINES)
    assert compared + tally.refused == _PROGRAMS and compared > tally.refused, str(tally)


def mesh_of(kind=AxisType.Explicit):
    return jax.make_mesh((4,), ("d",), axis_types=(kind,))


def test_comparison_finds_a_shard_that_differs_from_its_replicas():
    sharding = NamedSharding(mesh_of(), P())
    shards = [jax.device_put(np.ones(4, np.float32), each) for each in jax.devices()[:4]]
    right = jax.make_array_from_single_device_arrays((4,), sharding, shards)
    shards[2] = shards[2] + 1
    wrong = jax.make_array_from_single_device_arrays((4,), sharding, shards)
    np.testing.assert_array_equal(wrong, right)  # which reads one shard
    with pytest.raises(AssertionError, match="result 0 on "):
        assert_same_on_devices(wrong, right, rtol=1e-5)
    assert_same_on_devices(right, right)


def test_comparison_finds_other_shardings_and_bits():
    with jax.set_mesh(mesh_of()):
        whole = jax.reshard(jnp.zeros(4), P())
        for spec in (P("d"), P(unreduced={"d"}), P(reduced={"d"})):
            with pytest.raises(AssertionError, match="instead of"):
                assert_same_on_devices(jax.reshard(whole, spec), whole)
        with pytest.raises(AssertionError, match="result 0 on "):
            assert_same_on_devices(-whole, whole)
        assert_same_on_devices(-whole, whole, atol=1e-6)


def test_comparison_finds_the_axis_by_which_partial_sums_were_multiplied():
    with jax.set_mesh(mesh_of()):
        parts = jax.reshard(jnp.arange(8.0), P(unreduced={"d"}))
        twice = jax.jit(lambda x: x + x)(parts)
        assert_same_on_devices(twice, twice)
        with pytest.raises(AssertionError, match="result 0 on "):
            assert_same_on_devices(twice, parts, rtol=1e-5)

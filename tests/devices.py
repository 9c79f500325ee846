"""Results over several devices, compared shard by shard, with their shardings."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jxc.check.judge import widest


def assert_same_on_devices(
    found: Any, expected: Any, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Fail unless two pytrees of arrays have the same shardings and the same data on each device.

    Whole arrays do not show all differences: a value that is not reduced yet is the sum of its
    shards, and one that JAX takes for replicated may differ between devices.

    Args:
        found: the results in question.
        expected: those of plain JAX.
        rtol, atol: as `numpy.testing.assert_allclose` takes them; the same bits where both are 0.
    """
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for number, (ours, theirs) in enumerate(pairs):
        where = f"result {number}"
        kinds = [(each.dtype, each.shape) for each in (ours, theirs)]
        assert kinds[0] == kinds[1], f"{where}: {kinds[0]} instead of {kinds[1]}"
        assert_same_sharding(ours, theirs, where)
        for one, other in zip(_shards(ours), _shards(theirs), strict=True):
            at = f"{where} on {other.device}"
            assert one.device == other.device, at
            _assert_same_data(*map(_data, (one, other)), rtol, atol, at)


def assert_same_sharding(found: jax.Array, expected: jax.Array, where: str = "") -> None:
    """Fail unless two arrays are split alike, with the same axes not reduced."""
    ours, theirs = found.sharding, expected.sharding
    assert ours.is_equivalent_to(theirs, found.ndim), f"{where}: {ours} instead of {theirs}"
    for name in ("unreduced", "reduced"):
        axes = [getattr(getattr(each, "spec", None), name, None) for each in (ours, theirs)]
        assert axes[0] == axes[1], f"{where}: {name} over {axes[0]} instead of {axes[1]}"


def _shards(array: jax.Array) -> list[Any]:
    return sorted(array.addressable_shards, key=lambda shard: shard.device.id)


def _data(shard: Any) -> np.ndarray:
    is_key = jax.dtypes.issubdtype(shard.data.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(shard.data) if is_key else shard.data)


def _assert_same_data(
    found: np.ndarray, expected: np.ndarray, rtol: float, atol: float, at: str
) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), at
    if rtol or atol:
        wide = [widest(each) for each in (found, expected)]
        np.testing.assert_allclose(*wide, rtol=rtol, atol=atol, err_msg=at)
    else:
        np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8), err_msg=at)

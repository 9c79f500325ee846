"""Products with a mask, whose other factor is infinite or NaN where the mask is 0.

XLA computes x * mask.astype(f32) as select(mask, x, 0), so plain JAX returns finite numbers. Passes
must leave the converted mask an operand of the product.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc

Moved = Callable[[jax.Array], jax.Array]
Masked = Callable[[jax.Array, jax.Array], jax.Array]


def also_counted(moved: Masked) -> Masked:
    """The sum of a moved product, over the number of elements in the mask."""

    def mean(x: jax.Array, mask: jax.Array) -> jax.Array:
        factor = mask.astype(x.dtype)
        return moved(x, factor).sum() / factor.sum()

    return mean


MASKED: dict[str, Masked] = {
    "transposed": lambda x, mask: x.T * mask.T.astype(x.dtype),
    "reversed": lambda x, mask: x[::-1] * mask[::-1].astype(x.dtype),
    "reshaped": lambda x, mask: x * mask.reshape(2, 12).astype(x.dtype).reshape(4, 6),
    "transposed_back": lambda x, mask: (x.T * mask.T.astype(x.dtype)).T,
    "transposed_values": lambda x, mask: (x.T * mask.reshape(6, 4).astype(x.dtype)).T,
    "reshaped_values": lambda x, mask: x.reshape(24) * mask.reshape(24).astype(x.dtype),
    "sliced": lambda x, mask: (x * mask.astype(x.dtype))[:, ::2],
    "sliced_and_counted": also_counted(lambda x, factor: (x * factor)[:, 1:]),
    "indexed_and_counted": also_counted(lambda x, factor: (x * factor)[:, jnp.array([0, 3, 2])]),
}


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("name", MASKED)
def test_masked_products_are_finite_where_plain_jax_is(name: str, level: str) -> None:
    rng = np.random.default_rng(0)
    mask = rng.random((4, 6)) > 0.4
    mask[0] = True
    masks = mask.T.reshape(4, 6) if name == "transposed_values" else mask
    taken = masks.reshape(6, 4).T if name == "transposed_values" else masks
    x = np.where(taken, rng.standard_normal((4, 6)), np.inf).astype(np.float32)
    expected = np.asarray(jax.jit(MASKED[name])(x, masks))
    found = jxc.lower(MASKED[name], x, masks).opt(level).compile()(x, masks)
    np.testing.assert_allclose(found, expected, 1e-6)


def test_booleans_are_transposed_before_they_are_converted() -> None:
    """The mask has another layout than x, as a batch of lengths in a recurrent network has."""
    mask = np.array([[1, 0, 1], [1, 1, 0]], bool)
    x = np.where(mask.T, np.float32(2), np.float32(np.inf))
    for order in (lambda m: m.T, lambda m: m[::-1, ::-1].T[::-1, ::-1]):

        def masked(
            x: jax.Array, m: jax.Array, order: Callable[..., jax.Array] = order
        ) -> jax.Array:
            return x * order(m).astype(x.dtype)

        found = jxc.lower(masked, x, mask).opt("O1").compile()(x, mask)
        np.testing.assert_array_equal(found, np.asarray(jax.jit(masked)(x, mask)))
        assert np.isfinite(np.asarray(found)).all()

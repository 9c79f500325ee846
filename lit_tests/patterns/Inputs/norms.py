import jax
import jax.numpy as jnp

import jxc


@jxc.replacement(jxc.reassociates, x="f32[n,d]", eps=float)
def unit(x, eps):
    """x / sqrt(sum(x^2) + eps) -> the same with rsqrt."""
    return x / jnp.sqrt(jnp.sum(x * x, -1, keepdims=True) + eps)


@unit.by(when=lambda m: m.d >= 4)
def with_rsqrt(x, eps):
    return x * jax.lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) + eps)

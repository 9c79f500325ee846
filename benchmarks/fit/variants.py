"""The variants that a user writes by hand to need less memory, as values.

A program is defined once (`registry`). It wraps its blocks by `Variant.block`, its long loops by
`Variant.loop`, and `training_step` wraps the whole loss and splits the batch. The name of a variant
says what is done, joined by "+": "block:dots_saveable", "whole:nothing_saveable", "parts:4",
"nested", "block+parts:4". A block without a policy saves nothing, so that there is no
"block:nothing_saveable".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

POLICIES = ("dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable")
RATE = 1.0
"""The learning rate of gradient descent: large, so that wrong gradients show in the parameters."""


@dataclass(frozen=True)
class Variant:
    """What is done by hand.

    Attributes:
        blocks: the policy of `jax.checkpoint` around each block, "" for none; None without.
        whole: the same around the whole loss.
        parts: into how many parts the batch is split, whose gradients are added.
        nested: whether loops are split into chunks of about the square root of their length, each
            under `jax.checkpoint`.
    """

    blocks: str | None = None
    whole: str | None = None
    parts: int = 1
    nested: bool = False

    def block(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a layer or block, under `jax.checkpoint` or unchanged."""
        return _checkpointed(function, self.blocks)

    def loop(self, body: Callable[..., Any], carry: Any, xs: Any, length: int) -> tuple[Any, Any]:
        """`lax.scan` of `length` iterations, as one loop or nested."""
        body = self.block(body)
        if not self.nested:
            return lax.scan(body, carry, xs, length)
        inner = next(size for size in range(isqrt(length), 0, -1) if length % size == 0)
        outer = length // inner
        chunk = jax.checkpoint(lambda carry, xs: lax.scan(body, carry, xs, inner))
        xs = jax.tree.map(lambda x: x.reshape(outer, inner, *x.shape[1:]), xs)
        carry, ys = lax.scan(chunk, carry, xs, outer)
        return carry, jax.tree.map(lambda y: y.reshape(length, *y.shape[2:]), ys)


def parse_variant(name: str) -> Variant:
    """The variant of a name such as "block:dots_saveable+parts:4".

    Raises:
        ValueError: a part of the name is none of those of the module's docstring.
    """
    found: dict[str, Any] = {}
    for part in name.split("+"):
        kind, _, value = part.partition(":")
        if kind in ("block", "whole") and value in ("", *POLICIES):
            found["blocks" if kind == "block" else "whole"] = value
        elif kind == "parts" and value.isdigit():
            found["parts"] = int(value)
        elif part == "nested":
            found["nested"] = True
        elif part != "plain":
            raise ValueError(f"expected plain, block, whole, parts:N or nested, found {part!r}")
    return Variant(**found)


def _checkpointed(function: Callable[..., Any], policy: str | None) -> Callable[..., Any]:
    if policy is None:
        return function
    chosen = getattr(jax.checkpoint_policies, policy) if policy else None
    return jax.checkpoint(function, policy=chosen)


def training_step(loss: Callable[..., Any], variant: Variant) -> Callable[..., Any]:
    """A step of gradient descent: `step(params, state, batch, seed) -> params, state, value`.

    Args:
        loss: `loss(params, state, batch, key)` returns its value and the new state.
        variant: how it is written.
    """
    gradients = jax.value_and_grad(_checkpointed(loss, variant.whole), has_aux=True)

    def step(params: Any, state: Any, batch: Any, seed: jax.Array) -> tuple[Any, Any, jax.Array]:
        given = (params, state, batch, jax.random.key(seed))
        (value, state), slopes = _added(gradients, variant.parts, *given)
        params = jax.tree.map(lambda p, slope: p - RATE * slope, params, slopes)
        return params, state, value

    return step


def _added(
    gradients: Callable[..., Any], parts: int, params: Any, state: Any, batch: Any, key: jax.Array
) -> Any:
    """The mean of the values and gradients of all parts of the batch, one after the other."""
    if parts == 1:
        return gradients(params, state, batch, key)

    def add(total: Any, part: Any) -> tuple[Any, None]:
        value, slopes, state = total
        (more, state), found = gradients(params, state, *part)
        return (value + more, jax.tree.map(jnp.add, slopes, found), state), None

    split = jax.tree.map(lambda x: x.reshape(parts, x.shape[0] // parts, *x.shape[1:]), batch)
    first = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params), state)
    (value, slopes, state), _ = lax.scan(add, first, (split, jax.random.split(key, parts)))
    mean = partial(jax.tree.map, lambda x: x / parts)
    return (mean(value), state), mean(slopes)

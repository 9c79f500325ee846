"""The programs of the benchmark by name. `fit.programs` imports the files that define them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fit.variants import POLICIES, parse_variant, training_step

LARGE_DEVICE = 64 << 30
"""Devices with more bytes of memory than this get the largest sizes."""


@dataclass(frozen=True)
class Task:
    """A loss and the shapes of its arguments, as pytrees of `jax.ShapeDtypeStruct`.

    Attributes:
        loss: `loss(params, state, batch, key)` returns its value and the new state.
        params: of the parameters.
        batch: of the examples; the first dimension counts them if the gradient can be accumulated.
        state: of what the loss updates, such as the statistics of batch norm.
    """

    loss: Callable[..., Any]
    params: Any
    batch: Any
    state: Any = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program to train.

    Attributes:
        build: the task of a variant and of sizes by name.
        small: sizes for the CPU.
        large: sizes for devices with about 16 GiB, on which the plain program does not fit.
        largest: what differs from `large` on devices with more than `LARGE_DEVICE` bytes.
        blocks: whether it has blocks that a user can wrap.
        parts: whether the gradient of a batch is the mean of the gradients of its parts.
        loop: whether it has a long loop.
    """

    name: str
    build: Callable[..., Task]
    small: Mapping[str, Any]
    large: Mapping[str, Any]
    largest: Mapping[str, Any]
    blocks: bool = True
    parts: bool = True
    loop: bool = False

    @property
    def variants(self) -> list[str]:
        """The names of its variants, plain first."""
        return list(self._variants())

    def _variants(self) -> Iterator[str]:
        yield "plain"
        if self.blocks:
            yield from ("block", *(f"block:{policy}" for policy in POLICIES[:2]))
        if self.loop:
            yield "nested"
        if self.parts:
            yield from ("parts:2", "parts:4")
        if self.parts and self.blocks:
            yield "nested+parts:4" if self.loop else "block+parts:4"
        yield from (f"whole:{policy}" for policy in POLICIES)

    def sizes(self, memory_bytes: int) -> dict[str, Any]:
        """The sizes for a device with so much memory; 0 for the CPU."""
        if not memory_bytes:
            return dict(self.small)
        return {**self.large, **(self.largest if memory_bytes > LARGE_DEVICE else {})}

    def step(self, variant: str, sizes: Mapping[str, Any]) -> tuple[Callable[..., Any], Any]:
        """The training step of a variant, and the shapes of its arguments."""
        how = parse_variant(variant)
        task = self.build(how, **sizes)
        seed = jax.ShapeDtypeStruct((), jnp.uint32)
        return training_step(task.loss, how), (task.params, task.state, task.batch, seed)


PROGRAMS: dict[str, Program] = {}


def program(
    small: Mapping[str, Any],
    large: Mapping[str, Any],
    largest: Mapping[str, Any],
    name: str = "",
    **traits: bool,
) -> Callable[[Callable[..., Task]], Callable[..., Task]]:
    """Register a function that builds a task; its name with dashes is that of the program."""

    def add(build: Callable[..., Task]) -> Callable[..., Task]:
        called = name or build.__name__.replace("_", "-")
        PROGRAMS[called] = Program(called, build, small, large, largest, **traits)
        return build

    return add


def shapes(tree: Any, dtype: Any = jnp.float32) -> Any:
    """The `jax.ShapeDtypeStruct`s of a pytree of tuples of sizes."""
    is_shape = lambda x: isinstance(x, tuple)  # noqa: E731
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x, dtype), tree, is_leaf=is_shape)


def integers(*shape: int) -> jax.ShapeDtypeStruct:
    """The shape of integers: tokens or labels."""
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def values_of(tree: Any) -> Any:
    """Values of given shapes: integers below 8, small numbers, positive ones of vectors."""
    random = np.random.default_rng(0)

    def value(leaf: Any) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            return jnp.asarray(random.integers(0, 8, leaf.shape), leaf.dtype)
        found = random.standard_normal(leaf.shape)
        found = 1 + 0.1 * found if len(leaf.shape) == 1 else 0.1 * found
        return jnp.asarray(found, leaf.dtype)

    return jax.tree.map(value, tree)

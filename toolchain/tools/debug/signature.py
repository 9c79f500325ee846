"""Which compiled program a call is for, and what of the call that program takes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax

from ...backend import _private, hook


class Signature:
    """How the calls of a jitted function differ.

    Args:
        jitted: what `jax.jit` returned.
    """

    def __init__(self, jitted: Any) -> None:
        hook.user_context()  # a part of what JAX's programs depend on, from when it is there
        positions, self._names = _private.static_arguments(jitted)
        self._positions = frozenset(positions)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, tuple[Any, ...], dict[str, Any]]:
        """What tells programs apart, and the arguments that are not static."""
        places = {place % len(args) for place in self._positions if -len(args) <= place < len(args)}
        given = tuple(arg for place, arg in enumerate(args) if place not in places)
        named = {name: arg for name, arg in kwargs.items() if name not in self._names}
        static = tuple(args[place] for place in sorted(places))
        static += tuple((name, kwargs[name]) for name in sorted(kwargs.keys() & set(self._names)))
        leaves, tree = jax.tree.flatten((given, named))
        kinds = tuple((jax.typeof(leaf), _home(leaf)) for leaf in leaves)
        return (tree, kinds, static, _private.trace_context()), given, named


def _home(leaf: Any) -> Any:
    """Where an array has to stay; None where that is open."""
    is_here = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf.sharding if is_here and leaf.committed else None

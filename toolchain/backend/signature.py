"""Which compiled program of a jitted function a call runs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax

from . import _private, registered


class CallSignature:
    """Which compiled program of a jitted function a call runs.

    Args:
        jitted: the result of `jax.jit`.
    """

    def __init__(self, jitted: Any) -> None:
        registered.user_context()  # JAX's programs depend on it from its creation on
        positions, self._names = _private.static_arguments(jitted)
        self._positions = frozenset(positions)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, tuple[Any, ...], dict[str, Any]]:
        """A key for the program of a call, and the arguments that are not static."""
        count = len(args)
        positions = {each % count for each in self._positions if -count <= each < count}
        given = tuple(arg for position, arg in enumerate(args) if position not in positions)
        named = {name: arg for name, arg in kwargs.items() if name not in self._names}
        static = tuple(args[position] for position in sorted(positions))
        static += tuple((name, kwargs[name]) for name in sorted(kwargs.keys() & set(self._names)))
        leaves, tree = jax.tree.flatten((given, named))
        kinds = tuple((jax.typeof(leaf), _committed_sharding(leaf)) for leaf in leaves)
        return (tree, kinds, static, _private.trace_context()), given, named


def _committed_sharding(leaf: Any) -> Any:
    """The sharding that an array is committed to; None if JAX may move it."""
    is_array = isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)
    return leaf.sharding if is_array and leaf.committed else None

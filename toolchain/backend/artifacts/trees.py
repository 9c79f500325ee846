"""How arguments and results nest, as JSON: no class of the user's is needed to load a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

_LEAF = "*"


def encode(tree: Any) -> Any:
    """The nesting of a pytree: lists, tuples, dicts and None are kept.

    Any other container (a named tuple, a dataclass) is kept as a tuple of what it holds.
    """
    if tree is None:
        return None
    if type(tree) is dict and all(isinstance(key, (str, int)) for key in tree):
        return {"dict": [[key, encode(tree[key])] for key in sorted(tree)]}
    if type(tree) is list:
        return {"list": [encode(child) for child in tree]}
    children = _children(tree)
    return _LEAF if children is None else {"tuple": [encode(child) for child in children]}


def _children(tree: Any) -> list[Any] | None:
    """What a container holds, in JAX's order; None for a leaf."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=lambda x: x is not tree)
    is_leaf = jax.tree_util.treedef_is_leaf(structure) and structure.num_leaves  # () is none
    return None if is_leaf else leaves


def decode(told: Any, leaves: Iterator[Any]) -> Any:
    """A pytree of that nesting, filled with leaves in order."""
    if told is None:
        return None
    if told == _LEAF:
        return next(leaves)
    ((kind, children),) = told.items()
    if kind == "dict":
        return {key: decode(child, leaves) for key, child in children}
    made = [decode(child, leaves) for child in children]
    return made if kind == "list" else tuple(made)

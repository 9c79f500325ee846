"""Two pytrees that JAX tells apart, in words: what one has and the other has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from .functions import Known, an, describe

_PLAIN = (tuple, list, dict, type(None))


def outline(tree: Any) -> str:
    """A pytree's structure, or another value, in few words."""
    if _is_tree(tree) and jax.tree_util.treedef_is_leaf(tree):
        return "one array"
    kind = _kind(tree)
    if kind is not None and kind not in _PLAIN:
        return an(kind)
    text = str(tree).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= 60 else f"{text[:57]}..."


def metadata_words(old: Any, new: Any) -> tuple[str, str] | None:
    """What two trees of the same nodes carry beside arrays, where that alone differs."""
    one, other = _first_differing(old, new)
    kind = _kind(one)
    if kind is None or kind in _PLAIN or kind is not _kind(other):
        return None
    carried = [_carried(tree) for tree in (one, other)]
    if len(carried[0]) != len(carried[1]):
        return None
    differing = [pair for pair in zip(*carried, strict=True) if pair[0].token != pair[1].token]
    words = [", ".join(known.words for known in side) for side in zip(*differing, strict=True)]
    return (words[0], words[1]) if differing else (f"{an(kind)}'s",) * 2


def type_words(old: Any, new: Any) -> tuple[str, str] | None:
    """The types of two trees, where these differ and one is a class of its own."""
    kinds = [_kind(tree) for tree in (old, new)]
    if kinds[0] is kinds[1] or None in kinds or all(kind in _PLAIN for kind in kinds):
        return None
    return (an(kinds[0]), an(kinds[1]))  # type: ignore[arg-type]


def differing_outlines(old: Any, new: Any) -> tuple[str, str]:
    """The first parts of two trees that are not alike."""
    one, other = _first_differing(old, new)
    return outline(one), outline(other)


def _carried(tree: Any) -> Sequence[Known]:
    data = tree.node_data()[1]
    items = data if type(data) is tuple else (data,)
    return [describe(item, by_identity=True) for item in items]


def _is_tree(tree: Any) -> bool:
    return isinstance(tree, jax.tree_util.PyTreeDef)


def _kind(tree: Any) -> type | None:
    """The class of a tree's root; None of a leaf."""
    data = tree.node_data() if _is_tree(tree) else None
    return data[0] if data else None


def _first_differing(old: Any, new: Any) -> tuple[Any, Any]:
    """The first two nodes in the same place that are not alike, their children apart."""
    pairs = list(zip(old.children(), new.children(), strict=False))
    if old.num_nodes and _kind(old) is _kind(new) and len(old.children()) == len(new.children()):
        for one, other in pairs:
            if one != other:
                return _first_differing(one, other)
    return old, new

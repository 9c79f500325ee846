"""What differs between two calls of one function, such that a program of one cannot serve both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax

from .calls import PIPELINE, Call, Leaf
from .functions import Known
from .records import Difference
from .trees import differing_outlines, metadata_words, outline, type_words

_FAR = {
    "structure": 4,
    "configuration": 3,
    "closure": 3,  # a closure is of a function made anew
    "metadata": 2,
    "function": 2,
    "sharding": 2,
    "dtype": 2,
}
"""How far a difference takes two calls apart; 1 for all other kinds."""


def nearest(call: Call, earlier: Sequence[tuple[int, Call]]) -> tuple[int, tuple[Difference, ...]]:
    """The number of the earlier call that differs least, the latest such, and what differs."""
    ranked = [(number, compare(other, call)) for number, other in earlier]
    return min(reversed(ranked), key=lambda each: _distance(each[1]))


def _distance(differences: Sequence[Difference]) -> int:
    return sum(_FAR.get(each.kind, 1) for each in differences)


def compare(before: Call, after: Call) -> tuple[Difference, ...]:
    """What differs, in the order in which it is worth knowing; empty where nothing is seen."""
    found = [
        *_context(before, after),
        *_function(before, after),
        *_structure(before, after),
        *_static(before, after),
        *_arrays(before, after),
        *_layout(before, after),
    ]
    return tuple(found)


def _context(before: Call, after: Call) -> Iterator[Difference]:
    found = [*_settings(before, after), *_options(before, after)]
    yield from found
    if not found and before.context.get("") != after.context.get(""):  # JAX's own key
        pairs = zip(before.context.get("", ()), after.context.get("", ()), strict=False)
        was, now = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
        yield Difference("configuration", "JAX's trace context", outline(was), outline(now))


def _settings(before: Call, after: Call) -> Iterator[Difference]:
    old, new = before.context, after.context
    changed = set(zip(old.get("", ()), new.get("", ()), strict=False))
    for name in new:
        pair = (old.get(name), new[name])
        if name and pair[0] != pair[1] and (pair in changed or name == PIPELINE):
            yield Difference("configuration", name, repr(pair[0]), repr(pair[1]))
    if before.mesh != after.mesh:
        yield Difference("configuration", "mesh", before.mesh or "none", after.mesh or "none")


def _options(before: Call, after: Call) -> Iterator[Difference]:
    """What `jax.jit` was told of one function; of another, it is another jit."""
    if not before.function.is_same_object(after.function):
        return
    differ = {n: v for n, v in after.options.items() if before.options.get(n) not in (None, v)}
    for name, value in differ.items():
        numbers = name.replace("_argnames", "_argnums")  # JAX works out one of the other
        if numbers == name or numbers not in differ:
            yield Difference("configuration", f"jax.jit's {name}", before.options[name], value)


def _function(before: Call, after: Call) -> Iterator[Difference]:
    old, new = before.function, after.function
    if old.is_same_object(new):
        return
    changed = [
        Difference("closure", name, known.words, new.closed_over[name].words)
        for name, known in old.closed_over.items()
        if name in new.closed_over and known.token != new.closed_over[name].token
    ]
    yield from changed or [Difference("function", "", new.form, new.form)]


def _structure(before: Call, after: Call) -> Iterator[Difference]:
    for name in sorted(before.by_keyword ^ after.by_keyword):
        if before.is_given(name) and after.is_given(name):
            ways = ("given by position", "given by keyword")
            order = ways if name in after.by_keyword else ways[::-1]
            yield Difference("structure", name, *order)
    names = dict.fromkeys([*before.trees, *after.trees])
    for name in names:
        old, new = before.trees.get(name), after.trees.get(name)
        if (old is None) != (new is None) or old != new:
            yield _tree(name, old, new, before, after)


def _tree(name: str, old: Any, new: Any, before: Call, after: Call) -> Difference:
    """Two pytrees by what one has and the other has not; whole where that tells nothing."""
    if old is None or new is None:
        words = ("left out", "given") if old is None else ("given", "left out")
        return Difference("structure", name, *words)
    if metadata := metadata_words(old, new):
        return Difference("metadata", name, *metadata)
    return Difference("structure", name, *_tree_words(name, old, new, before, after))


def _tree_words(name: str, old: Any, new: Any, before: Call, after: Call) -> tuple[str, str]:
    if jax.tree_util.treedef_is_leaf(old) or jax.tree_util.treedef_is_leaf(new):
        return outline(old), outline(new)
    if types := type_words(old, new):
        return types
    paths = [[leaf.name for leaf in call.leaves if _is_in(leaf, name)] for call in (before, after)]
    lost = [path for path in paths[0] if path not in paths[1]]
    gained = [path for path in paths[1] if path not in paths[0]]
    if lost or gained:
        before_words = f"with {_some(lost)}" if lost else f"without {_some(gained)}"
        after_words = f"with {_some(gained)}" if gained else f"without {_some(lost)}"
        return before_words, after_words
    return differing_outlines(old, new)


def _is_in(leaf: Leaf, name: str) -> bool:
    rest = leaf.name.removeprefix(name)
    return leaf.name.startswith(name) and (not rest or rest[0] in ".[")


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _static(before: Call, after: Call) -> Iterator[Difference]:
    for name in dict.fromkeys([*before.static, *after.static]):
        known, new = before.static.get(name), after.static.get(name)
        if known is None or new is None or known.token != new.token:
            yield Difference("static value", name, *_static_words(known, new))


def _static_words(known: Known | None, new: Known | None) -> tuple[str, str]:
    """Two values; of containers that read alike, what differs in them."""
    words = ["left out" if each is None else each.words for each in (known, new)]
    if known is None or new is None or words[0] != words[1] or not known.parts:
        return words[0], words[1]
    one, other = _narrowed(known, new)
    return f"one with {one.words}", f"one with {other.words}"


def _narrowed(one: Known, other: Known) -> tuple[Known, Known]:
    """What alone differs in two containers; they themselves where it is several things."""
    pairs = zip(one.parts, other.parts, strict=False)
    differing = [pair for pair in pairs if pair[0].token != pair[1].token]
    if len(differing) != 1 or len(one.parts) != len(other.parts):
        return one, other
    return _narrowed(*differing[0])


def _arrays(before: Call, after: Call) -> Iterator[Difference]:
    old = {leaf.name: leaf for leaf in before.leaves}
    for leaf in after.leaves:
        if (other := old.get(leaf.name)) is not None:
            yield from _array(other, leaf)


def _array(old: Leaf, new: Leaf) -> Iterator[Difference]:
    if old.shape != new.shape:
        yield Difference("shape", new.name, old.words, new.words)
    if old.dtype != new.dtype:
        yield Difference("dtype", new.name, old.words, new.words)
    elif old.weak != new.weak:
        yield Difference("weak type", new.name, old.words, new.words)
    if (old.shape, old.dtype) == (new.shape, new.dtype) and old.text != new.text:
        yield Difference("sharding", new.name, old.text, new.text)


def _layout(before: Call, after: Call) -> Iterator[Difference]:
    one, two = before.layout, after.layout
    if not one or not two or one["arg_names"] != two["arg_names"]:
        return
    pairs = list(zip(one["arg_shardings"], two["arg_shardings"], strict=False))
    for name, (was, now) in zip(one["arg_names"], pairs, strict=False):
        if was != now:
            yield Difference("sharding", name or "an argument", _placed(was), _placed(now))
    if one["arg_shardings"] == two["arg_shardings"] and not any(_options(before, after)):
        for key, words in _PROMISES.items():
            if one[key] != two[key]:
                yield Difference("configuration", words, _some(one[key]), _some(two[key]))


_PROMISES = {
    "donated_args": "the donation of arguments",
    "platforms": "the platform",
    "result_shardings": "the placement of results",
    "in_layouts": "the memory layout of arguments",
}


def _placed(sharding: str) -> str:
    return "by default" if sharding == "None" else sharding.replace(", memory_kind=device", "")

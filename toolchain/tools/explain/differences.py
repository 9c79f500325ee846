"""What differs between two calls of one function, so that one program cannot serve both.

`compare` checks everything that JAX's cache keys depend on, from the configuration to the placement
of arguments. `most_similar` picks the earlier call that a message should compare with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .calls import JAX_KEY, PIPELINE, JitCall
from .functions import ConstantValue, describe, with_article


@dataclass(frozen=True)
class CallDifference:
    """One way in which a call differs from the most similar earlier one.

    Attributes:
        kind: "shape", "dtype", "weak type", "static value", "structure", "metadata" (what a pytree
            holds besides arrays), "sharding", "function", "closure" or "configuration".
        where: the argument, such as "batch['x']"; empty if it is not about one.
        before: the value in the earlier call, as text.
        after: the value in this call.
    """

    kind: str
    where: str
    before: str
    after: str


_WEIGHTS = {
    "structure": 4,
    "configuration": 3,
    "closure": 3,  # implies another function
    "metadata": 2,
    "function": 2,
    "sharding": 2,
    "dtype": 2,
}
"""How much a difference makes two calls dissimilar; 1 for the other kinds."""


def most_similar(
    call: JitCall, earlier: Sequence[tuple[int, JitCall]]
) -> tuple[int, tuple[CallDifference, ...]]:
    """The number of the latest of the most similar earlier calls, and the differences from it."""
    ranked = [(number, compare(other, call)) for number, other in earlier]
    return min(reversed(ranked), key=lambda each: sum(_WEIGHTS.get(d.kind, 1) for d in each[1]))


def compare(before: JitCall, after: JitCall) -> tuple[CallDifference, ...]:
    """The differences, the most important first; empty if none is found."""
    checks = (
        *(_of_context, _of_function, _of_structure),
        *(_of_static_values, _of_arrays, _of_layout),
    )
    return tuple(found for check in checks for found in check(before, after))


def _of_context(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    found = [*_of_configuration(before, after), *_of_options(before, after)]
    yield from found
    if not found and before.context.get(JAX_KEY) != after.context.get(JAX_KEY):
        keys = [call.context.get(JAX_KEY, ()) for call in (before, after)]
        pairs = zip(*keys, strict=False)
        was, now = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
        yield CallDifference("configuration", "JAX's trace context", _outline(was), _outline(now))


def _of_configuration(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    old, new = before.context, after.context
    changed = set(zip(old.get(JAX_KEY, ()), new.get(JAX_KEY, ()), strict=False))
    for name in new:
        pair = (old.get(name), new[name])
        # Settings that are not in JAX's key do not affect programs.
        if name != JAX_KEY and pair[0] != pair[1] and (pair in changed or name == PIPELINE):
            yield CallDifference("configuration", name, repr(pair[0]), repr(pair[1]))
    if before.mesh != after.mesh:
        meshes = (before.mesh or "none", after.mesh or "none")
        yield CallDifference("configuration", "mesh", *meshes)


def _of_options(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    """Options of `jax.jit` for the same function; those of another belong to another jit."""
    if not before.function.is_same_object(after.function):
        return
    differ = {n: v for n, v in after.options.items() if before.options.get(n) not in (None, v)}
    for name, value in differ.items():
        numbers = name.replace("_argnames", "_argnums")  # JAX derives each from the other
        if numbers == name or numbers not in differ:
            where = f"jax.jit's {name}"
            yield CallDifference("configuration", where, before.options[name], value)


def _of_function(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    old, new = before.function, after.function
    if old.is_same_object(new):
        return
    changed = [
        CallDifference("closure", name, value.text, new.captured[name].text)
        for name, value in old.captured.items()
        if name in new.captured and value.token != new.captured[name].token
    ]
    yield from changed or [CallDifference("function", "", new.form, new.form)]


# Pytrees


def _of_structure(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    for name in sorted(before.by_keyword ^ after.by_keyword):
        if before.is_given(name) and after.is_given(name):
            ways = ("given by position", "given by keyword")
            order = ways if name in after.by_keyword else ways[::-1]
            yield CallDifference("structure", name, *order)
    for name in dict.fromkeys([*before.trees, *after.trees]):
        old, new = before.trees.get(name), after.trees.get(name)
        if (old is None) != (new is None):
            ways = ("left out", "given") if old is None else ("given", "left out")
            yield CallDifference("structure", name, *ways)
        elif old != new:
            if metadata := _metadata_texts(old, new):
                yield CallDifference("metadata", name, *metadata)
            else:
                yield CallDifference("structure", name, *_tree_texts(name, old, new, before, after))


_BUILTIN = (tuple, list, dict, type(None))


def _tree_texts(name: str, old: Any, new: Any, before: JitCall, after: JitCall) -> tuple[str, str]:
    """Two pytrees by what only one of them has; by their outlines if that says nothing."""
    if jax.tree_util.treedef_is_leaf(old) or jax.tree_util.treedef_is_leaf(new):
        return _outline(old), _outline(new)
    one, other = _class_of(old), _class_of(new)
    if one and other and one is not other and not (one in _BUILTIN and other in _BUILTIN):
        return with_article(one), with_article(other)
    inside = re.compile(rf"{re.escape(name)}([.\[].*)?", re.DOTALL)
    paths = [[x.name for x in call.leaves if inside.fullmatch(x.name)] for call in (before, after)]
    lost = [path for path in paths[0] if path not in paths[1]]
    gained = [path for path in paths[1] if path not in paths[0]]
    if lost or gained:
        old_text = f"with {_first(lost)}" if lost else f"without {_first(gained)}"
        new_text = f"with {_first(gained)}" if gained else f"without {_first(lost)}"
        return old_text, new_text
    old, new = _first_differing(old, new)
    return _outline(old), _outline(new)


def _first(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _metadata_texts(old: Any, new: Any) -> tuple[str, str] | None:
    """What two pytrees of the same nodes hold besides arrays, if only that differs."""
    one, other = _first_differing(old, new)
    kind = _class_of(one)
    if kind is None or kind in _BUILTIN or kind is not _class_of(other):
        return None
    data = (tree.node_data()[1] for tree in (one, other))
    held = [
        [describe(item, by_identity=True) for item in (each if type(each) is tuple else (each,))]
        for each in data
    ]
    if len(held[0]) != len(held[1]):
        return None
    differing = [pair for pair in zip(*held, strict=True) if pair[0].token != pair[1].token]
    texts = [", ".join(value.text for value in side) for side in zip(*differing, strict=True)]
    return (texts[0], texts[1]) if differing else (f"{with_article(kind)}'s",) * 2


def _first_differing(old: Any, new: Any) -> tuple[Any, Any]:
    """The first two corresponding nodes that differ themselves, not only in their children."""
    is_same_node = _class_of(old) is _class_of(new) and len(old.children()) == len(new.children())
    pairs = zip(old.children(), new.children(), strict=True) if is_same_node else ()
    differing = next(((one, other) for one, other in pairs if one != other), None)
    return _first_differing(*differing) if differing else (old, new)


def _class_of(tree: Any) -> type | None:
    """The class of a pytree's root; None for a leaf, or another value."""
    data = tree.node_data() if isinstance(tree, jax.tree_util.PyTreeDef) else None
    return data[0] if data else None


def _outline(tree: Any) -> str:
    """The structure of a pytree, or another value, in up to 60 characters."""
    is_tree = isinstance(tree, jax.tree_util.PyTreeDef)
    if is_tree and jax.tree_util.treedef_is_leaf(tree):
        return "one array"
    kind = _class_of(tree)
    if kind is not None and kind not in _BUILTIN:
        return with_article(kind)
    text = str(tree).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= 60 else f"{text[:57]}..."


# Static values and arrays


def _of_static_values(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    for name in dict.fromkeys([*before.static, *after.static]):
        old, new = before.static.get(name), after.static.get(name)
        if old is None or new is None or old.token != new.token:
            yield CallDifference("static value", name, *_static_texts(old, new))


def _static_texts(old: ConstantValue | None, new: ConstantValue | None) -> tuple[str, str]:
    """Two values; for containers with the same text, the part that differs."""
    if old is None or new is None or old.text != new.text or not old.parts:
        before, after = ("left out" if each is None else each.text for each in (old, new))
        return before, after
    one, other = _differing_part(old, new)
    return f"one with {one.text}", f"one with {other.text}"


def _differing_part(
    one: ConstantValue, other: ConstantValue
) -> tuple[ConstantValue, ConstantValue]:
    """The only part in which two containers differ; the containers if there are several."""
    pairs = zip(one.parts, other.parts, strict=False)
    differing = [pair for pair in pairs if pair[0].token != pair[1].token]
    if len(differing) != 1 or len(one.parts) != len(other.parts):
        return one, other
    return _differing_part(*differing[0])


def _of_arrays(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    earlier = {leaf.name: leaf for leaf in before.leaves}
    for new in after.leaves:
        if (old := earlier.get(new.name)) is None:
            continue
        texts = (old.description, new.description)
        if old.shape != new.shape:
            yield CallDifference("shape", new.name, *texts)
        if old.dtype != new.dtype:
            yield CallDifference("dtype", new.name, *texts)
        elif old.weak != new.weak:
            yield CallDifference("weak type", new.name, *texts)
        if (old.shape, old.dtype) == (new.shape, new.dtype) and old.text != new.text:
            yield CallDifference("sharding", new.name, old.text, new.text)


def _of_layout(before: JitCall, after: JitCall) -> Iterator[CallDifference]:
    one, two = before.layout, after.layout
    if not one or not two or one["arg_names"] != two["arg_names"]:
        return
    pairs = list(zip(one["arg_shardings"], two["arg_shardings"], strict=False))
    for name, (was, now) in zip(one["arg_names"], pairs, strict=False):
        if was != now:
            where = name or "an argument"
            yield CallDifference("sharding", where, _sharding_text(was), _sharding_text(now))
    if one["arg_shardings"] == two["arg_shardings"] and not any(_of_options(before, after)):
        for key, text in _LAYOUT_TEXTS.items():
            if one[key] != two[key]:
                yield CallDifference("configuration", text, _first(one[key]), _first(two[key]))


_LAYOUT_TEXTS = {
    "donated_args": "the donation of arguments",
    "platforms": "the platform",
    "result_shardings": "the sharding of results",
    "in_layouts": "the memory layout of arguments",
}


def _sharding_text(sharding: str) -> str:
    return "the default" if sharding == "None" else sharding.replace(", memory_kind=device", "")

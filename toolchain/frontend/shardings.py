"""From shardings by name or by pytree prefix to one sharding for each argument and result.

A name is a parameter, a position, or a path such as `params['w']`, with wildcards; the most
specific match wins. A prefix is what `jax.jit(in_shardings=...)` takes. Every choice is checked
against the mesh and the shape before JAX sees it, so that the message can quote the user's flag.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..ir.shardings import (
    Spec,
    format_spec,
    levels_above,
    parse_spec,
    sharding_problem,
    suggest_paths,
    without_trailing,
)
from . import _private
from .diagnose import TracedCall
from .mesh import axes_of, sharding_over, sizes_of
from .specs import describe


def parse_shardings(
    texts: Sequence[str],
) -> tuple[dict[str, Spec], dict[str, Spec], str | None]:
    """The specs of arguments and of results by name, or the name of a function, of `--sharding`s.

    `NAME=SPEC` is about a result if NAME is `result` or a path from it, such as `result['loss']`.

    Raises:
        UsageError: one is neither NAME=SPEC nor FILE.py:FN, has a bad spec, is given twice, or is
            given besides a function.
    """
    arguments: dict[str, Spec] = {}
    results: dict[str, Spec] = {}
    for text in texts:
        name, equals, spec = text.rpartition("=")
        name = name.strip()
        if ":" in spec:  # no spec has one
            if len(texts) > 1:
                raise UsageError(f"--sharding {text} gives all shardings: omit the others")
            return {}, {}, text
        if not equals or not name:
            raise UsageError(
                f"--sharding {text}: expected NAME=SPEC, such as x=data,None, or FILE.py:FN; "
                "NAME= is replicated"
            )
        rules = results if _RESULT.match(name) else arguments
        if name in rules:
            raise UsageError(f"--sharding {name} is given twice")
        try:
            rules[name] = parse_spec(spec)
        except UsageError as error:
            raise UsageError(f"--sharding {text}: {error}") from None
    return arguments, results, None


_RESULT = re.compile(r"result(?![^.\[])")


def check_names(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], results: Mapping[str, Spec]
) -> None:
    """Refuse `--sharding result=SPEC` for a function that is given an argument of that name.

    Raises:
        UsageError: it is given one.
    """
    given = [*_positional(_parameters(function), len(args)), *kwargs]
    if "result" in results and "result" in given:
        raise UsageError(
            "--sharding result names what the function returns, and it also has an argument "
            f"'result': --sharding {given.index('result')}=SPEC shards the argument, and "
            "--sharding FILE.py:FN both"
        )


def _parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters of a function; none if Python does not know them."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _positional(parameters: Sequence[inspect.Parameter], count: int) -> list[str]:
    """The names of `count` positional arguments; `args[0]` for the first of *args."""
    names = [p.name for p in parameters if p.kind in _POSITIONAL][:count]
    of_rest = (p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL)
    rest = next(of_rest, "args")
    return names + [f"{rest}[{index}]" for index in range(count - len(names))]


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class _Leaf:
    """An array of the arguments or results, and the paths that name it, JAX's own first."""

    paths: tuple[str, ...]
    value: Any

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(getattr(self.value, "shape", ()))


# Arguments


def shard_arguments(
    call: TracedCall, mesh: Any, shardings: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with shardings attached; XLA chooses those that are not named.

    Unlike `jax.jit(in_shardings=...)`, shardings on the arguments work for a function that is
    already jitted and for keyword arguments. JAX lowers the same module.

    Args:
        call: the function and its arguments.
        mesh: a JAX mesh; None where there is none.
        shardings: specs by name, as `lower` takes them; or a prefix of the positional arguments.

    Raises:
        UsageError: a name matches nothing, a spec does not fit its array, the function has
            shardings of its own, or there is no mesh.
    """
    _check_mesh(mesh, shardings)
    if mesh is None:
        return call.args, call.kwargs
    if shardings is not None and _private.has_own_shardings(call.traced):
        raise UsageError(
            f"{call.name} is already jitted with its own in_shardings.\n  "
            "Omit yours, or add .__wrapped__ to its name for the function inside."
        )
    from jax import tree_util

    flat, structure = tree_util.tree_flatten_with_path((call.args, call.kwargs))
    names, leaves = _names(call), []
    for path, value in flat:
        heads = names[path[0].idx, getattr(path[1], "idx", getattr(path[1], "key", None))]
        rest = tree_util.keystr(path[2:])
        leaves.append(_Leaf(tuple(head + rest for head in heads), value))
    chosen = _choose("in_shardings", _as_tuple(shardings), leaves, mesh, call.args)
    args, kwargs = structure.unflatten(map(_with_sharding, leaves, chosen))
    return args, kwargs


def _names(call: TracedCall) -> dict[tuple[int, Any], tuple[str, ...]]:
    """The names of each argument, from (0, position) and (1, keyword): parameter, then position."""
    parameters = _parameters(call.traced)
    named = {p.name for p in parameters}
    of_rest = (p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD)
    any_name = next(of_rest, "kwargs")
    names: dict[tuple[int, Any], tuple[str, ...]] = {
        (0, index): (name, str(index))
        for index, name in enumerate(_positional(parameters, len(call.args)))
    }
    for position, key in enumerate(call.kwargs, len(call.args)):
        own = (key,) if key in named else (f"{any_name}[{key!r}]", key)
        names[1, key] = (*own, str(position))
    return names


def _with_sharding(leaf: _Leaf, sharding: Any) -> Any:
    """The value to trace for an argument; a Python scalar can only be replicated."""
    import jax

    value = leaf.value
    own: Any = getattr(value, "sharding", None)
    is_placed = isinstance(own, jax.sharding.NamedSharding)
    if not hasattr(value, "shape") or (sharding is None and (is_placed or own is None)):
        return value
    if is_placed and not own.is_equivalent_to(sharding, len(leaf.shape)):
        raise UsageError(f"{leaf.paths[0]} has a sharding of its own, {own}: leave yours out")
    aval = value if isinstance(value, jax.ShapeDtypeStruct) else jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)


# Results


def result_shardings(shardings: Any, mesh: Any, results: Any) -> Any:
    """`out_shardings` for `jax.jit`; None leaves a result open.

    Args:
        shardings: specs by name or position, or a prefix of the results.
        mesh: a JAX mesh.
        results: the tree of results, as `jax.ShapeDtypeStruct`s.

    Raises:
        UsageError: a name matches nothing, or a spec does not fit its array.
    """
    from jax import tree_util

    _check_mesh(mesh, shardings)
    flat, structure = tree_util.tree_flatten_with_path(results)
    tops = list(dict.fromkeys(path[:1] for path, _ in flat))
    leaves = []
    for path, value in flat:
        text = tree_util.keystr(path)
        at = str(tops.index(path[:1])) + tree_util.keystr(path[1:])
        leaves.append(_Leaf(tuple(filter(None, (f"result{text}", text, at))), value))
    return structure.unflatten(_choose("out_shardings", shardings, leaves, mesh, results))


def _check_mesh(mesh: Any, shardings: Any) -> None:
    if mesh is None and shardings is not None:
        raise UsageError("a sharding needs a mesh: --mesh AXIS=SIZE,..., such as --mesh data=4")


# What a function of `--sharding` returns


def split_shardings(value: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The in_shardings and out_shardings that a function of a mesh returned.

    Args:
        value: in_shardings; a pair of both; or a dict of jax.jit's keywords, which is never
            mistaken for another.
        args: the positional arguments.

    Raises:
        UsageError: the value can be read as in_shardings and as a pair.
    """
    keywords = {"in_shardings", "out_shardings"}
    if isinstance(value, dict) and value and value.keys() <= keywords:
        return value.get("in_shardings"), value.get("out_shardings")
    if not (isinstance(value, tuple) and len(value) == 2 and _is_prefix(value[0], args)):
        return value, None
    if not _is_prefix(value, args):
        return value
    if isinstance(_as_tuple(value[0]), tuple):
        raise UsageError(
            "the two values of --sharding may be the shardings of two arguments, or in_shardings "
            "and out_shardings.\n  Return a dict with these names."
        )
    return value, None


def _is_prefix(value: Any, tree: Any) -> bool:
    try:
        _broadcast_prefix(_as_tuple(value), tree)
    except ValueError:
        return False
    return True


def _as_tuple(shardings: Any) -> Any:
    """Shardings of positional arguments as a tuple; jax.jit takes a list too."""
    return tuple(shardings) if isinstance(shardings, list) else shardings


# The choice of a sharding


def _choose(keyword: str, shardings: Any, leaves: list[_Leaf], mesh: Any, tree: Any) -> list[Any]:
    """A `NamedSharding` for each leaf, or None."""
    if shardings is None:
        return [None] * len(leaves)
    if _is_by_name(shardings, tree):
        chosen = _by_name(keyword, shardings, leaves)
    else:
        chosen = _by_prefix(keyword, shardings, tree, len(leaves))
    return [_named(*each, leaf, mesh) for each, leaf in zip(chosen, leaves, strict=True)]


def _is_by_name(shardings: Any, tree: Any) -> bool:
    """Whether it is a dict by names; a dict with the keys of the result tree is a prefix."""
    if not isinstance(shardings, Mapping) or not all(isinstance(key, str) for key in shardings):
        return False
    return not (isinstance(tree, Mapping) and tree.keys() == shardings.keys())


_Choice = tuple[str, Any]
"""The user's text for messages, and the sharding in it, or None."""


def _by_name(keyword: str, rules: Mapping[str, Any], leaves: list[_Leaf]) -> list[_Choice]:
    labels = {}
    for name, rule in rules.items():
        _check_kind("", rule)
        labels[name] = f"--sharding {name}={format_spec(axes_of(rule))}"
        if all(levels_above(name, leaf.paths) is None for leaf in leaves):
            known = suggest_paths(name, [leaf.paths[0] for leaf in leaves])
            kind = "argument" if keyword == "in_shardings" else "result"
            raise UsageError(f"{labels[name]}: no {kind} '{name}'.{known}")
    return [_most_specific(rules, labels, leaf) for leaf in leaves]


def _most_specific(rules: Mapping[str, Any], labels: Mapping[str, str], leaf: _Leaf) -> _Choice:
    above = {name: levels_above(name, leaf.paths) for name in rules}
    ranked = sorted((up, name.count("*"), name) for name, up in above.items() if up is not None)
    if not ranked:
        return "", None
    best = ranked[0][2]
    for *rank, name in ranked[1:]:
        if tuple(rank) == ranked[0][:2] and axes_of(rules[name]) != axes_of(rules[best]):
            raise UsageError(
                f"{labels[best]} and {labels[name]} both name {leaf.paths[0]}: leave one out"
            )
    return labels[best], rules[best]


def _by_prefix(label: str, shardings: Any, tree: Any, count: int) -> list[_Choice]:
    """The choices of a pytree prefix; keyword arguments have none."""
    try:
        chosen = _broadcast_prefix(shardings, tree)
    except ValueError as error:
        found = re.search(r"broadcast_prefix prefix_tree(\S*)", str(error))
        where = f"{label}{found[1].rstrip(':') if found else ''}"
        raise UsageError(
            f"{where} has another structure than the arrays it is for: {describe(tree)}"
        ) from None
    rest = [None] * (count - len(chosen))
    return [(label, sharding) for sharding in (*chosen, *rest)]


def _broadcast_prefix(prefix: Any, tree: Any) -> list[Any]:
    """The leaf of a prefix for each leaf of a tree; ValueError if it is no prefix of it."""
    import jax

    def is_none(value: Any) -> bool:
        return value is None

    return list(jax.tree.leaves(jax.tree.broadcast(prefix, tree, is_leaf=is_none), is_leaf=is_none))


# One sharding and one array


def _check_kind(label: str, sharding: Any) -> None:
    from jax.sharding import NamedSharding, PartitionSpec

    if sharding is not None and not isinstance(sharding, (PartitionSpec, NamedSharding, tuple)):
        where = f"{label}: " if label else ""
        kind = type(sharding).__name__
        raise UsageError(f"{where}expected a PartitionSpec or a NamedSharding, found {kind}")


def _named(label: str, sharding: Any, leaf: _Leaf, mesh: Any) -> Any:
    """The `NamedSharding` of an array over `mesh`; a replicated one fits arrays of any rank.

    Raises:
        UsageError: the sharding is of another kind or over another mesh, or does not fit the array.
    """
    from jax.sharding import NamedSharding, PartitionSpec

    if sharding is None:
        return None
    _check_kind(label, sharding)
    sizes, name = sizes_of(mesh), leaf.paths[0]
    other = getattr(sharding, "mesh", None)
    if other is not None and sizes_of(other) != sizes:
        raise UsageError(f"{label}: {name} is sharded over another mesh, {other}")
    if why := sharding_problem(axes_of(sharding), sizes, leaf.shape):
        raise UsageError(f"{label}: {name} is {describe(leaf.value)}: {why}")
    if isinstance(sharding, tuple):
        return sharding_over(mesh, without_trailing(sharding))
    spec = getattr(sharding, "spec", sharding)
    kind = getattr(sharding, "memory_kind", None)
    return NamedSharding(mesh, spec if any(spec) else PartitionSpec(), memory_kind=kind)

"""Which arguments and results of a program get one sharding, and the rules that say so."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxlib.mlir import ir

from ....cost.flops import bytes_of
from ....ir import argument_names
from ....ir.module import main_of
from ....ir.shardings import (
    Spec,
    format_mesh,
    format_spec,
    path_prefixes,
    sharding_problem,
    without_trailing,
)

_NUMBER = re.compile(r"(?<=\[)\d+(?=\])|(?<=_)\d+(?=['\].\[])(?=(?:[^\[.]*[\[.]){2})")
"""An index, or the number of a container of containers: flax makes
`['Block_0']['Dense_0']['kernel']`, where this is the number of the block."""

_LARGE = 0.01
"""The share of all arguments' bytes from which an argument is decided by itself."""


@dataclass(frozen=True)
class ShardingGroup:
    """Arguments or results with one sharding: of one shape, with one path but for numbers.

    Attributes:
        pattern: their path, with `*` for numbers, as `annotate-sharding` takes it.
        shape: of each.
        members: their positions among the arguments, then the results, of @main.
        bytes: of all of them.
        is_result: whether they are results.
        is_fixed: whether the program has shardings for them.
    """

    pattern: str
    shape: tuple[int, ...]
    members: tuple[int, ...]
    bytes: int
    is_result: bool = False
    is_fixed: bool = False

    @property
    def tail(self) -> str:
        """The path without the name of the argument: `['w']` of `params['w']`."""
        return self.pattern[len(path_prefixes(self.pattern)[0]) :]


@dataclass(frozen=True)
class Unit:
    """Groups that are decided together: parameters, their moments, and what they become.

    Attributes:
        groups: the first decides which dimensions can be split.
        is_updated: whether a result has the shape and the path of an argument.
    """

    groups: tuple[ShardingGroup, ...]
    is_updated: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each array."""
        return self.groups[0].shape

    @property
    def bytes(self) -> int:
        """The bytes of all arguments in it."""
        return sum(group.bytes for group in self.groups if not group.is_result)

    def accepts(self, spec: Spec, mesh: Mapping[str, int]) -> bool:
        """Whether each dimension is a multiple of the number of parts that it is split into."""
        return len(spec) <= len(self.shape) and not sharding_problem(spec, mesh, self.shape)

    def moves(self, spec: Spec, mesh: Mapping[str, int]) -> Iterator[Spec]:
        """The shardings in which one axis of the mesh splits another dimension, or none."""
        dims = [*spec, *[()] * (len(self.shape) - len(spec))]
        for axis in mesh:
            rest = [tuple(each for each in axes if each != axis) for axes in dims]
            for dim in range(-1, len(dims)):
                moved = list(rest)
                if dim >= 0:
                    moved[dim] = tuple(each for each in mesh if each in (*rest[dim], axis))
                made = without_trailing(tuple(moved))
                if made != spec and self.accepts(made, mesh):
                    yield made

    def split_largest(self, axes: tuple[str, ...], mesh: Mapping[str, int]) -> Spec:
        """The sharding that splits the largest dimension that the axes divide; () without one."""
        for dim in sorted(range(len(self.shape)), key=lambda dim: -self.shape[dim]):
            spec = (*[()] * dim, axes)
            if self.accepts(spec, mesh):
                return spec
        return ()


State = Mapping[Unit, Spec]
"""The decisions of a candidate. Shardy's propagation decides on units without one."""


def groups_of(module: ir.Module) -> list[ShardingGroup]:
    """The groups of the arguments, then those of the results, of @main."""
    main = main_of(module)
    assert main is not None
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    names = argument_names(main)
    results = []
    for index, own in enumerate(_attributes(main, "res_attrs", len(types.results))):
        info = own.get("jax.result_info")
        results.append(f"result[{index}]" if info is None else ir.StringAttr(info).value)
    count = len(names)
    found = _grouped(names, types.inputs, _attributes(main, "arg_attrs", count), 0)
    given = _attributes(main, "res_attrs", len(results))
    return found + [
        replace(group, is_result=True) for group in _grouped(results, types.results, given, count)
    ]


def _attributes(main: ir.OpView, key: str, count: int) -> list[dict[str, ir.Attribute]]:
    if key not in main.attributes:
        return [{}] * count
    each = map(ir.DictAttr, ir.ArrayAttr(main.attributes[key]))
    return [{named.name: named.attr for named in own} for own in each]


def _grouped(
    names: Sequence[str],
    types: Sequence[ir.Type],
    attributes: Sequence[Mapping[str, ir.Attribute]],
    first: int,
) -> list[ShardingGroup]:
    shapes = [_shape(kind) for kind in types]
    keys = _patterns(names, shapes)
    found: dict[str, ShardingGroup] = {}
    for at, (key, shape) in enumerate(zip(keys, shapes, strict=True)):
        if shape is None:
            continue
        fixed = any(each in attributes[at] for each in ("sdy.sharding", "mhlo.sharding"))
        old = found.get(key) or ShardingGroup(key, shape, (), 0)
        size = old.bytes + int(bytes_of(types[at]))
        members = (*old.members, first + at)
        found[key] = replace(old, members=members, bytes=size, is_fixed=old.is_fixed or fixed)
    return list(found.values())


def _patterns(names: Sequence[str], shapes: Sequence[tuple[int, ...] | None]) -> list[str]:
    """The paths with `*` for as many numbers, from the first on, as keep the shapes apart."""
    found = list(names)
    left = set(range(len(names)))
    for kept in range(max((len(_NUMBER.findall(name)) for name in names), default=0)):
        kinds = defaultdict(set)
        starred = {at: starred_path(names[at], kept) for at in left}
        for at, pattern in starred.items():
            kinds[pattern].add(shapes[at])
        for at, pattern in starred.items():
            if len(kinds[pattern]) == 1:
                found[at] = pattern
                left.discard(at)
    return found


def starred_path(name: str, kept: int = 0) -> str:
    """A path with `*` for all numbers of layers, but for the last ones."""
    return _NUMBER.sub("*", name, max(len(_NUMBER.findall(name)) - kept, 0) or -1)


def _shape(kind: ir.Type) -> tuple[int, ...] | None:
    """The shape of a tensor of static shape; None for a token, and for a dynamic shape."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    return tuple(kind.shape)


def units_of(groups: Sequence[ShardingGroup]) -> list[Unit]:
    """The units in which groups are decided, the largest first; none for small or fixed arrays."""
    left = list(groups)
    found = []
    whole = sum(group.bytes for group in groups if not group.is_result)
    for group in sorted(groups, key=lambda each: (each.is_result, len(each.pattern))):
        if group not in left:
            continue
        tied = [each for each in left if each is group or _is_tied(each, group)]
        left = [each for each in left if each not in tied]
        if not any(each.is_fixed for each in tied) and not group.is_result and group.shape:
            found.append(Unit(tuple(tied), any(each.is_result for each in tied)))
    large = [unit for unit in found if unit.bytes >= _LARGE * whole or not unit.is_updated]
    return sorted(large, key=lambda unit: -unit.bytes)


def _is_tied(other: ShardingGroup, group: ShardingGroup) -> bool:
    """Whether an array is decided with another: a moment, or what a parameter becomes."""
    if group.is_result or other.shape != group.shape:
        return False
    tail = group.tail
    return bool(tail) and other.pattern.endswith(tail)


def rules_of_state(state: State, mesh: Mapping[str, int]) -> str:
    """The rules of the decisions of a candidate."""
    pairs = {group: spec for unit, spec in state.items() for group in unit.groups}
    return rules_text(pairs, mesh)


def rules_text(specs: Mapping[ShardingGroup, Spec], mesh: Mapping[str, int]) -> str:
    """A file for the pass `annotate-sharding`."""
    lines = [f"mesh {format_mesh(mesh).replace(',', ' ')}"]
    arrays = [group for group in specs if group.shape]
    for group in sorted(arrays, key=_depth_and_stars):
        lines.append(f"{group.pattern} -> {format_spec(specs[group])}".rstrip())
    return "\n".join(lines) + "\n"


def _depth_and_stars(group: ShardingGroup) -> tuple[int, int]:
    """The order of rules, of which the first that matches counts."""
    return -len(path_prefixes(group.pattern)), group.pattern.count("*")


def specs_by_group(
    groups: Sequence[ShardingGroup], specs: Sequence[Spec]
) -> dict[ShardingGroup, Spec]:
    """The sharding of each group that most of its members have, but of fixed ones."""
    return {
        group: Counter(specs[at] for at in group.members).most_common(1)[0][0]
        for group in groups
        if not group.is_fixed
    }


def is_uniform(groups: Sequence[ShardingGroup], specs: Sequence[Spec]) -> bool:
    """Whether all members of each group have one sharding."""
    return all(len({specs[at] for at in group.members}) == 1 for group in groups)


def summary(specs: Mapping[ShardingGroup, Spec], most: int = 4) -> str:
    """What is split over what, in a line: by the last keys of arguments, the largest first."""
    arguments = sorted((g for g in specs if not g.is_result and specs[g]), key=lambda g: -g.bytes)
    named: dict[Spec, dict[str, None]] = defaultdict(dict)
    for group in arguments:
        last = _last_keys(group.pattern, 1)
        alike = [specs[each] for each in arguments if _last_keys(each.pattern, 1) == last]
        is_clear = all(spec == specs[group] for spec in alike)
        named[specs[group]][_last_keys(group.pattern, 1 if is_clear else 2)] = None
    parts = [f"{' '.join(names)}: {format_spec(spec)}" for spec, names in named.items()]
    more = "; ..." if len(parts) > most else ""
    return ("; ".join(parts[:most]) + more) or "all replicated"


def _last_keys(pattern: str, count: int) -> str:
    """`w` of `params['layers'][*]['w']`, or `layers.w`."""
    named = [part for part in re.split(r"[\[\]'\".]+", pattern) if part not in ("", "*")]
    return ".".join(named[-count:]) or pattern

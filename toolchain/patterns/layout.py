"""The layout of a match: the size of each dimension, and how values become arguments.

A dimension of the program along which the pattern maps (`Extra`) is assigned to a mapped dimension
of the pattern, if the same arguments have both. Extra dimensions that are left over become leading
dimensions, which `jax.vmap` maps over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlib.mlir import ir

from ..ir import build, element_type, shape_of, splat_attr
from .axes import Core, Extra, Label, Labels, parts_of
from .match import Bound, Found
from .pattern import Dimension, Pattern


class DoesNotFit(Exception):
    """The dimensions of a match are not those of the declaration; the message says which."""


@dataclass
class Layout:
    """The dimensions of one match.

    Attributes:
        sizes: the size of each named dimension.
        mapped: the dimensions to map over with `jax.vmap`, outermost first.
        groups: the dimension of the program for each group of dimensions of the pattern that is
            mapped over; a group that is not here has size 1.
    """

    sizes: dict[str, int]
    mapped: list[Extra] = field(default_factory=list)
    groups: dict[int, Extra] = field(default_factory=dict)

    def labels(self, dimensions: Sequence[Dimension], core: Labels) -> list[Label]:
        """The label of each dimension of a value of the pattern."""
        return [
            label if isinstance(label, Core) else self.groups.get(each.group)
            for each, label in zip(dimensions, core, strict=True)
        ]


def layout_of(pattern: Pattern, found: Found, names: Sequence[Sequence[str | int]]) -> Layout:
    """The layout of a match.

    Args:
        pattern: the pattern.
        found: the match.
        names: for each argument of the pattern the name or size of each dimension; an argument
            without an entry has no names.

    Raises:
        DoesNotFit: a dimension has two sizes, or cannot be assigned.
    """
    layout = Layout({})
    for bound, dims in zip(found.arguments, names, strict=False):
        if bound is not None:
            _read_core_sizes(bound, dims, layout.sizes)
    groups = _Groups.of(pattern, found, names)
    groups.assign(layout)
    taken = set(layout.groups.values())
    layout.mapped = [extra for extra in groups.extras if extra not in taken]
    for group in groups.free:
        if group not in layout.groups:
            for name in groups.names[group]:
                if layout.sizes.setdefault(name, 1) != 1:
                    raise DoesNotFit(f"dimension {name!r} is both 1 and {layout.sizes[name]}")
    _check_fixed(pattern, found, names, layout)
    for each in found.results:
        if each is not None and any(extra not in _extras(each[1]) for extra in layout.mapped):
            raise DoesNotFit("a result lacks a dimension over which the arguments are mapped")
    return layout


def _read_core_sizes(bound: Bound, dims: Sequence[str | int], sizes: dict[str, int]) -> None:
    shape = shape_of(bound.value)
    for name, dim, label in zip(dims, bound.dims, bound.pattern_labels, strict=True):
        if not isinstance(label, Core) or dim is None or not isinstance(name, str):
            continue
        if sizes.setdefault(name, shape[dim]) != shape[dim]:
            raise DoesNotFit(f"dimension {name!r} is both {sizes[name]} and {shape[dim]}")


def _extras(labels: Labels) -> set[Any]:
    return {part for label in labels for part in parts_of(label) if isinstance(part, Extra)}


@dataclass
class _Groups:
    """The groups of mapped dimensions of the pattern, and the mapped dimensions of the program.

    Attributes:
        extras: the dimensions of the program, in the order of the results.
        free: the groups, in the order of the results, then of the arguments.
        names: the names of each group.
        at: for each group and each dimension of the program, the arguments and results with it.
    """

    extras: list[Extra]
    free: list[int]
    names: dict[int, list[str]]
    at: dict[Any, set[tuple[str, int]]]

    @staticmethod
    def of(pattern: Pattern, found: Found, names: Sequence[Sequence[str | int]]) -> _Groups:
        groups = _Groups([], [], {}, {})
        for number, (value, each) in enumerate(zip(pattern.results, found.results, strict=True)):
            if each is not None:
                groups._add_extras(each[1], ("result", number))
                groups._add_groups(pattern, value, ("result", number), ())
        for number, (value, bound) in enumerate(
            zip(pattern.arguments, found.arguments, strict=True)
        ):
            if bound is not None:
                declared = names[number] if number < len(names) else ()
                groups._add_extras(bound.labels, ("argument", number))
                groups._add_groups(pattern, value, ("argument", number), declared)
        return groups

    def _add_extras(self, labels: Labels, where: tuple[str, int]) -> None:
        for label in labels:
            for part in parts_of(label):
                if isinstance(part, Extra):
                    if part not in self.at:
                        self.extras.append(part)
                    self.at.setdefault(part, set()).add(where)

    def _add_groups(
        self,
        pattern: Pattern,
        value: ir.Value,
        where: tuple[str, int],
        declared: Sequence[str | int],
    ) -> None:
        for index, each in enumerate(pattern.dimensions(value)):
            if each.is_core or shape_of(value)[index] == 1:
                continue
            if each.group not in self.names:
                self.free.append(each.group)
                self.names[each.group] = []
            self.at.setdefault(each.group, set()).add(where)
            if index < len(declared) and isinstance(name := declared[index], str):
                self.names[each.group].append(name)

    def assign(self, layout: Layout) -> None:
        """Assign dimensions of the program to groups: first those that the same values have."""
        for where in list(dict.fromkeys(frozenset(self.at[extra]) for extra in self.extras)):
            groups = [group for group in self.free if self.at[group] == where]
            extras = [extra for extra in self.extras if self.at[extra] == where]
            largest = sorted(extras, key=lambda e: (-e.size, -extras.index(e)))[: len(groups)]
            for extra in reversed([each for each in extras if each in largest]):
                self._give(extra, groups, layout)
        for extra in self.extras:
            if extra not in layout.groups.values():
                wider = [group for group in self.free if self._is_wider(group, extra)]
                self._give(extra, wider, layout)

    def _give(self, extra: Extra, groups: Sequence[int], layout: Layout) -> None:
        """Assign a dimension to the last of `groups` that is free and of the same size."""
        for group in reversed(groups):
            known = {layout.sizes[name] for name in self.names[group] if name in layout.sizes}
            if group not in layout.groups and not known - {extra.size}:
                layout.groups[group] = extra
                for name in self.names[group]:
                    layout.sizes.setdefault(name, extra.size)
                return

    def _is_wider(self, group: int, extra: Extra) -> bool:
        """Whether the pattern has a group wherever the program has `extra`, and in its results."""
        mine, theirs = self.at[group], self.at[extra]
        return theirs <= mine and not any(kind == "result" for kind, _ in mine - theirs)


def _check_fixed(
    pattern: Pattern, found: Found, names: Sequence[Sequence[str | int]], layout: Layout
) -> None:
    """Check the dimensions that are declared with a size."""
    for value, bound, dims in zip(pattern.arguments, found.arguments, names, strict=False):
        for each, name, label in zip(
            pattern.dimensions(value), dims, core_labels(bound, value), strict=True
        ):
            if isinstance(name, str) or bound is None:
                continue
            dim = bound.dims[bound.pattern_labels.index(label)] if label is not None else None
            extra = layout.groups.get(each.group)
            size = shape_of(bound.value)[dim] if dim is not None else extra.size if extra else 1
            if size != name and (dim is not None or extra is not None):
                raise DoesNotFit(f"a dimension declared as {name} is {size}")


def core_labels(bound: Bound | None, value: ir.Value) -> Labels:
    """The labels of the dimensions of a pattern's argument; all None where it is not used."""
    return (None,) * len(shape_of(value)) if bound is None else bound.pattern_labels


def argument_of(bound: Bound, labels: Sequence[Label], shape: Sequence[int]) -> ir.Value:
    """The value of the program as an argument of the inserted function.

    Args:
        bound: the value.
        labels: of the argument's dimensions.
        shape: of the argument; a dimension that the value lacks is broadcast.
    """
    if (element := splat_attr(bound.value)) is not None:
        kind = ir.RankedTensorType.get(list(shape), element_type(bound.value))
        return build.splat(element, kind)
    value, found = _split(bound.value, bound.labels)
    kept = [dim for dim, label in enumerate(found) if label is not None]
    value = build.reshape(value, [shape_of(value)[dim] for dim in kept])
    names = [found[dim] for dim in kept]
    order = sorted(range(len(names)), key=lambda dim: labels.index(names[dim]))
    value = build.transpose(value, order)
    places = [labels.index(names[dim]) for dim in order]
    return build.broadcast(value, list(shape), places)


def _split(value: ir.Value, labels: Labels) -> tuple[ir.Value, list[Label]]:
    """The value with each dimension that is several dimensions merged split into them."""
    if not any(isinstance(label, tuple) for label in labels):
        return value, list(labels)
    shape: list[int] = []
    names: list[Label] = []
    for size, label in zip(shape_of(value), labels, strict=True):
        if isinstance(label, tuple):
            shape += [part.size for part in label if isinstance(part, Extra)]
            names += label
        else:
            shape.append(size)
            names.append(label)
    return build.reshape(value, shape), names


def result_of(value: ir.Value, labels: Sequence[Label], wanted: Labels, like: ir.Value) -> ir.Value:
    """A result of the inserted function, with the dimensions and type of the program's value.

    Args:
        value: the result.
        labels: of its dimensions.
        wanted: the labels of `like`.
        like: the value that it replaces.
    """
    kept = [dim for dim, label in enumerate(labels) if label is not None]
    value = build.reshape(value, [shape_of(value)[dim] for dim in kept])
    names = [labels[dim] for dim in kept]
    order = [names.index(label) for label in wanted if label is not None]
    return build.reshape(build.transpose(value, order), shape_of(like))

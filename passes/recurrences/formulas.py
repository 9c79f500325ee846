"""Formulas by recurrences for the results of a tree, found by their values in a finite field.

For inputs a, b and c, with t along the axis, the results may be

    y[t] = a[t] y[t - 1] + b[t]      linear, forward; products without b, sums without a
    s[t] = a[t + 1] s[t + 1] + c[t]  linear, backward: the gradient of b, for the gradient c of y
    s[t] y[t - 1]                    the gradient of a; two of them where the products are used too

and their sums over dimensions along which an input is broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from jaxlib.mlir import ir

from jxc.ir.values import element_type, shape_of

from . import cost
from .field import NotEvaluated, add, evaluate, multiply, total
from .trees import Tree, Trees

MOST_ROOTS = 5
"""Trees with more inputs are left alone: the number of formulas to try grows with its square."""

MOST_EXITS = 6
"""Trees with more results are left alone."""


@dataclass(frozen=True)
class Linear:
    """A linear recurrence along the axis; a missing rate is 1, a missing drive 0.

    Without a drive, the elements are the products of all rates up to each.

    Attributes:
        rate: the number of the root that is multiplied, or None.
        drive: the number of the root that is added, or None.
        is_backward: whether an element continues from the one after it, by that one's rate.
    """

    rate: int | None
    drive: int | None
    is_backward: bool


@dataclass(frozen=True)
class Term:
    """The elements of `factor`, each times the element of `previous` one before it, if given."""

    factor: Linear
    previous: Linear | None = None


@dataclass(frozen=True)
class Solution:
    """A tree with a formula for each result.

    Attributes:
        tree: the tree.
        sizes: the extents of its largest value.
        axis: the dimension of the axis in that value.
        dims: where the dimensions of each root and result are among those of that value.
        results: the terms whose sum each result is.
    """

    tree: Tree
    sizes: tuple[int, ...]
    axis: int
    dims: Mapping[ir.Value, tuple[int, ...]]
    results: Mapping[ir.Value, tuple[Term, ...]]

    def kept_sizes(self, value: ir.Value) -> list[int]:
        """The shape of a root or result with the rank of the largest value."""
        sizes = [1] * len(self.sizes)
        for dim, size in zip(self.dims[value], shape_of(value), strict=True):
            sizes[dim] = size
        return sizes


def solve(trees: Trees, tree: Tree) -> Solution | None:
    """Formulas for all results of a tree; None if one has none."""
    if tree.length < cost.SHORTEST:
        return None
    exits = trees.exits(tree)
    if not exits or len(exits) > MOST_EXITS or len(tree.roots) > MOST_ROOTS:
        return None
    axes = dict(tree.roots)
    for value in exits:
        axis = trees.axis_of(value)
        if axis is None or shape_of(value)[axis] != tree.length:
            return None
        axes[value] = axis
    placed = _placed(axes)
    if placed is None:
        return None
    axis, sizes, dims = placed
    if not cost.is_faster(sizes, axis, _bytes(exits[0])):
        return None
    try:
        values = evaluate(trees, tree, exits)
    except NotEvaluated:
        return None
    search = _Search(
        {
            value: np.moveaxis(_spread(array, dims[value], len(sizes)), axis, 0)
            for value, array in values.items()
        },
        list(tree.roots),
        (sizes[axis], *sizes[:axis], *sizes[axis + 1 :]),
    )
    results: dict[ir.Value, tuple[Term, ...]] = {}
    for value in exits:
        terms = search.direct(value)
        if terms is None:
            continue
        results[value] = terms
    for value in exits:
        if value not in results:
            terms = search.products(value)
            if terms is None:
                return None
            results[value] = terms
    return Solution(tree, sizes, axis, dims, results)


def _bytes(value: ir.Value) -> int:
    element = element_type(value)
    if isinstance(element, ir.ComplexType):
        return 2 * int(element.element_type.width) // 8
    return int(element.width) // 8


def _placed(
    axes: Mapping[ir.Value, int],
) -> tuple[int, tuple[int, ...], dict[ir.Value, tuple[int, ...]]] | None:
    """The axis and extents of the largest value, and where the dimensions of each are in it."""
    largest = max(axes, key=lambda value: (len(shape_of(value)), int(np.prod(shape_of(value)))))
    axis, sizes = axes[largest], list(shape_of(largest))
    dims = {}
    for value, own in axes.items():
        found = next(_placements(shape_of(value), own, sizes, axis), None)
        if found is None:
            return None
        dims[value] = found
        for dim, size in zip(found, shape_of(value), strict=True):
            sizes[dim] = max(sizes[dim], size)
    return axis, tuple(sizes), dims


def _placements(
    shape: Sequence[int], own: int, sizes: Sequence[int], axis: int
) -> Iterator[tuple[int, ...]]:
    """The ways to place a value's dimensions among `sizes`, in order; the last positions first."""
    for dims in reversed(list(combinations(range(len(sizes)), len(shape)))):
        fits = zip(dims, shape, strict=True)
        if dims[own] == axis and all(
            size in (1, sizes[dim]) or sizes[dim] == 1 for dim, size in fits
        ):
            yield dims


def _spread(array: np.ndarray, dims: Sequence[int], rank: int) -> np.ndarray:
    sizes = [1] * rank
    for dim, size in zip(dims, array.shape, strict=False):
        sizes[dim] = size
    return array.reshape([*sizes, array.shape[-1]])


class _Search:
    """The search for formulas whose values in the field are those of the results.

    Attributes:
        values: those of roots and results, the axis first, of the same rank.
        roots: the roots.
        sizes: the extents of the largest value, the axis first, not cut.
    """

    def __init__(
        self,
        values: Mapping[ir.Value, np.ndarray],
        roots: Sequence[ir.Value],
        sizes: Sequence[int],
    ) -> None:
        self._values, self._sizes = values, sizes
        self._inputs = [values[root] for root in roots]
        self._known: dict[Linear, np.ndarray] = {}
        self._rates: list[int] = []

    def direct(self, value: ir.Value) -> tuple[Term, ...] | None:
        """The recurrence that a result equals, or None."""
        for linear in self._linears:
            if self._begins_as(linear, value) and self._is_sum([Term(linear)], value):
                if linear.rate is not None and linear.rate not in self._rates:
                    self._rates.append(linear.rate)
                return (Term(linear),)
        return None

    def products(self, value: ir.Value) -> tuple[Term, ...] | None:
        """The sum of one or two products of recurrences that a result equals, or None."""
        numbers = range(len(self._inputs))
        terms = [
            Term(Linear(rate, drive, True), Linear(rate, before, False))
            for rate in self._rates or numbers
            if self._inputs[rate].shape == self._values[value].shape
            for drive, before in product(numbers, [*numbers, None])
            if rate not in (drive, before) and drive != before
        ]
        for some in (*combinations(terms, 1), *combinations(terms, 2)):
            if self._is_sum(some, value):
                return tuple(some)
        return None

    @cached_property
    def _linears(self) -> list[Linear]:
        numbers = [*range(len(self._inputs)), None]
        pairs = product(numbers, numbers, [False, True])
        return [
            Linear(rate, drive, back)
            for rate, drive, back in pairs
            if rate != drive and not (back and drive is None)
        ]

    def _begins_as(self, linear: Linear, value: ir.Value) -> bool:
        """Whether the first elements of a recurrence, or the last ones, are those of a result."""
        some = slice(-3, None) if linear.is_backward else slice(0, 3)
        return _is_reduced(self._scanned(linear, some), self._values[value][some], self._sizes)

    def _is_sum(self, terms: Sequence[Term], value: ir.Value) -> bool:
        first, *others = map(self._term, terms)
        for other in others:
            first = add(first, other)
        return _is_reduced(first, self._values[value], self._sizes)

    def _term(self, term: Term) -> np.ndarray:
        factor = self._linear(term.factor)
        if term.previous is None:
            return factor
        previous = self._linear(term.previous)
        first = np.zeros((1, *previous.shape[1:]), np.uint64)
        return multiply(
            factor, np.concatenate([first + (term.previous.drive is None), previous[:-1]])
        )

    def _linear(self, linear: Linear) -> np.ndarray:
        if linear not in self._known:
            self._known[linear] = self._scanned(linear, slice(None))
        return self._known[linear]

    def _scanned(self, linear: Linear, some: slice) -> np.ndarray:
        rate = None if linear.rate is None else self._inputs[linear.rate][some]
        drive = None if linear.drive is None else self._inputs[linear.drive][some]
        return _scanned(rate, drive, linear.is_backward)


def _scanned(rate: np.ndarray | None, drive: np.ndarray | None, is_backward: bool) -> np.ndarray:
    """The elements of a recurrence; see `Linear`.

    After each step, an element combines twice as many elements as before: arithmetic in the field
    is exact, so their order does not matter.
    """
    given = [x for x in (rate, drive) if x is not None]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    order = slice(None, None, -1 if is_backward else 1)
    done = np.broadcast_to(given[-1], shape)[order].copy()
    factor = None if rate is None else np.broadcast_to(rate, shape)[order].copy()
    if factor is not None and is_backward:
        factor[1:] = factor[:-1].copy()  # the rate of the element after each
    distance = 1
    while distance < shape[0]:
        before = done[:-distance]
        if factor is not None:
            before = multiply(factor[distance:], before)
            factor[distance:] = multiply(factor[distance:], factor[:-distance])
        done[distance:] = before if drive is None else add(done[distance:], before)
        distance *= 2
    return done[order]


def _is_reduced(found: np.ndarray, wanted: np.ndarray, sizes: Sequence[int]) -> bool:
    """Whether `wanted` is `found`, summed over the dimensions in which it has one element."""
    sums = tuple(
        dim
        for dim, (size, kept) in enumerate(zip(found.shape, wanted.shape, strict=True))
        if kept == 1 and size > 1
    )
    kept = total(found, sums, sizes, keepdims=True) if sums else found
    return kept.shape == wanted.shape and bool((kept == wanted).all())

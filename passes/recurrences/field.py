"""Evaluate a tree in a finite field at random points.

The ops of a tree add and multiply, so each of its results is a polynomial in its inputs with
integer coefficients. Two different polynomials of degree d have the same value at a random point of
a field of p elements with a probability of at most d/p, by the lemma of Schwartz and Zippel. Here
p is close to 2^31, and the degree of the formulas is at most twice the number of elements along the
axis; trees of more than `DEGREE` times that number are not evaluated. So for 8000 elements, d/p is
at most 2^-16. The dimensions other than the axis are cut to `LANES` positions, because the ops do
the same at all of them. A tree is evaluated at `POINTS` points. A sum over a cut dimension is
scaled by the number of positions that are cut.

Coefficients that differ by p have the same value in the field. No coefficient is negative, because
no op subtracts, so a result has the sum of its coefficients as its value if all inputs are 1.
Results for which that sum is not below p are not evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of

from .trees import Tree, Trees

PRIME = 2147483629
"""The second largest prime below 2^31: modulo the largest, 2^31 - 1, 31 doublings do nothing."""

DEGREE = 4
"""The highest degree of a tree's polynomials, for each element along the axis."""

LANES = 3
"""Positions along each dimension but the axis."""

POINTS = 4
"""How often a tree is evaluated: a wrong formula is accepted with a probability below 2^-64."""

_P = np.uint64(PRIME)


class NotEvaluated(Exception):
    """A tree has an op whose value in the field is not known."""


def evaluate(trees: Trees, tree: Tree, exits: Sequence[ir.Value]) -> dict[ir.Value, np.ndarray]:
    """The random values of the roots, and the values of the exits; points are the last dimension.

    Raises:
        NotEvaluated: an op of the tree has no meaning in the field.
    """
    degrees = dict.fromkeys((*tree.roots, *tree.aliases), 1)
    for op in tree.ops:
        of = [degrees.get(operand, 0) for operand in op.operands]
        degree = degrees[op.results[0]] = sum(of) if isinstance(op, hlo.MulOp) else max(of)
        if degree > DEGREE * tree.length:
            raise NotEvaluated
    random = np.random.default_rng(tree.length)
    ones, points = {}, {}
    for root, axis in tree.roots.items():
        sizes = cut(shape_of(root), axis)
        ones[root] = np.ones([*sizes, 1])
        points[root] = random.integers(1, PRIME, [*sizes, POINTS], np.uint64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = _evaluated(trees, tree, ones)
    if not all((sums[value] < PRIME).all() for value in exits):
        raise NotEvaluated
    known = _evaluated(trees, tree, points)
    return {value: known[value] for value in (*tree.roots, *exits)}


def cut(sizes: Sequence[int], axis: int | None) -> list[int]:
    """The extents of a value with all dimensions but the axis cut to `LANES`."""
    return [size if dim == axis else min(size, LANES) for dim, size in enumerate(sizes)]


def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product in the field."""
    return _modulo(x * y)


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum in the field."""
    return _modulo(x + y)


def total(
    x: np.ndarray, dims: tuple[int, ...], sizes: Sequence[int], *, keepdims: bool = False
) -> np.ndarray:
    """The sum in the field over dimensions, cut from `sizes`, of less than 2^32 elements."""
    found = _modulo(x.sum(dims, keepdims=keepdims))
    for dim in dims:
        if x.shape[dim] != sizes[dim]:
            inverse = pow(x.shape[dim], -1, PRIME) if x.dtype == np.uint64 else 1 / x.shape[dim]
            found = multiply(found, _modulo(np.asarray(sizes[dim], x.dtype)))
            found = multiply(found, np.asarray(inverse, x.dtype))
    return found


def _modulo(x: np.ndarray) -> np.ndarray:
    """An element of the field; floats are sums of coefficients, and stay as they are."""
    found: np.ndarray = x % _P if x.dtype == np.uint64 else x
    return found


def _evaluated(
    trees: Trees, tree: Tree, roots: Mapping[ir.Value, np.ndarray]
) -> dict[ir.Value, np.ndarray]:
    known = {**roots, **{alias: roots[root] for alias, root in tree.aliases.items()}}
    for op in tree.ops:
        value = op.results[0]
        found = known[value] = _result(op, known)
        if list(found.shape[:-1]) != cut(shape_of(value), trees.axis_of(value)):
            raise NotEvaluated
    return known


def _result(op: ir.OpView, known: Mapping[ir.Value, np.ndarray]) -> np.ndarray:
    x = known[op.operands[0]]
    match op:
        case hlo.AddOp():
            return add(*_alike(x, known[op.rhs]))
        case hlo.MulOp():
            return multiply(*_alike(x, known[op.rhs]))
        case hlo.ConcatenateOp():
            return np.concatenate([known[each] for each in op.operands], op.dimension.value)
        case hlo.ReduceOp():
            return total(x, tuple(op.dimensions), shape_of(op.operands[0]))
        case hlo.SliceOp():
            return x[_slices(op)]
        case hlo.PadOp():
            return _padded(op, x)
        case hlo.BroadcastInDimOp():
            return _broadcast(op, x)
        case hlo.ReshapeOp():
            sizes = iter([size for size in x.shape[:-1] if size != 1])
            shape = [next(sizes) if size != 1 else 1 for size in shape_of(op.result)]
            return x.reshape([*shape, x.shape[-1]])
    raise NotEvaluated


def _alike(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if x.shape != y.shape:
        raise NotEvaluated
    return x, y


def _slices(op: hlo.SliceOp) -> tuple[slice, ...]:
    """The slices of a cut operand: dimensions of which a slice takes a part are not cut."""
    bounds = zip(op.start_indices, op.limit_indices, op.strides, strict=True)
    return tuple(
        slice(None) if bound == (0, size, 1) else slice(*bound)
        for bound, size in zip(bounds, shape_of(op.operand), strict=True)
    )


def _padded(op: hlo.PadOp, x: np.ndarray) -> np.ndarray:
    """`x` with zeros around and between its elements; negative amounts remove elements."""
    given = op.edge_padding_low, op.edge_padding_high, op.interior_padding
    for dim, (low, high, interior) in enumerate(zip(*given, strict=True)):
        if not (low or high or interior):
            continue
        sizes = list(x.shape)
        sizes[dim] += max(sizes[dim] - 1, 0) * interior + max(low, 0) + max(high, 0)
        wide = np.zeros(sizes, x.dtype)
        end = sizes[dim] - max(high, 0)
        at = [slice(None)] * x.ndim
        at[dim] = slice(max(low, 0), end, interior + 1)
        wide[tuple(at)] = x
        at[dim] = slice(max(-low, 0), sizes[dim] - max(-high, 0))
        x = wide[tuple(at)]
    return x


def _broadcast(op: hlo.BroadcastInDimOp, x: np.ndarray) -> np.ndarray:
    dims, result = list(op.broadcast_dimensions), shape_of(op.result)
    if dims != sorted(dims):
        raise NotEvaluated
    sizes = [min(size, LANES) for size in result]
    aligned = [1] * len(sizes)
    for dim, before, size in zip(dims, shape_of(op.operand), x.shape, strict=False):
        aligned[dim] = size
        if before == result[dim]:
            sizes[dim] = size
    return np.broadcast_to(x.reshape([*aligned, x.shape[-1]]), [*sizes, x.shape[-1]])

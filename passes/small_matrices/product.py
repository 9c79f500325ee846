"""Products of small matrices as sums of products of columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import islice, product
from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu_products import is_tiny_product
from jxc.ir import build
from jxc.ir.values import element_type, shape_of, static_shape
from jxc.rewrite import once_per_visit, reassociates, rule

from .._shared.dot import swapped

TALL_ROWS = 1000
"""The least rows of a tall product for which it is written out, to be priced."""

MOST_TERMS = 16
"""The most rows, columns and terms of products that are written out to be priced."""


class _Operand(NamedTuple):
    """One operand of a product.

    Attributes:
        value: the matrices.
        summed: the dimensions that are summed over.
        positions: for each other dimension, its dimension in the result.
    """

    value: ir.Value
    summed: tuple[int, ...]
    positions: dict[int, int]


class _Product(NamedTuple):
    """A product of real matrices of static, nonzero extents.

    Attributes:
        shape: of the result.
        operands: the left and the right one.
        terms: extents of the dimensions that are summed over.
        batch: number of products.
        rows, columns: extents of each of them.
    """

    shape: tuple[int, ...]
    operands: tuple[_Operand, _Operand]
    terms: tuple[int, ...]
    batch: int
    rows: int
    columns: int


@rule(reassociates, priced=True)
def small_product_to_multiply_add(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, y) -> sum over k of x[.., k] * y[k, ..], for many small matrices."""
    found = _product_of(op)
    if found is None or max(found.rows, found.columns, prod(found.terms)) > MOST_TERMS:
        return None
    return _written_out(found) if _may_pay(found, op) else None


def _may_pay(found: _Product, op: hlo.DotGeneralOp) -> bool:
    """Whether a product may be faster written out: not one by a vector, or that is reduced."""
    rows, columns, terms = found.rows, found.columns, prod(found.terms)
    if min(rows, columns, terms) < 2:
        return False
    return is_tiny_product(rows, columns, terms) or not _is_reduced(op.result)


@rule(reassociates, priced=True)
def tall_product_to_multiply_add(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, y) -> sum over k of x[:, k] * y[k, :], for many rows and few terms."""
    found = _product_of(op)
    if found is None or found.batch > 1 or not _lies_row_by_row(found.operands[0]):
        return None
    if found.columns < 2 or not 2 <= prod(found.terms) <= MOST_TERMS:
        return None
    if found.rows < TALL_ROWS:
        return None
    return None if _is_reduced(op.result) else _written_out(found)


def _lies_row_by_row(operand: _Operand) -> bool:
    """Whether summed elements are adjacent: XLA's product is fast on a transposed operand."""
    if isinstance(operand.value.owner, hlo.TransposeOp):
        return False
    return all(dim > max(operand.positions, default=-1) for dim in operand.summed)


@rule(reassociates, priced=True)
def transposed_matrix_by_vector(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(transpose(x), y) -> dot_general(y, x) for a vector y: rows of x are added."""
    found = _product_of(op)
    if found is None or found.batch > 1 or len(shape_of(op.rhs)) != 1:
        return None
    matrix, summed = op.lhs, found.operands[0].summed
    match matrix.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation):
            matrix, summed = x, tuple(permutation[dim] for dim in summed)
    if summed != (0,) or len(shape_of(matrix)) != 2:
        return None
    numbers = hlo.DotDimensionNumbers.get([], [], [0], [0])
    precision = swapped(op.precision_config)
    return hlo.dot_general(op.result.type, op.rhs, matrix, numbers, precision_config=precision)


@once_per_visit
def _product_of(op: hlo.DotGeneralOp) -> _Product | None:
    shape = static_shape(op.result, op.lhs, op.rhs)
    if shape is None or op.algorithm is not None:
        return None
    kinds = {element_type(value) for value in (op.lhs, op.rhs, op.result)}
    if len(kinds) > 1 or not isinstance(kinds.pop(), ir.F32Type | ir.F64Type):
        return None
    elements = [prod(shape_of(value)) for value in (op.lhs, op.rhs)]
    if 0 in elements:
        return None
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    terms = tuple(shape_of(op.lhs)[dim] for dim in dims.lhs_contracting_dimensions)
    batch = prod(shape[: len(dims.lhs_batching_dimensions)])
    rows, columns = (count // (batch * prod(terms)) for count in elements)
    return _Product(shape, _operands(op, dims), terms, batch, rows, columns)


def _operands(op: hlo.DotGeneralOp, dims: hlo.DotDimensionNumbers) -> tuple[_Operand, _Operand]:
    batches = list(dims.lhs_batching_dimensions), list(dims.rhs_batching_dimensions)
    sums = tuple(dims.lhs_contracting_dimensions), tuple(dims.rhs_contracting_dimensions)
    left = _operand(op.lhs, batches[0], sums[0], len(batches[0]))
    return left, _operand(op.rhs, batches[1], sums[1], len(left.positions))


def _operand(
    value: ir.Value, batch: Sequence[int], summed: tuple[int, ...], first: int
) -> _Operand:
    """An operand whose own dimensions are in the result from dimension `first` on."""
    own = [dim for dim in range(len(shape_of(value))) if dim not in batch and dim not in summed]
    positions = {dim: place for place, dim in enumerate(batch)}
    return _Operand(value, summed, positions | {dim: first + i for i, dim in enumerate(own)})


def _written_out(found: _Product) -> ir.Value:
    factors = [
        [_part(operand, index, found.shape) for operand in found.operands]
        for index in product(*map(range, found.terms))
    ]
    (x, y), *rest = factors
    # 0.0 - (-x) * y: products are summed from 0.0, so that -0.0 alone gives 0.0. XLA folds
    # 0.0 + x * y; short chains of products run up to 1.4 times longer for it.
    first = hlo.multiply(hlo.negate(x), y)
    total = hlo.subtract(build.splat(0, first.type), first)
    return reduce(hlo.add, (hlo.multiply(x, y) for x, y in rest), total)


def _part(operand: _Operand, index: Sequence[int], shape: Sequence[int]) -> ir.Value:
    """An operand at `index` of the summed dimensions, broadcast to the result's shape."""
    value, summed, positions = operand
    extents = shape_of(value)
    kept = [dim for dim in range(len(extents)) if dim not in summed]
    at = {dim: range(i, i + 1) for dim, i in zip(summed, index, strict=True)}
    part = build.slice_along(value, at)
    part = build.reshape(part, [extents[dim] for dim in kept])
    return build.broadcast(part, shape, [positions[dim] for dim in kept])


_USERS_VISITED = 8  # of one value
_STEPS_VISITED = 4  # ops between the product and the reduction


def _is_reduced(value: ir.Value, steps: int = _STEPS_VISITED) -> bool:
    """Whether a reduction follows, with which XLA would fuse the product."""
    for use in islice(value.uses, _USERS_VISITED) if steps else ():
        user = use.owner
        if isinstance(user, hlo.ReduceOp):
            return True
        is_fused = len(user.results) == 1 and not len(user.regions)
        is_fused = is_fused and not isinstance(user, hlo.DotGeneralOp | hlo.CustomCallOp)
        if is_fused and _is_reduced(user.results[0], steps - 1):
            return True
    return False

"""Indices that count the rows: `x[jnp.arange(batch), labels]` reads an element of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import direction_of, element_type, is_integer, shape_of

_MOST_ELEMENTS = 1 << 22
_MOST_OPS = 24


def has_row_numbers(indices: ir.Value, vector: int, position: int, dim: int) -> bool:
    """Whether an entry of each index vector is its position along a dimension.

    Args:
        indices: of a gather or a scatter.
        vector: the dimension of the index vectors.
        position: the entry.
        dim: a dimension of the indices; entry `position` must be 0, 1, 2, ... along it.
    """
    column = _column(indices, vector, position)
    array = None if column is None else _evaluate(column, _MOST_OPS)
    if array is None:
        return False
    if column == indices and vector < array.ndim:
        array = array.take([position], vector)
    size = array.shape[dim]
    counted = np.arange(size).reshape([size if at == dim else 1 for at in range(array.ndim)])
    return bool((array.astype(np.int64) == counted).all())


def _column(indices: ir.Value, vector: int, position: int) -> ir.Value | None:
    """The operand of a concatenation that is one entry of the vectors, or the indices."""
    match indices.owner:
        case hlo.ConcatenateOp(inputs=inputs, dimension=dimension) if dimension.value == vector:
            for each in inputs:
                size = shape_of(each)[vector]
                if position < size:
                    return each if size == 1 else None
                position -= size
            return None
    return indices


_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "select": np.where,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}
_COMPARE = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}


def _evaluate(value: ir.Value, depth: int) -> np.ndarray | None:
    """The elements of integers that are computed from constants; None for others."""
    op = value.owner
    if depth < 0 or isinstance(op, ir.Block) or np.prod(shape_of(value)) > _MOST_ELEMENTS:
        return None
    dtype = numpy_dtype(element_type(value))
    if isinstance(op, hlo.ConstantOp):
        return array_of(value)
    if isinstance(op, hlo.IotaOp):
        at, shape = op.iota_dimension.value, shape_of(value)
        line = np.arange(shape[at]).reshape([-1 if d == at else 1 for d in range(len(shape))])
        return np.broadcast_to(line, shape).astype(dtype) if is_integer(value) else None
    given = [_evaluate(each, depth - 1) for each in op.operands]
    if any(each is None for each in given):
        return None
    known: list[Any] = given
    match op:
        case hlo.BroadcastInDimOp(broadcast_dimensions=dims):
            sizes = [1] * len(shape_of(value))
            for size, dim in zip(known[0].shape, dims, strict=True):
                sizes[dim] = size
            return np.broadcast_to(known[0].reshape(sizes), shape_of(value))
        case hlo.ReshapeOp():
            return np.reshape(known[0], shape_of(value))
        case hlo.ConvertOp(operand=x) if is_integer(x) and is_integer(value):
            return np.asarray(known[0], dtype)
        case hlo.CompareOp():
            return _COMPARE[direction_of(op)](*known) if is_integer(op.lhs) else None
    apply = _NUMPY.get(op.operation.name.removeprefix("stablehlo."))
    return None if apply is None or not is_integer(value) else np.asarray(apply(*known), dtype)

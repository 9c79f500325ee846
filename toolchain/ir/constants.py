"""The elements of constants as numpy arrays, in numpy's or `ml_dtypes`' type for them.

Elements that Python's bindings of MLIR cannot read (complex numbers, floats of 8 bits, bfloat16,
integers of 4 bits) are read by StableHLO's reference interpreter, converted exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from .dtypes import numpy_dtype


def array_of(value: ir.Value) -> np.ndarray | None:
    """The elements of a constant, bit for bit.

        >>> array_of(constant(7, n))
        array([7, 7, 7, 7], dtype=int32)
        >>> array_of(n) is None
        True

    Returns:
        A read-only array of the value's shape in the dtype `numpy_dtype` gives; a splat is a
        broadcast view. None for any other value, and where numpy has no such dtype or the elements
        lie in a resource of the file.
    """
    op = value.owner
    if not isinstance(op, hlo.ConstantOp):
        return None
    kind = ir.RankedTensorType(value.type)
    dtype = numpy_dtype(kind.element_type)
    if dtype is None or dtype.name.startswith("float4") or not _is_dense(op):
        return None  # the interpreter aborts on floats of 4 bits
    if dtype.kind == "c":
        return _complex(op, kind, dtype)
    if dtype.isbuiltin == 1:  # a type of numpy's own
        return np.asarray(op.value).reshape(kind.shape)
    if not op.value.is_splat or not kind.shape:
        return _interpreted(op, dtype)
    element = ir.RankedTensorType.get((), kind.element_type, loc=op.location)
    attr = ir.DenseElementsAttr.get_splat(element, op.value.get_splat_value())
    scalar = hlo.ConstantOp(attr, loc=op.location, ip=False)  # in no block
    return np.broadcast_to(_interpreted(scalar, dtype), kind.shape)


def _is_dense(op: hlo.ConstantOp) -> bool:
    """Whether the elements are in the module, not in a resource of the file."""
    try:
        return isinstance(op.value, ir.DenseElementsAttr)
    except TypeError:  # complex numbers, whose attribute the bindings cannot hold
        return True


def _interpreted(op: hlo.ConstantOp, dtype: np.dtype) -> np.ndarray:
    """The elements of types that only `ml_dtypes` has: small integers converted, floats as bits."""
    shape = ir.RankedTensorType(op.result.type).shape
    with op.context, ir.Location.unknown(op.context):
        get = ir.IntegerType.get_signless if dtype.name[0] == "i" else ir.IntegerType.get_unsigned
        kind = ir.RankedTensorType.get(shape, get(8 * dtype.itemsize))
        if dtype.name.lstrip("u") in ("int2", "int4"):
            return _evaluate(op, lambda x: hlo.convert(kind, x), kind).astype(dtype)
        return _evaluate(op, lambda x: hlo.bitcast_convert(kind, x), kind).view(dtype)


def _complex(op: hlo.ConstantOp, kind: ir.RankedTensorType, dtype: np.dtype) -> np.ndarray:
    with op.context, ir.Location.unknown(op.context):
        part = ir.RankedTensorType.get(kind.shape, kind.element_type.element_type)
        joined = np.empty(kind.shape, dtype)
        joined.real = _evaluate(op, hlo.real, part)
        joined.imag = _evaluate(op, hlo.imag, part)
    return joined


def _evaluate(
    op: hlo.ConstantOp, compute: Callable[[ir.Value], ir.Value], result: ir.RankedTensorType
) -> np.ndarray:
    """The result of `compute` on the constant by StableHLO's interpreter."""
    if 0 in result.shape:  # the interpreter aborts on constants without elements
        return np.empty(result.shape, numpy_dtype(result.element_type))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        main = func.FuncOp("main", ([], [result]))
    with ir.InsertionPoint(main.add_entry_block()):
        copy = op.operation.clone()
        func.return_([compute(copy.results[0])])
    (found,) = hlo.eval_module(module, [])
    return np.array(found).reshape(result.shape)

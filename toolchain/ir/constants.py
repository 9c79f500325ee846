"""The elements of constants as numpy arrays, whatever their type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo
from jaxlib.mlir.dialects.stablehlo import ConstantOp

from .dtypes import numpy_dtype

_NUMPY_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def elements(op: ConstantOp) -> np.ndarray:
    """The elements of a constant op; see `values.constant_of`."""
    kind = ir.RankedTensorType(op.result.type)
    if isinstance(kind.element_type, ir.ComplexType):
        return _complex(op, kind)
    attr = op.value
    dtype = _widened_dtype(kind.element_type)
    if attr.is_splat:
        return np.broadcast_to(np.asarray(attr.get_splat_value().value, dtype), kind.shape)
    if _is_in_numpy(kind.element_type):
        return np.array(attr).reshape(kind.shape)
    with op.context, ir.Location.unknown(op.context):
        wide = ir.RankedTensorType.get(kind.shape, _mlir_type(dtype))
        return _evaluate(op, lambda value: stablehlo.convert(wide, value), wide)


def own_elements(op: ConstantOp) -> np.ndarray | None:
    """The elements of a constant op as its own type, bit for bit; see `values.array_of`."""
    kind = ir.RankedTensorType(op.result.type)
    dtype = numpy_dtype(kind.element_type)
    if dtype is None or dtype.name.startswith("float4") or not is_dense(op):
        return None  # the interpreter, which reads what Python cannot, dies of 4-bit floats
    if dtype.kind == "c":
        return elements(op)
    if _is_in_numpy(kind.element_type):
        return np.asarray(op.value)
    if op.value.is_splat and kind.shape:
        return np.broadcast_to(_bits(_scalar(op), dtype, ()), kind.shape)
    return _bits(op, dtype, kind.shape)


def _scalar(op: ConstantOp) -> ConstantOp:
    """The element that a splat repeats, as a constant of its own, in no block."""
    kind = ir.RankedTensorType.get(
        (), ir.RankedTensorType(op.result.type).element_type, loc=op.location
    )
    attr = ir.DenseElementsAttr.get_splat(kind, op.value.get_splat_value())
    return ConstantOp(attr, loc=op.location, ip=False)


def _bits(op: ConstantOp, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    if dtype.name.lstrip("u") in ("int2", "int4"):
        return elements(op).astype(dtype)
    with op.context, ir.Location.unknown(op.context):
        unsigned = ir.IntegerType.get_unsigned(8 * dtype.itemsize)
        bits = ir.RankedTensorType.get(shape, unsigned)
        return _evaluate(op, lambda x: stablehlo.bitcast_convert(bits, x), bits).view(dtype)


def is_dense(op: ConstantOp) -> bool:
    """Whether the elements are here, and not in a resource of the file's."""
    try:
        return isinstance(op.value, ir.DenseElementsAttr)
    except TypeError:  # complex numbers, whose attribute the bindings cannot hold
        return True


def _complex(op: ConstantOp, kind: ir.RankedTensorType) -> np.ndarray:
    """The bindings cannot hold a complex constant's attribute: its parts are computed."""
    with op.context, ir.Location.unknown(op.context):
        part = ir.RankedTensorType.get(kind.shape, kind.element_type.element_type)
        real, imag = (_evaluate(op, get, part) for get in (stablehlo.real, stablehlo.imag))
    joined = np.empty(real.shape, np.result_type(real, np.complex64))
    joined.real, joined.imag = real, imag
    return joined


def _is_in_numpy(element: ir.Type) -> bool:
    if isinstance(element, ir.IntegerType):
        return element.width in (1, 8, 16, 32, 64)
    return str(element) in _NUMPY_FLOATS


def _widened_dtype(element: ir.Type) -> np.dtype:
    """Numpy's type for `element`, or the next wider one that holds all its values."""
    if not isinstance(element, ir.IntegerType):
        return np.dtype(_NUMPY_FLOATS.get(str(element), np.float32))
    if element.width == 1:
        return np.dtype(bool)
    width = element.width if element.width >= 8 else 32
    return np.dtype(f"{'u' if element.is_unsigned else ''}int{width}")


def _mlir_type(dtype: np.dtype) -> ir.Type:
    if dtype.kind == "f":
        return ir.F32Type.get()
    get = ir.IntegerType.get_unsigned if dtype.kind == "u" else ir.IntegerType.get_signless
    return get(8 * dtype.itemsize)


def _evaluate(
    op: ConstantOp, compute: Callable[[ir.Value], ir.Value], result: ir.RankedTensorType
) -> np.ndarray:
    """What StableHLO's interpreter makes of `compute` on the constant; exact conversions only."""
    if 0 in result.shape:  # the interpreter aborts on constants without elements
        return np.empty(result.shape, numpy_dtype(result.element_type))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        main = func.FuncOp("main", ([], [result]))
    with ir.InsertionPoint(main.add_entry_block()):
        copy = op.operation.clone()
        func.return_([compute(copy.results[0])])
    (found,) = stablehlo.eval_module(module, [])
    return np.array(found).reshape(result.shape)

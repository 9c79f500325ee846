"""A program without its rounding: every float a float64, to judge other roundings by."""

from __future__ import annotations

import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..ir.retype import retype
from .entries import main_type
from .inputs import CannotRun, Spec, is_float, specs_of
from .judge import Reference
from .run import Interpreter, run_xla

_PATIENCE_S = 2.0
"""How long the interpreter may take where XLA can stand in: it needs about a microsecond for each
multiply-add, XLA a tenth of a second to compile."""

_OPAQUE = frozenset({"stablehlo.custom_call", "stablehlo.bitcast_convert"})


def references(
    module: ir.Module,
    inputs: Sequence[np.ndarray],
    interpreter: Interpreter,
    *,
    or_xla: bool = True,
) -> list[Reference]:
    """For each output of @main, widened as `run.widen` does, what it would be without rounding.

    On the interpreter, which is the judge of what is NaN (XLA's convolutions skip a padded zero
    that meets an infinite weight, or do not); through XLA where it cannot run the program, or takes
    long, if that is wanted.

    Raises:
        CannotRun: nothing runs the program, it reads the bits of floats, or it leaves StableHLO.
    """
    wide = in_float64(module)
    draws = [[_widest(a) for a in inputs], [_widest(_next_ulp(a)) for a in inputs]]
    try:
        limit_s = _PATIENCE_S if or_xla else math.inf
        exact, moved = (interpreter.run(wide, draw, limit_s=limit_s) for draw in draws)
    except CannotRun:
        if not or_xla:
            raise
        exact, moved = (run_xla(wide, draw) for draw in draws)
    kinds = [kind for spec in specs_of(main_type(module).results) for kind in _parts(spec)]
    return [
        Reference(a, b, *_precision(kind)) for a, b, kind in zip(exact, moved, kinds, strict=True)
    ]


def in_float64(module: ir.Module) -> ir.Module:
    """The module with float64 for every float, and complex128 for complex numbers.

    Raises:
        CannotRun: it reads the bits of floats, leaves StableHLO, or is not valid with other types.
    """
    try:
        return retype(module, _wide_type, _wide_op)
    except ir.MLIRError as error:
        raise CannotRun(f"no float64 evaluation: {str(error).splitlines()[0]}") from error


def precision_of(module: ir.Module) -> list[float]:
    """The unit roundoff of each output of @main, as `run.widen` splits them; 0 for integers."""
    specs = specs_of(main_type(module).results)
    return [_precision(kind)[0] for spec in specs for kind in _parts(spec)]


def _wide_type(kind: ir.Type) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    element = _wide_element(kind.element_type)
    return ir.RankedTensorType.get(kind.shape, element, kind.encoding)


def _wide_element(element: ir.Type) -> ir.Type:
    if isinstance(element, ir.FloatType):
        return ir.F64Type.get()
    if isinstance(element, ir.ComplexType):
        return ir.ComplexType.get(ir.F64Type.get())
    return element


def _wide_op(op: ir.OpView, operands: list[ir.Value]) -> list[ir.Value] | None:
    name = op.operation.name
    if name in _OPAQUE and any(_wide_type(v.type) != v.type for v in (*op.operands, *op.results)):
        raise CannotRun(f"no float64 evaluation: the program has a {name} of floats")
    if name == "stablehlo.reduce_precision":
        return operands
    if name == "stablehlo.constant":
        constant = op.operation.clone().results[0]
        wide = _wide_type(constant.type)
        return [constant if wide == constant.type else stablehlo.convert(wide, constant)]
    if "algorithm" in op.attributes and name == "stablehlo.dot_general":
        return _plain_dot(op, operands)
    return None


def _plain_dot(op: stablehlo.DotGeneralOp, operands: list[ir.Value]) -> list[ir.Value]:
    """A product without the algorithm that it asks for, which is one of other types."""
    kind = _wide_type(op.result.type)
    return [stablehlo.dot_general(kind, *operands, op.dot_dimension_numbers)]


def _parts(spec: Spec) -> list[np.dtype]:
    """The dtypes of an output's parts: two for complex numbers."""
    if spec.dtype.kind == "c":
        return [np.dtype(np.float32 if spec.dtype.itemsize == 8 else np.float64)] * 2
    return [spec.dtype]


def _precision(dtype: np.dtype) -> tuple[float, float]:
    if not is_float(dtype):
        return 0.0, 0.0
    info = ml_dtypes.finfo(dtype)
    return float(info.eps), float(info.tiny)


def _widest(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if is_float(array.dtype) else array


def _next_ulp(array: np.ndarray) -> np.ndarray:
    """Each float one ulp of its own type further from zero; other arguments as they are."""
    if array.dtype.kind != "c" and not is_float(array.dtype):
        return array
    part = array.real.dtype if array.dtype.kind == "c" else array.dtype
    with np.errstate(all="ignore"):
        return _widest(array) * (1 + _precision(part)[0])

"""A program without its rounding: every float a float64, to judge other roundings by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..cost.flops import total_of
from ..ir.module import functions
from ..ir.retype import retype
from .entries import main_type
from .inputs import CannotRun, Spec, is_float, specs_of
from .judge import Reference
from .run import Interpreter, XlaProgram

_LARGE = 500_000
"""From how many flops on XLA stands in for the interpreter where it may: that needs half a
microsecond or more for each, XLA a tenth of a second to compile."""

_TOO_LARGE = 100_000_000
"""From how many flops on the interpreter is not asked: it would not be done in its 20 seconds."""

_OPAQUE = frozenset({"stablehlo.custom_call", "stablehlo.bitcast_convert"})


class Unrounded:
    """A program with float64 for every float: what other roundings are judged by.

    Args:
        module: the program; is not to change.
        interpreter: runs it where it can.
    """

    def __init__(self, module: ir.Module, interpreter: Interpreter) -> None:
        self._module, self._interpreter = module, interpreter

    def references(self, inputs: Sequence[np.ndarray], *, or_xla: bool = True) -> list[Reference]:
        """For each output of @main, widened as `run.widen` does, what it would be unrounded.

        On the interpreter, which is the judge of what is NaN (XLA's convolutions skip a padded zero
        that meets an infinite weight, or do not); through XLA where it cannot run the program, or
        takes long, if that is wanted.

        Args:
            inputs: what @main takes.
            or_xla: whether XLA may stand in.

        Raises:
            CannotRun: nothing runs the program, it reads the bits of floats, or leaves StableHLO.
        """
        draws = [[_widest(a) for a in inputs], [_widest(_next_ulp(a)) for a in inputs]]
        exact, moved = self._run(draws, or_xla)
        results = specs_of(main_type(self._module).results)
        kinds = [kind for spec in results for kind in _parts(spec)]
        return [
            Reference(a, b, *_precision(kind))
            for a, b, kind in zip(exact, moved, kinds, strict=True)
        ]

    def _run(self, draws: Sequence[list[np.ndarray]], or_xla: bool) -> list[list[np.ndarray]]:
        if self._flops >= _TOO_LARGE and not or_xla:
            raise CannotRun(f"{self._flops:,} flops are too many for the interpreter")
        if self._flops >= _LARGE:
            # What an ulp of input moves is a size: nobody asks it where there is a NaN.
            first = self._compiled if or_xla else partial(self._interpreter.run, self._wide)
            return [first(draws[0]), self._compiled(draws[1])]
        try:
            return [self._interpreter.run(self._wide, draw) for draw in draws]
        except CannotRun:
            if not or_xla:
                raise
            return [self._compiled(draw) for draw in draws]

    @cached_property
    def _wide(self) -> ir.Module:
        return in_float64(self._module)

    @cached_property
    def _compiled(self) -> XlaProgram:
        return XlaProgram(self._wide)

    @cached_property
    def _flops(self) -> int:
        """Of all functions; a loop counts as one turn."""
        return sum(total_of(each.regions[0]).flops or 0 for each in functions(self._wide).values())


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

"""The child process that runs modules on StableHLO's reference interpreter.

The interpreter aborts on ops that it does not support, which only ends the child. The
parent is `run.Interpreter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from time import process_time
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo
from jaxlib.mlir.passmanager import PassManager

from ..child import serve
from ..ir import converters, functions, make_context, read_module, register_native_passes
from .interpreter_fixes import apply_interpreter_fixes
from .modules import main_type

_MODULES_PER_CONTEXT = 200  # a context is slow to make, but keeps every constant in memory
_PREPARE = "builtin.module(inline,func.func(chlo-legalize-to-stablehlo))"


def evaluate(
    module_text: bytes, inputs: Sequence[np.ndarray], context: ir.Context
) -> list[np.ndarray]:
    """The results of @main on the interpreter.

    Args:
        module_text: the module, in any form that `read_module` takes.
        inputs: @main's arguments as `run.widen` makes them.
        context: with MLIR's inliner.

    Returns:
        The results in the same form.
    """
    module = read_module(module_text, context)
    with context, ir.Location.unknown():
        _wrap_main(module)
        PassManager.parse(_PREPARE).run(module.operation)
        apply_interpreter_fixes(module)
        arguments = [
            ir.DenseElementsAttr.get(array, signless=array.dtype.kind != "u") for array in inputs
        ]
        return [np.array(result) for result in hlo.eval_module(module, arguments)]


def _wrap_main(module: ir.Module) -> None:
    """Add a @main that calls the old one, and takes and returns only numpy's own types."""
    main, signature = functions(module)["main"], main_type(module)
    main.attributes["sym_name"] = ir.StringAttr.get("jxc_wrapped")
    main.attributes["sym_visibility"] = ir.StringAttr.get("private")
    inputs = [_wide_types(each) for each in signature.inputs]
    outputs = [each for kind in signature.results for each in _wide_types(kind)]
    with ir.InsertionPoint(module.body):
        wrapper = func.FuncOp("main", ([each for wide in inputs for each in wide], outputs))
    with ir.InsertionPoint(wrapper.add_entry_block()):
        rest = iter(wrapper.arguments)
        arguments = [
            _narrow([next(rest) for _ in wide], kind)
            for kind, wide in zip(signature.inputs, inputs, strict=True)
        ]
        results = func.CallOp(signature.results, "jxc_wrapped", arguments).results
        func.return_([each for value in results for each in _widen(value)])


def _wide_types(kind: ir.Type) -> list[ir.Type]:
    element = ir.RankedTensorType(kind).element_type
    wide = [element]
    if isinstance(element, ir.ComplexType):
        wide = [element.element_type] * 2
    elif isinstance(element, ir.IntegerType) and element.width in (2, 4):
        unsigned = element.is_unsigned
        wide = [ir.Type.parse("ui32" if unsigned else "i32")]
    elif isinstance(element, ir.FloatType) and str(element) not in ("f16", "f32", "f64"):
        wide = [ir.F32Type.get()]
    return [ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, each) for each in wide]


def _narrow(values: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
    if len(values) == 2:
        return hlo.complex(*values)
    return values[0] if values[0].type == kind else hlo.convert(kind, values[0])


def _widen(value: ir.Value) -> list[ir.Value]:
    wide = _wide_types(value.type)
    if len(wide) == 2:
        return [hlo.real(value), hlo.imag(value)]
    return [value if wide[0] == value.type else hlo.convert(wide[0], value)]


def main() -> None:
    """Answer modules and their inputs with results until the parent closes the pipe."""
    register_native_passes()
    requests = count()
    context = None

    def answer(request: tuple[bytes, Sequence[np.ndarray]]) -> tuple[str, Any, float]:
        nonlocal context
        start = process_time()
        if next(requests) % _MODULES_PER_CONTEXT == 0:
            context = make_context()
            converters.register_inliner(context)
        assert context is not None
        try:
            found: Any = evaluate(*request, context)
            status = "done"
        except Exception as error:
            status, found = "failed", f"{type(error).__name__}: {error}"
        return status, found, process_time() - start

    serve(answer)

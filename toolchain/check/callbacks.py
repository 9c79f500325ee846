"""Programs that call back into Python, without these calls, so that their results can be compared.

JAX keeps the Python functions in the process that lowered a program, and for hardware that is not
here there are none.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import functions
from ..ir.module import callbacks_in, has_side_effect, terminator
from .edit import body, keep_arguments, set_outputs, zero


def without_callbacks(module: ir.Module) -> ir.Module:
    """A module whose calls back into Python give their operands, or zeros of other types.

    What calls with an effect in @main read becomes results of @main, and its tokens are no
    arguments and results any more.

    Args:
        module: has one public function, @main; it is changed, unless it makes no such calls.
    """
    calls = callbacks_in(module)
    main = functions(module)["main"]
    with module.context, ir.Location.unknown():
        told = []
        for op in calls:
            if op.operation.block == body(main) and has_side_effect(op):
                told += [value for value in op.operands if not _is_token(value)]
            with ir.InsertionPoint(op):
                for result in op.results:
                    result.replace_all_uses_with(_instead(op, result))
            op.operation.erase()
        if calls:
            _drop_tokens(main, told)
    return module


def _instead(op: ir.OpView, result: ir.Value) -> ir.Value:
    same = [value for value in op.operands if value.type == result.type]
    if same:
        return same[ir.OpResult(result).result_number % len(same)]
    return hlo.create_token() if _is_token(result) else zero(result.type)


def _drop_tokens(main: ir.OpView, told: list[ir.Value]) -> None:
    """Drop the tokens of @main, and return what its calls told Python."""
    block = body(main)
    results = list(terminator(block).operands)
    set_outputs(main, [n for n, value in enumerate(results) if not _is_token(value)], told)
    with ir.InsertionPoint.at_block_begin(block):
        for argument in filter(_is_token, block.arguments):
            argument.replace_all_uses_with(hlo.create_token())
    keep_arguments(main, [n for n, each in enumerate(block.arguments) if not _is_token(each)])


def _is_token(value: ir.Value) -> bool:
    return bool(hlo.TokenType.isinstance(value.type))

"""Prepare modules to be run: with one public function, @main, and static shapes."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from ..ir import clone_module, functions
from ..ir.module import terminator
from ..pipeline.native import run_native
from .inputs import CannotRun

TRIED_SIZES = (3, 1, 0)
"""The sizes that every dynamic dimension of the arguments takes, in turn."""

_MAKE_STATIC = (
    "inline,symbol-dce,stablehlo-refine-arguments{{types={types}}},stablehlo-refine-shapes,"
    "func.func(stablehlo-canonicalize-dynamism,stablehlo-check-shape-assertions)"
)


def entry_names(module: ir.Module) -> list[str]:
    """The names of the module's public functions, in order."""
    return [name for name, op in functions(module).items() if _is_public(op)]


def with_main(module: ir.Module, name: str) -> ir.Module:
    """A copy in which the function `name` is @main; of the others only its callees are left."""
    copy = clone_module(module)
    with copy.context, ir.Location.unknown():
        if name != "main":
            _rename(copy, "main", "jxc_other_main")
        _rename(copy, name, "main")
        for function, op in functions(copy).items():
            visibility = "public" if function == "main" else "private"
            op.attributes["sym_visibility"] = ir.StringAttr.get(visibility)
        PassManager.parse("builtin.module(symbol-dce)").run(copy.operation)
    return copy


def main_type(module: ir.Module) -> ir.FunctionType:
    """The signature of @main; KeyError where there is none."""
    main = functions(module)["main"]
    return ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)


def sync_type(function: ir.OpView) -> None:
    """Set a function's type from its one block. Needs a context in scope."""
    block = function.regions[0].blocks[0]
    results = [value.type for value in terminator(block).operands]
    kind = ir.FunctionType.get([value.type for value in block.arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def is_dynamic(module: ir.Module) -> bool:
    """Whether an argument of @main has a dynamic dimension."""
    kinds = [k for k in main_type(module).inputs if isinstance(k, ir.RankedTensorType)]
    return not all(kind.has_static_shape for kind in kinds)


def static_pairs(before: ir.Module, after: ir.Module) -> Iterator[tuple[ir.Module, ir.Module]]:
    """Both modules at each of `TRIED_SIZES` that `before` accepts; static modules as they are.

    Raises:
        CannotRun: `before` accepts none of the sizes, or `after` not one that `before` accepts.
    """
    if not is_dynamic(before):
        yield before, after
        return
    refusals = []
    for size in TRIED_SIZES:
        try:
            static = at_size(before, size)
        except CannotRun as error:
            refusals.append(str(error))
            continue
        yield static, at_size(after, size)
    if len(refusals) == len(TRIED_SIZES):
        raise CannotRun(f"dynamic dimensions: {refusals[0]}")


def at_size(module: ir.Module, size: int) -> ir.Module:
    """A copy of a module of one function, @main, in which all dynamic dimensions have `size`.

    Raises:
        CannotRun: the module is not valid at this size.
    """
    copy = clone_module(module)
    with copy.context, ir.Location.unknown():
        types = ",".join(str(_static(kind, size)) for kind in main_type(copy).inputs)
        try:
            run_native(_MAKE_STATIC.format(types=types), copy)
        except ir.MLIRError as error:
            raise CannotRun(f"not valid at size {size}: {str(error).splitlines()[0]}") from None
    results = main_type(copy).results
    if not all(isinstance(k, ir.RankedTensorType) and k.has_static_shape for k in results):
        raise CannotRun(f"at size {size} its results are still dynamic")
    return copy


def _is_public(op: ir.OpView) -> bool:
    return "sym_visibility" not in op.attributes or "public" in str(op.attributes["sym_visibility"])


def _rename(module: ir.Module, name: str, new_name: str) -> None:
    if (op := functions(module).get(name)) is not None:
        ir.SymbolTable.replace_all_symbol_uses(name, new_name, module.operation)
        op.attributes["sym_name"] = ir.StringAttr.get(new_name)


def _static(kind: ir.Type, size: int) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [size if n == dynamic else n for n in kind.shape]
    return ir.RankedTensorType.get(shape, kind.element_type)

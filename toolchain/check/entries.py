"""The functions of a module that can be run, each as @main in turn."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from ..ir import clone_module, functions


def entry_names(module: ir.Module) -> list[str]:
    """The names of the module's public functions, in order."""
    return [name for name, op in functions(module).items() if _is_public(op)]


def with_main(module: ir.Module, name: str) -> ir.Module:
    """A copy in which the function `name` is called @main, with only its callees beside it."""
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


def _rename(module: ir.Module, name: str, new_name: str) -> None:
    if (op := functions(module).get(name)) is not None:
        ir.SymbolTable.replace_all_symbol_uses(name, new_name, module.operation)
        op.attributes["sym_name"] = ir.StringAttr.get(new_name)


def main_type(module: ir.Module) -> ir.FunctionType:
    """The signature of @main; KeyError where there is none."""
    main = functions(module)["main"]
    return ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)


def _is_public(op: ir.OpView) -> bool:
    return "sym_visibility" not in op.attributes or "public" in str(op.attributes["sym_visibility"])


def function_text(module: ir.Module, name: str) -> str:
    """The text of the function `name`; KeyError where there is none."""
    return str(functions(module)[name])

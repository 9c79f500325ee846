"""Calls inside a module replaced by what they call, where each op is to be seen by itself."""

from __future__ import annotations

from jaxlib.mlir import ir, passmanager

from ._private import register_inliner
from .context import register_native_passes
from .locations import name_inlined
from .module import walk

_INLINE = "builtin.module(inline{default-pipeline=},symbol-dce)"


def inline_calls(module: ir.Operation) -> None:
    """Inline every call in `module`, in place; paths and Python lines survive."""
    if not any(op.operation.name == "func.call" for op in walk(module)):
        return
    register_native_passes()
    register_inliner(module.context)
    passmanager.PassManager.parse(_INLINE, module.context).run(module)
    name_inlined(module)

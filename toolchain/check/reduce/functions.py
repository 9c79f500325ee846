"""Strategies on functions: calls inlined, another one as @main, fewer arguments and outputs."""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from ...ir import functions
from ...ir.values import is_used
from ...pipeline.native import run_native
from ..modules import with_main
from .edit import NotApplicable, body, entry, keep_arguments, remove_dead, set_outputs, terminator
from .search import Search, shrink


def drop_dead_code(search: Search) -> None:
    """Without dead ops and uncalled functions; where that fails still, so for all candidates."""
    search.drops_dead = search.attempt(remove_dead) or not _changes(remove_dead, search)


def _changes(edit: Callable[[ir.Module], None], search: Search) -> bool:
    from ...ir import clone_module, count_ops

    copy = clone_module(search.module)
    edit(copy)
    return count_ops(copy) != count_ops(search.module)


def inline_calls(search: Search) -> None:
    """The bodies of functions in place of their calls, where that makes the program smaller."""
    if len(functions(search.module)) > 1:
        search.attempt(lambda m: run_native("inline{default-pipeline=},symbol-dce", m))


def promote_functions(search: Search) -> None:
    """One of the other functions as @main, alone with what it calls."""
    for name in functions(search.module):
        if name != "main" and name in functions(search.module):
            search.attempt(lambda m, name=name: with_main(m, name))  # type: ignore[misc]


def drop_functions(search: Search) -> None:
    """Without the other public functions and their callees."""

    def edit(module: ir.Module) -> None:
        kept = entry(module)
        for op in functions(module).values():
            if op != kept:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        run_native("symbol-dce", module)

    if len(functions(search.module)) > 1:
        search.attempt(edit)


def drop_outputs(search: Search) -> None:
    """Fewer outputs, and without the ops that only they needed."""

    def count(module: ir.Module) -> int:
        return len(terminator(body(entry(module))).operands)

    def edit(module: ir.Module, chunk: range) -> None:
        kept = [index for index in range(count(module)) if index not in chunk]
        set_outputs(entry(module), kept)

    shrink(search, count, edit)


def drop_arguments(search: Search) -> None:
    """Without unused arguments; then one argument for several of its type."""

    def unused(module: ir.Module) -> None:
        function = entry(module)
        arguments = body(function).arguments
        keep_arguments(function, [i for i, value in enumerate(arguments) if is_used(value)])

    def merged(module: ir.Module, chunk: range) -> None:
        function = entry(module)
        arguments = list(body(function).arguments)
        for argument in arguments[chunk.start : chunk.stop]:
            first = next(value for value in arguments if value.type == argument.type)
            if first != argument:  # MLIR never comes back from replacing a value by itself
                argument.replace_all_uses_with(first)
        if all(map(is_used, arguments)):
            raise NotApplicable
        keep_arguments(function, [i for i, value in enumerate(arguments) if is_used(value)])

    search.attempt(unused)
    shrink(search, lambda module: len(body(entry(module)).arguments), merged)

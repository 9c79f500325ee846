"""Strategies on functions, loops, branches, and ops of several operands.

Functions: inline calls, make another function @main, drop arguments and outputs. Regions: replace a
loop by one iteration, a branch by one of its regions, or drop one carried value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...ir import functions, walk
from ...ir.locations import INLINE
from ...ir.module import ops_of, terminator
from ...ir.values import is_used
from ...pipeline.native import run_native
from ..edit import (
    NotApplicable,
    add_argument,
    body,
    entry,
    keep_arguments,
    remove_dead,
    set_outputs,
    zero,
)
from ..modules import with_main
from .search import Search, shrink


def drop_dead_code(search: Search) -> None:
    """Drop dead ops and uncalled functions; if that still fails, do so in all candidates."""
    search.drops_dead = search.attempt(remove_dead) or not _changes(remove_dead, search)


def _changes(edit: Callable[[ir.Module], None], search: Search) -> bool:
    from ...ir import clone_module, count_ops

    copy = clone_module(search.module)
    edit(copy)
    return count_ops(copy) != count_ops(search.module)


def inline_calls(search: Search) -> None:
    """Inline calls where that makes the program smaller."""
    if len(functions(search.module)) > 1:
        search.attempt(lambda m: run_native(INLINE, m))


def promote_functions(search: Search) -> None:
    """Make another function @main, with its callees alone."""
    for name in functions(search.module):
        if name != "main" and name in functions(search.module):
            search.attempt(lambda m, name=name: with_main(m, name))  # type: ignore[misc]


def drop_functions(search: Search) -> None:
    """Drop the other public functions and their callees."""

    def edit(module: ir.Module) -> None:
        kept = entry(module)
        for op in functions(module).values():
            if op != kept:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        run_native("symbol-dce", module)

    if len(functions(search.module)) > 1:
        search.attempt(edit)


def drop_outputs(search: Search) -> None:
    """Drop outputs, and the ops that only they need."""

    def count(module: ir.Module) -> int:
        return len(terminator(body(entry(module))).operands)

    def edit(module: ir.Module, chunk: range) -> None:
        kept = [index for index in range(count(module)) if index not in chunk]
        set_outputs(entry(module), kept)

    shrink(search, count, edit)


def drop_arguments(search: Search) -> None:
    """Drop unused arguments; then replace several of one type by the first."""

    def unused(module: ir.Module) -> None:
        function = entry(module)
        arguments = body(function).arguments
        keep_arguments(function, [i for i, value in enumerate(arguments) if is_used(value)])

    def merged(module: ir.Module, chunk: range) -> None:
        function = entry(module)
        arguments = list(body(function).arguments)
        for argument in arguments[chunk.start : chunk.stop]:
            first = next(value for value in arguments if value.type == argument.type)
            if first != argument:  # MLIR hangs when a value replaces itself
                argument.replace_all_uses_with(first)
        if all(map(is_used, arguments)):
            raise NotApplicable
        keep_arguments(function, [i for i, value in enumerate(arguments) if is_used(value)])

    search.attempt(unused)
    shrink(search, lambda module: len(body(entry(module)).arguments), merged)


_BODY = 1  # of a while: region 0 is its condition


def inline_regions(search: Search) -> None:
    """Replace a loop by one iteration of its body, and a conditional by one branch."""
    index = len(_with_regions(search.module)) - 1
    while index >= 0:
        regions = _regions_to_inline(_with_regions(search.module)[index])
        any(search.attempt(lambda m, i=index, r=r: _inline(m, i, r)) for r in regions)  # type: ignore[misc]
        index = min(index, len(_with_regions(search.module))) - 1


def _with_regions(module: ir.Module) -> list[ir.OpView]:
    return [op for op in walk(module.operation) if op.operation.name in _VARIADIC]


def _regions_to_inline(op: ir.OpView) -> Sequence[int]:
    match op:
        case hlo.WhileOp():
            return [_BODY]
        case hlo.IfOp() | hlo.CaseOp():
            return range(len(op.regions))
    return []


def _inline(module: ir.Module, index: int, region: int) -> None:
    op = _with_regions(module)[index]
    block = op.regions[region].blocks[0]
    for argument, operand in zip(block.arguments, op.operands, strict=False):
        argument.replace_all_uses_with(operand)
    for inner in ops_of(block):
        inner.operation.move_before(op.operation)
    for result, value in zip(op.results, terminator(block).operands, strict=True):
        result.replace_all_uses_with(value)
    op.operation.erase()


def hoist_regions(search: Search) -> None:
    """Replace the program by a region of one of its ops."""
    index = len(_hoistable(search.module)) - 1
    while index >= 0:
        regions = range(len(_hoistable(search.module)[index].regions))
        any(search.attempt(lambda m, i=index, r=r: _hoist(m, i, r)) for r in regions)  # type: ignore[misc]
        index = min(index, len(_hoistable(search.module))) - 1


def _hoistable(module: ir.Module) -> list[ir.OpView]:
    return [op for op in ops_of(body(entry(module))) if len(op.regions)]


def _hoist(module: ir.Module, index: int, region: int) -> None:
    function = entry(module)
    op = _hoistable(module)[index]
    block = op.regions[region].blocks[0]
    for value in (*block.arguments, *op.results):
        value.replace_all_uses_with(add_argument(function, value.type))
    for inner in ops_of(block):
        inner.operation.move_before(op.operation)
    set_outputs(function, (), list(terminator(block).operands))
    op.operation.erase()


@dataclass(frozen=True)
class _Parts:
    """The operands, block arguments and terminator operands that belong to one result.

    Attributes:
        operands: indices of operands.
        arguments: indices of arguments of each region.
        returning: indices of the regions that return a value for it.
    """

    operands: Collection[int]
    arguments: Collection[int]
    returning: Collection[int]


def _of_loop(i: int, op: ir.OpView) -> _Parts:
    return _Parts({i}, {i}, {_BODY})


def _of_branches(i: int, op: ir.OpView) -> _Parts:
    return _Parts((), (), range(len(op.regions)))


def _of_sort(i: int, op: ir.OpView) -> _Parts:
    return _Parts({i}, {2 * i, 2 * i + 1}, ())


def _of_reduction(i: int, op: ir.OpView) -> _Parts:
    count = len(op.results)
    return _Parts({i, count + i}, {i, count + i}, {0})


def _of_scatter(i: int, op: ir.OpView) -> _Parts:
    count = len(op.results)
    return _Parts({i, count + 1 + i}, {i, count + i}, {0})


_VARIADIC = {
    "stablehlo.while": _of_loop,
    "stablehlo.if": _of_branches,
    "stablehlo.case": _of_branches,
    "stablehlo.sort": _of_sort,
    "stablehlo.reduce": _of_reduction,
    "stablehlo.reduce_window": _of_reduction,
    "stablehlo.scatter": _of_scatter,
}


def drop_carried(search: Search) -> None:
    """Drop one result of a loop, conditional, sort, reduction or scatter."""
    for index in reversed(range(len(_with_regions(search.module)))):
        found = _with_regions(search.module)
        if index >= len(found):
            continue
        for number in reversed(range(len(found[index].results))):
            search.attempt(lambda m, i=index, n=number: _drop(_with_regions(m), i, n))  # type: ignore[misc]


def _drop(ops: Sequence[ir.OpView], index: int, number: int) -> None:
    """Build the op again without its result `number`; a constant or its initial value replaces it.

    The last result stays: jaxlib 0.12 crashes when it verifies a reduction of nothing.
    """
    if index >= len(ops) or not number < len(ops[index].results) > 1:
        raise NotApplicable
    op = ops[index]
    parts = _VARIADIC[op.operation.name](number, op)
    is_loop = isinstance(op, hlo.WhileOp)
    initial = op.operands[number] if is_loop else None
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            op.operation.name,
            results=[r.type for i, r in enumerate(op.results) if i != number],
            operands=[v for i, v in enumerate(op.operands) if i not in parts.operands],
            attributes={name: op.attributes[name] for name in op.attributes},
            regions=len(op.regions),
        )
        if is_used(op.results[number]):
            value = initial if initial is not None else zero(op.results[number].type)
            op.results[number].replace_all_uses_with(value)
    kept = [r for i, r in enumerate(op.results) if i != number]
    for old, result in zip(kept, new.results, strict=True):
        old.replace_all_uses_with(result)
    for place, region in enumerate(op.regions):
        block = region.blocks[0]
        _drop_arguments(block, parts.arguments, initial)
        if place in parts.returning:
            _drop_returned(block, number)
        block.append_to(new.regions[place])
    op.operation.erase()


def _drop_arguments(block: ir.Block, places: Collection[int], initial: ir.Value | None) -> None:
    for place in sorted(places, reverse=True):
        argument = block.arguments[place]
        if is_used(argument):
            with ir.InsertionPoint.at_block_begin(block):
                value = initial if initial is not None else zero(argument.type)
            argument.replace_all_uses_with(value)
        block.erase_argument(place)


def _drop_returned(block: ir.Block, number: int) -> None:
    old = terminator(block)
    with ir.InsertionPoint(old):
        hlo.return_([v for i, v in enumerate(old.operands) if i != number])
    old.operation.erase()

"""Strategies on ops: cut out runs of them, or replace single ones by something simpler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from jaxlib.mlir import ir

from ...ir import walk
from ...ir.module import ops_of, terminator
from ...ir.values import is_used
from ..edit import (
    NotApplicable,
    add_argument,
    body,
    entry,
    set_outputs,
    values_used_by,
    zero,
)
from .search import Search, shrink

_STAY = frozenset({"func.func", "func.return", "stablehlo.return"})
_SEES_OUTSIDE = frozenset({"func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case"})

Replace = Callable[[ir.Value], ir.Value]
"""From a result of an op to be removed to its replacement; `NotApplicable` if there is none."""


def cut_ops(search: Search) -> None:
    """Cut runs of ops out of the entry: their results become arguments, their operands outputs."""
    shrink(search, lambda module: len(ops_of(body(entry(module)))), _cut)


def _cut(module: ir.Module, chunk: range) -> None:
    function = entry(module)
    block = body(function)
    gone = ops_of(block)[chunk.start : chunk.stop]
    among = set(gone)
    taken = [v for v in values_used_by(gone) if _is_made_in(v, block) and v.owner not in among]
    arguments = len(block.arguments)
    _erase(gone, lambda result: add_argument(function, result.type))
    added = set(list(block.arguments)[arguments:])
    lost = [value for value in taken if not is_used(value)]
    outputs = list(terminator(block).operands)
    kept = [i for i, value in enumerate(outputs) if value not in added]
    if lost or len(kept) < len(outputs):
        set_outputs(function, kept, lost)


def _is_made_in(value: ir.Value, block: ir.Block) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.operation.block == block


def _erase(ops: Sequence[ir.OpView], replace: Replace) -> None:
    """Erase ops from last to first, so that only uses by what stays are replaced."""
    for op in reversed(ops):
        for result in op.results:
            if is_used(result):
                result.replace_all_uses_with(replace(result))
        op.operation.erase()


def replace_by_operands(search: Search) -> None:
    """Replace ops, in regions too, by an operand of the result's type."""
    for last in (False, True):
        _replace(search, lambda module, last=last: partial(_operand, last=last))  # type: ignore[misc]


def replace_by_constants(search: Search) -> None:
    """Replace ops, in regions too, by zeros or ones."""
    for number in (0, 1):
        _replace(search, lambda module, number=number: _Constants(number))  # type: ignore[misc]


def replace_by_arguments(search: Search) -> None:
    """Replace ops, also in loops and branches, by new arguments of the program."""
    _replace(search, lambda module: partial(_argument, entry(module)))


def _replace(search: Search, replacer: Callable[[ir.Module], Replace]) -> None:
    def edit(module: ir.Module, chunk: range) -> None:
        ops = _replaceable(module)[chunk.start : chunk.stop]
        among = set(ops)
        outermost = [op for op in ops if not any(above in among for above in _above(op))]
        replace = replacer(module)
        if not [_erase_if(op, replace) for op in reversed(outermost)].count(True):
            raise NotApplicable

    shrink(search, lambda module: len(_replaceable(module)), edit)


def _erase_if(op: ir.OpView, replace: Replace) -> bool:
    """Erase one op, unless a result of it cannot be replaced."""
    try:
        replacements = {r: replace(r) for r in op.results if is_used(r)}
    except NotApplicable:
        return False
    for result, value in replacements.items():
        result.replace_all_uses_with(value)
    op.operation.erase()
    return True


def _replaceable(module: ir.Module) -> list[ir.OpView]:
    """Every op in a function but the terminators, the outer ones first."""
    top = module.operation
    return [
        op
        for op in walk(top)
        if op.operation.name not in _STAY and op.operation.parent.name != "builtin.module"
    ]


def _above(op: ir.OpView) -> list[ir.OpView]:
    """The ops around an op, up to its function."""
    found = []
    parent = op.operation.parent
    while parent is not None and parent.name != "builtin.module":
        found.append(parent.opview)
        parent = parent.opview.operation.parent
    return found


def _operand(result: ir.Value, *, last: bool) -> ir.Value:
    """The operand with the result's number, or the first or last one, of the result's type."""
    operands = list(result.owner.operands)
    number = ir.OpResult(result).result_number
    own = [operands[number]] if len(result.owner.results) > 1 and number < len(operands) else []
    fitting = [value for value in own + operands if value.type == result.type]
    if not fitting:
        raise NotApplicable
    return fitting[-1 if last else 0]


def _argument(function: ir.OpView, result: ir.Value) -> ir.Value:
    around = _above(result.owner)
    if not around or around[-1] != function:
        raise NotApplicable
    if any(op.operation.name not in _SEES_OUTSIDE for op in around):
        raise NotApplicable
    return add_argument(function, result.type)


class _Constants:
    """Splat constants as replacements, one for each type and block."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.made: dict[tuple[ir.Block, ir.Type], ir.Value] = {}

    def __call__(self, result: ir.Value) -> ir.Value:
        block = result.owner.operation.block
        for (where, kind), value in self.made.items():
            if where == block and kind == result.type:
                return value
        with ir.InsertionPoint.at_block_begin(block):
            made = self.made[block, result.type] = zero(result.type, self.number)
        return made

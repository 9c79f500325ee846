"""Loops and branches with more values: what an instrumenting pass carries through them."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .extra_results import terminator

_SHARDINGS = ("sdy.sharding", "mhlo.sharding")  # of as many values as there were


def widen_loop(
    op: stablehlo.WhileOp, initial: Sequence[ir.Value], yielded: Sequence[ir.Value]
) -> stablehlo.WhileOp:
    """A `while` that carries more, in place of `op`, whose regions it takes over.

    Args:
        op: the loop; its body has the arguments for what is carried more already. Erased.
        initial: what the first turn is given.
        yielded: what the body hands on.

    Returns:
        The new loop; its last results are the new ones.
    """
    types = [value.type for value in initial]
    with ir.InsertionPoint(op), op.location:
        new = stablehlo.WhileOp(
            [*(result.type for result in op.results), *types], [*op.operands, *initial]
        )
    for each in types:
        op.regions[0].blocks[0].add_argument(each, op.location)
    _extend(op.regions[1].blocks[0], yielded)
    _replace(op, new)
    return new


def widen_branches(
    op: stablehlo.IfOp | stablehlo.CaseOp, yielded: Sequence[Sequence[ir.Value]]
) -> ir.OpView:
    """An `if` or `case` that returns more, in place of `op`, whose regions it takes over.

    Args:
        op: the branches. Erased.
        yielded: what each branch returns beside its own, of the same types.
    """
    types = [*(result.type for result in op.results), *(value.type for value in yielded[0])]
    with ir.InsertionPoint(op), op.location:
        if isinstance(op, stablehlo.IfOp):
            new: ir.OpView = stablehlo.IfOp(types, op.operands[0])
        else:
            new = stablehlo.CaseOp(types, op.operands[0], len(op.regions))
    for region, values in zip(op.regions, yielded, strict=True):
        _extend(region.blocks[0], values)
    _replace(op, new)
    return new


def _extend(block: ir.Block, values: Sequence[ir.Value]) -> None:
    last = terminator(block)
    with ir.InsertionPoint(last), last.location:
        stablehlo.return_([*last.operands, *values])
    last.operation.erase()


def _replace(old: ir.OpView, new: ir.OpView) -> None:
    for named in old.attributes.items() if hasattr(old.attributes, "items") else ():
        if named[0] not in _SHARDINGS:
            new.attributes[named[0]] = named[1]
    for source, target in zip(old.regions, new.regions, strict=True):
        source.blocks[0].append_to(target)
    for before, after in zip(old.results, new.results[: len(old.results)], strict=True):
        before.replace_all_uses_with(after)
    old.operation.erase()

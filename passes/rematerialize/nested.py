"""Nests a loop into a loop over segments, which keeps the values at the start of each segment."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.module import ops_of, terminator

from ..loops.copies import erase_unused
from .copies import copy_ops, write_row

_START = "jxc.start"


def mark_starts(loop: hlo.WhileOp, count: int) -> None:
    """Mark what the last `count` results of a loop are written by, for `nest`."""
    for end in list(terminator(loop.body.blocks[0]).operands)[-count:]:
        end.owner.attributes[_START] = ir.UnitAttr.get()


def _is_marked(op: ir.OpView | ir.Block) -> bool:
    return not isinstance(op, ir.Block) and _START in op.attributes


def nest(loop: hlo.WhileOp, segments: int, length: int) -> None:
    """Run a loop in segments of equal lengths, each of which writes the marked stacks once."""
    block = loop.body.blocks[0]
    arguments, ends = list(block.arguments), list(terminator(block).operands)
    writes = {i: end.owner for i, end in enumerate(ends) if _is_marked(end.owner)}
    starts = {i: write.update.owner.operand for i, write in writes.items()}
    kept = [index for index in range(len(ends)) if index not in starts]
    ops = [op for op in ops_of(block)[:-1] if op not in writes.values()]

    def iteration(_: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        known = {arguments[index]: value for index, value in zip(kept, carried, strict=True)}
        copy_ops(ops, known)
        return [known.get(ends[index], ends[index]) for index in kept]

    def segment(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        known = dict(zip(arguments, carried, strict=True))
        written = {i: write_row(carried[i], known[starts[i]], number) for i in starts}
        found = build.fori_loop(length, [carried[index] for index in kept], iteration)
        erase_unused(found[0].owner.regions[1].blocks[0])
        result = written | dict(zip(kept, found, strict=True))
        return [result[index] for index in range(len(carried))]

    with ir.InsertionPoint(loop), loop.location:
        made = build.fori_loop(segments, list(loop.operands), segment)
    for old, new in zip(loop.results, made, strict=True):
        old.replace_all_uses_with(new)
    loop.operation.erase()

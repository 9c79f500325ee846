"""Computes values that are larger than what they are computed from in the loops that read them.

JAX puts the mask of causal attention in front of a scan over layers: a broadcast of comparisons of
two iotas. Both loops of the gradient read it, so that it is kept from the one to the other. XLA
computes such ops in the kernels that read them if they are in the same loop. It neither moves them
there, nor hoists them out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.formulas import names
from jxc.cost.liveness import size_of
from jxc.cost.node import ELEMENTWISE, VIEWS, name_of
from jxc.ir.module import terminator, walk
from jxc.ir.values import element_type, is_used, shape_of, splat_attr

from .carried import keeping
from .copies import copy_ops

_READERS = ELEMENTWISE | VIEWS | names("dynamic_slice reduce")
"""Ops that XLA fuses with what computes their operands."""

_MOVING = names("broadcast_in_dim compare iota reshape select")
_ON_INTEGERS = names("add and convert not or subtract")
"""Cheap ops that have the same bits in each kernel."""

_Sources: TypeAlias = Mapping[ir.Value, frozenset[ir.Value]]


def compute_in_loops(module: ir.Operation) -> None:
    """Let loops compute cheap values from outside that are larger than their sources.

    A value that is stored anyway stays outside: a result of the program, an operand of a product.

    Args:
        module: with inlined calls, whose loops read from outside what no iteration changes.
    """
    ops = list(walk(module))
    number = {op: index for index, op in enumerate(ops)}
    sources, left = _sources(ops), dict[hlo.WhileOp, set[int]]()
    for op in reversed(ops):  # what others of these values are computed from is copied with them
        is_array = _is_cheap(op) and not isinstance(op, hlo.ConstantOp) and shape_of(op.results[0])
        if is_array and op.results[0] in sources:
            for loop, index in _move(op, sources, number):
                left.setdefault(loop, set()).add(index)
    for loop in sorted(left, key=number.__getitem__, reverse=True):  # inner loops first
        keeping(loop, [i for i in range(len(loop.results)) if i not in left[loop]])
    for op in reversed(list(walk(module))):
        if _is_cheap(op) and not is_used(op.results[0]):
            op.operation.erase()


def _sources(ops: Iterable[ir.OpView]) -> _Sources:
    """The values from which each value that is larger than all of them is computed cheaply."""
    found: dict[ir.Value, frozenset[ir.Value]] = {}
    for op in ops:
        if _is_cheap(op):
            used = frozenset[ir.Value]().union(*(found.get(v, [v]) for v in op.operands))
            if sum(map(size_of, used)) < size_of(op.results[0]):
                found[op.results[0]] = used
    return found


def _is_cheap(op: ir.OpView) -> bool:
    name = name_of(op)
    if name in _ON_INTEGERS:
        return all(isinstance(element_type(v), ir.IntegerType) for v in op.operands)
    return name in _MOVING or (name == "constant" and splat_attr(op.results[0]) is not None)


def _move(
    op: ir.OpView, sources: _Sources, number: Mapping[ir.OpView, int]
) -> set[tuple[hlo.WhileOp, int]]:
    """Copy what computes the result of an op to its readers in inner blocks.

    Returns:
        The loops that still carry the value, which nothing in them reads, and its number there.
    """
    value, readers = op.results[0], list[tuple[ir.OpView, int]]()
    loops = set[tuple[hlo.WhileOp, int]]()
    for use in value.uses:
        owner = use.owner
        loop = _carrying(owner, use.operand_number, value)
        if loop is not None:
            loops.add((loop, use.operand_number))
        elif name_of(owner) not in _READERS:
            return set()
        elif owner.operation.block != op.operation.block:
            readers.append((owner, use.operand_number))
    if not readers:
        return set()
    ops = _computing(value, sources, number)
    for reader, index in readers:
        known: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(reader):
            copy_ops(ops, known)
        reader.operation.operands[index] = known[value]
    return loops


def _carrying(owner: ir.OpView, index: int, value: ir.Value) -> hlo.WhileOp | None:
    """The loop that carries `value`, and reads it from outside, if `owner` is a part of it."""
    loop = owner.operation.parent.opview if isinstance(owner, hlo.ReturnOp) else owner
    if not isinstance(loop, hlo.WhileOp) or index >= len(loop.operands):
        return None
    blocks = loop.cond.blocks[0], loop.body.blocks[0]
    unread = [loop.results[index], *(block.arguments[index] for block in blocks)]
    is_same = loop.operands[index] == value == terminator(blocks[1]).operands[index]
    return loop if is_same and not any(map(is_used, unread)) else None


def _computing(
    value: ir.Value, sources: _Sources, number: Mapping[ir.OpView, int]
) -> Sequence[ir.OpView]:
    """The ops that compute a value from its sources, in order."""
    found, pending = set[ir.OpView](), [value]
    while pending:
        each = pending.pop()
        if each in sources and each.owner not in found:
            found.add(each.owner)
            pending += each.owner.operands
    return sorted(found, key=number.__getitem__)

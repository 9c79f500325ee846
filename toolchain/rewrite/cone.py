"""The ops that a rewrite removes or builds, and what they read from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import has_regions, walk
from ..ir.elementwise import is_elementwise
from ..ir.module import is_pure

_FREE = (hlo.ConstantOp, hlo.IotaOp)


class Cone:
    """The ops that compute `results`, producers first, and the `inputs` that they read.

    These are the given ops, and constants that they read.
    """

    def __init__(self, ops: Sequence[ir.OpView], results: Any) -> None:
        self.results = list(results)
        members = set(ops)
        self.ops: list[ir.OpView] = []
        self.inputs: list[ir.Value] = []
        placed: set[ir.OpView] = set()
        pending = [(value, False) for value in reversed(self.results)]
        seen: set[ir.Value] = set()
        while pending:
            value, is_done = pending.pop()
            owner = value.owner
            if isinstance(owner, ir.Block) or not (owner in members or is_constant_like(owner)):
                if value not in seen:
                    self.inputs.append(value)
                seen.add(value)
            elif is_done:
                if owner not in placed:
                    placed.add(owner)
                    self.ops.append(owner)
            elif value not in seen:
                seen.add(value)
                pending.append((value, True))
                pending += [(each, False) for each in read_by(owner)]


def is_constant_like(op: ir.OpView) -> bool:
    """Whether `op` is a constant, an iota or a broadcast constant: it needs no communication."""
    if isinstance(op, hlo.BroadcastInDimOp):
        return isinstance(op.operand.owner, hlo.ConstantOp)
    return isinstance(op, _FREE)


def read_by(op: ir.OpView) -> list[ir.Value]:
    """The operands of an op, and the values from outside that its regions read."""
    read = list(op.operands)
    if has_regions(op):
        inner = list(walk(op))
        own = {result for each in inner for result in each.results}
        for each in [op, *inner]:
            for region in each.regions:
                own.update(argument for block in region.blocks for argument in block.arguments)
        read += [v for each in inner for v in each.operands if v not in own]
    return read


def clone_with(op: ir.OpView, copies: Mapping[ir.Value, ir.Value]) -> ir.OpView:
    """A copy of an op at the insertion point, with operands replaced by their `copies`.

    The operands of the ops in its regions are replaced too.
    """
    twin: ir.OpView = op.operation.clone()
    for each in [twin, *walk(twin)] if has_regions(op) else [twin]:
        operands = each.operation.operands
        for number, operand in enumerate(operands):
            if operand in copies:
                operands[number] = copies[operand]
    return twin


def dying(op: ir.OpView) -> list[ir.OpView]:
    """`op` and the producers that only it uses, which are erased with it."""
    dying = {op}
    pending = list(op.operands)
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or owner in dying or is_constant_like(owner):
            continue
        users = {use.owner for result in owner.results for use in result.uses}
        if users <= dying and is_pure(owner):
            dying.add(owner)
            pending += owner.operands
    return list(dying)


_REARRANGING = (hlo.BroadcastInDimOp, hlo.ConcatenateOp, hlo.ReshapeOp)
_MOST_USERS = 64


def users_of_function(op: ir.OpView) -> set[ir.OpView]:
    """The users of the results of `op`, transitively through elementwise and rearranging ops.

    The search stops after `_MOST_USERS`.
    """
    found: set[ir.OpView] = set()
    pending = list(op.results)
    while pending and len(found) < _MOST_USERS:
        for user in {use.owner for use in pending.pop().uses} - found:
            found.add(user)
            if isinstance(user, _REARRANGING) or is_elementwise(user):
                pending += user.results
    return found

"""The signature of an op: a rewrite has the same price for all ops of the same signature.

It consists of the names, types, attributes and connections of the op and of the ops around it.
Programs repeat their layers, so most rewrites are priced once.
"""

from __future__ import annotations

from collections.abc import Collection

from jaxlib.mlir import ir

from ..cost.fusion import is_fusible
from ..ir import has_regions

_USERS, _PRODUCERS = 4, 8  # the most of them in a signature
_WITH_BRANCHES = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case", "func.call"})

Signature = tuple[object, ...]


def signature_of(op: ir.OpView, ignored: Collection[ir.OpView] = ()) -> Signature | None:
    """The signature of `op`; None if ops around it have branches or loops.

    Args:
        op: the op.
        ignored: ops to leave out, such as those that a rule has built.
    """
    members = _around(op, ignored)
    numbers: dict[ir.Value, int] = {}
    parts: list[object] = []
    for member in members:
        name = member.operation.name
        if name in _WITH_BRANCHES:
            return None
        parts.append(name)
        for value in member.results:
            numbers[value] = len(numbers)
            parts.append(value.type)
        if name == "stablehlo.constant":
            continue
        parts += member.operation.attributes.items()
        if has_regions(member):
            parts += [each.operation.name for each in member.regions[0].blocks[0].operations]
        parts.append(_is_read(member, members, ignored))
    for member in members:
        for value in member.operands:
            if value not in numbers:
                numbers[value] = len(numbers)
                parts += [value.type, isinstance(value.owner, ir.Block)]
            parts.append(numbers[value])
    return tuple(parts)


def _around(op: ir.OpView, ignored: Collection[ir.OpView]) -> dict[ir.OpView, None]:
    """`op`, its users that may share a kernel with it, and the producers of their operands."""
    block = op.operation.block
    found: dict[ir.OpView, None] = {op: None}
    pending = list(op.results)
    for value in pending:
        for use in value.uses:
            if len(found) > _USERS:
                break
            user = use.owner
            if user in found or user in ignored:
                continue
            if user.operation.block == block and is_fusible(user):
                found[user] = None
                pending += user.results
    most = len(found) + _PRODUCERS
    pending = [value for member in found for value in member.operands]
    for value in pending:
        owner = value.owner
        if owner in found or isinstance(owner, ir.Block) or owner.operation.block != block:
            continue
        if len(found) >= most:
            break
        found[owner] = None
        pending += owner.operands
    return found


def _is_read(op: ir.OpView, members: Collection[ir.OpView], ignored: Collection[ir.OpView]) -> bool:
    """Whether an op outside of `members` reads a result of `op`."""
    for value in op.results:
        for use in value.uses:
            user = use.owner
            if user not in members and user not in ignored:
                return True
    return False

"""A table of the rules to try on an op: most time of a pass is spent on rules that do not match."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from ..ir import has_regions
from ..ir.values import SPLATS, splat_of
from .rule import Rule, RuleCount

_GENERIC = (ir.OpView, ir.Operation)  # ops whose dialect has no Python classes


class RulesByOp:
    """The rules to try on an op, by its class and its operands.

    Of the operands, the classes of their producers and the numbers of splat constants count. The
    table does not depend on the module, so it is used for many runs.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.untried = {each.name: RuleCount(each.name) for each in rules}
        self._by_name: dict[str, list[Rule]] = {}
        for each in rules:
            for root in each.roots:
                self._by_name.setdefault(root, []).append(each)
        self._constants = {
            root: frozenset().union(*(each.constants or () for each in tried))
            for root, tried in self._by_name.items()
        }
        self._by_producers: dict[tuple[type, frozenset[type | str]], list[Rule]] = {}
        self._wanted: dict[type, bool] = {}

    def among(self, ops: Sequence[ir.OpView]) -> list[ir.OpView]:
        """The ops to visit: those for whose class there are rules, and those with regions."""
        for op in {type(op): op for op in ops}.values():
            if type(op) not in self._wanted:
                is_root = getattr(op, "OPERATION_NAME", "") in self._by_name
                self._wanted[type(op)] = is_root or type(op) in _GENERIC or has_regions(op)
        wanted = self._wanted
        return [op for op in ops if wanted[type(op)]]

    def of(self, op: ir.OpView) -> Sequence[Rule]:
        """The rules to try on `op`, in order."""
        name = getattr(op, "OPERATION_NAME", "")
        tried = self._by_name.get(name)
        if tried is None:
            return ()
        operands = op.operands
        kinds: set[type | str] = {type(value.owner) for value in operands}
        if (wanted := self._constants[name]) and not kinds.isdisjoint(SPLATS):
            for value in operands:
                kinds |= wanted & constants_of(value)
        key = type(op), frozenset(kinds)
        found = self._by_producers.get(key)
        if found is None:
            found = [each for each in tried if each.matches(key[1])]
            self._by_producers[key] = found
        return found


def constants_of(value: ir.Value) -> set[str]:
    """The names of a splat constant in `Rule.constants`; empty for other values."""
    number = splat_of(value)
    if number is None:
        return set()
    names = {"splat", str(float(number))}
    return names | {"-0.0"} if number == 0 and not isinstance(number, float) else names

"""A table of the rules to try on an op: most time of a pass is spent on rules that do not match."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from ..ir import has_regions
from ..ir.values import SPLATS, splat_of
from .rule import Rule, RuleCount

_GENERIC = (ir.OpView, ir.Operation)  # ops whose dialect has no Python classes
_SPLATS = frozenset(SPLATS)


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
        self._by_operands: dict[tuple[type, ...], list[Rule]] = {}
        self.has_priced = any(each.priced for each in rules)
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
        operands = list(op.operands)
        kinds = (type(op), *[type(value.owner) for value in operands])
        wanted = self._constants[name]
        if wanted and not _SPLATS.isdisjoint(kinds[1:]):
            names: set[type | str] = set(kinds[1:])
            for value in operands:
                names |= wanted & constants_of(value)
            return self._matching(type(op), frozenset(names), tried)
        found = self._by_operands.get(kinds)
        if found is None:
            found = self._matching(type(op), frozenset(kinds[1:]), tried)
            self._by_operands[kinds] = found
        return found

    def _matching(
        self, kind: type, producers: frozenset[type | str], tried: Sequence[Rule]
    ) -> list[Rule]:
        found = self._by_producers.get((kind, producers))
        if found is None:
            found = [each for each in tried if each.matches(producers)]
            self._by_producers[kind, producers] = found
        return found


def constants_of(value: ir.Value) -> set[str]:
    """The names of a splat constant in `Rule.constants`; empty for other values."""
    number = splat_of(value)
    if number is None:
        return set()
    names = {"splat", str(float(number))}
    return names | {"-0.0"} if number == 0 and not isinstance(number, float) else names

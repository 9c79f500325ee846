"""What a value of the forward loop's body is computed from in the backward loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.bounds import Bounds, type_bounds
from jxc.ir.module import has_regions, is_pure, walk
from jxc.ir.values import element_type

from .._shared.region import has_placeholder
from ..loops.counted import CountedLoop, Index
from .copies import compares_bits, used_by
from .pairs import LoopPair, WrittenStack

_WITHOUT_EFFECTS = ("sdy.sharding_constraint", "stablehlo.optimization_barrier")


@dataclass
class Need:
    """What a value of the forward loop's body is computed from in the backward loop.

    Attributes:
        ops: the positions of the ops that run again.
        stored: the values of which a stack must be added: carried values at the start of an
            iteration, and results of ops that must not run again.
        kept: the stacks that are read.
        reason: why it cannot be computed; empty if it can.
    """

    ops: set[int] = field(default_factory=set)
    stored: set[ir.Value] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    reason: str = ""


class Sources:
    """Finds what values of the forward loop's body are computed from in the backward loop.

    Attributes:
        pair: the loops.
        loop: the forward loop.
        chosen: the stacks that are not kept.
        kept: the values of kept stacks.
        counters: the arguments that are known in each iteration.
        following: for arguments of which a kept stack has the next value, this stack.
    """

    def __init__(self, pair: LoopPair, chosen: Iterable[int], *, from_results: bool = True) -> None:
        self.pair, self.loop = pair, pair.forward
        self.chosen = frozenset(chosen)
        self.counters = counters_of(self.loop)
        self.kept: dict[ir.Value, WrittenStack] = {}
        for stack in pair.stacks.values():
            if stack.index not in self.chosen:
                self.kept |= {stack.value: stack, stack.update: stack}
        self.following = {
            argument: self.kept[end]
            for argument, end in zip(self.loop.body.arguments, self.loop.ends, strict=True)
            if from_results and end in self.kept and self.kept[end].value == end
        }

    def of_all(self) -> Need:
        """What all chosen values are computed from."""
        return self.of([self.pair.stacks[index].value for index in sorted(self.chosen)])

    def of(self, values: Sequence[ir.Value], *, only_carried: bool = False) -> Need:
        """What `values` are computed from.

        Args:
            values: of the body of the forward loop.
            only_carried: whether no results of ops may be stored.
        """
        need, pending, seen = Need(), list(values), set[ir.Value]()
        while pending and not need.reason:
            value = pending.pop()
            if value in seen or value in self.counters or self.loop.is_outside(value):
                continue
            seen.add(value)
            if (stack := self.kept.get(value) or self.following.get(value)) is not None:
                need.kept.add(stack.index)
            elif value in self.loop.arguments:
                self._store(need, value)
            elif reason := why_not_again(value.owner):
                self._store(need, value)
                need.reason = reason if only_carried else need.reason
            else:
                need.ops.add(self.loop.position[value])
                pending += used_by(value.owner)
        return need

    def _store(self, need: Need, value: ir.Value) -> None:
        need.stored.add(value)
        need.reason = self._why_not_stored(value)

    def _why_not_stored(self, value: ir.Value) -> str:
        if self.loop.arguments.get(value) in self.pair.stacks:
            return "it is computed from a stack that the loop is still writing"
        if not has_placeholder(value):
            return f"it is computed from a value of type {value.type}"
        return ""

    def stored_for(self, value: ir.Value) -> frozenset[ir.Value]:
        """The values that `of([value])` stores: faster for many values of the same body."""
        if value in self.counters or self.loop.is_outside(value):
            return frozenset()
        if value in self.kept or value in self.following:
            return frozenset()
        return frozenset([value]) if value in self.loop.arguments else self._stored[value]

    @cached_property
    def _stored(self) -> dict[ir.Value, frozenset[ir.Value]]:
        """What `stored_for` returns for the results of the ops of the body."""
        found: dict[ir.Value, frozenset[ir.Value]] = {}
        self._stored = found  # read by `stored_for` for the ops before
        for op in self.loop.ops:
            if why_not_again(op):
                found |= {result: frozenset([result]) for result in op.results}
                continue
            needed = frozenset[ir.Value]().union(*map(self.stored_for, used_by(op)))
            found |= dict.fromkeys(op.results, needed)
        return found

    def why_not(self, value: ir.Value) -> str:
        """Why `value` cannot be computed; empty if it can."""
        return next(filter(None, map(self._why_not_stored, self.stored_for(value))), "")


def counters_of(loop: CountedLoop) -> dict[ir.Value, Index]:
    """The carried values that are an index, if their type also holds the number of iterations."""
    found = {}
    for argument in loop.arguments:
        if (index := loop.index_of(argument)) is not None:
            kind = type_bounds(element_type(argument))
            if kind is not None and kind.contains(Bounds(0, loop.trips)):
                found[argument] = index
    return found


def why_not_again(op: ir.OpView) -> str:
    """Why an op must not run a second time; empty if it may."""
    if compares_bits(op):
        return "it is a comparison for equality, which another rounding of its operands changes"
    for each in (op, *walk(op)) if has_regions(op) else (op,):
        name = each.operation.name
        target = each.call_target_name.value if isinstance(each, hlo.CustomCallOp) else ""
        if "callback" in target:
            return "it is computed by a callback to Python"
        if target == "annotate_device_placement":
            return "it is moved to another memory"
        if not is_pure(each) and name not in _WITHOUT_EFFECTS:
            return f"it is computed by `{name}`, which may have effects"
    return ""

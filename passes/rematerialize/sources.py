"""What a value of the forward loop's body is computed from in the backward loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jaxlib.mlir import ir

from jxc.ir.bounds import Bounds, type_bounds
from jxc.ir.module import has_regions, is_pure, walk
from jxc.ir.values import element_type

from .._shared.region import has_placeholder
from ..loops.counted import CountedLoop, Index
from .copies import used_by
from .pairs import LoopPair, Stack


_WITHOUT_EFFECTS = ("sdy.sharding_constraint", "stablehlo.optimization_barrier")


@dataclass
class Need:
    """What a value of the forward loop's body is computed from in the backward loop.

    Attributes:
        ops: the positions of the ops that run again.
        carried: the arguments of the body of which a stack must be added.
        kept: the stacks that are read.
        reason: why it cannot be computed; empty if it can.
    """

    ops: set[int] = field(default_factory=set)
    carried: set[int] = field(default_factory=set)
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

    def __init__(self, pair: LoopPair, chosen: Iterable[int]) -> None:
        self.pair, self.loop = pair, pair.forward
        self.chosen = frozenset(chosen)
        self.counters = counters_of(self.loop)
        self.kept: dict[ir.Value, Stack] = {}
        for stack in pair.stacks.values():
            if stack.index not in self.chosen:
                self.kept |= {stack.value: stack, stack.update: stack}
        self.following = {
            argument: self.kept[end]
            for argument, end in zip(self.loop.body.arguments, self.loop.ends, strict=True)
            if end in self.kept and self.kept[end].value == end
        }

    def of_all(self) -> Need:
        """What all chosen values are computed from."""
        return self.of([self.pair.stacks[index].value for index in sorted(self.chosen)])

    def of(self, values: Sequence[ir.Value]) -> Need:
        """What `values` are computed from."""
        need, pending, seen = Need(), list(values), set[ir.Value]()
        while pending and not need.reason:
            value = pending.pop()
            if value in seen or self.loop.is_outside(value):
                continue
            seen.add(value)
            if (stack := self.kept.get(value)) is not None:
                need.kept.add(stack.index)
            elif (number := self.loop.arguments.get(value)) is not None:
                self._add_argument(need, number)
            else:
                op = value.owner
                need.reason = why_not_again(op)
                need.ops.add(self.loop.position[value])
                pending += used_by(op)
        return need

    def _add_argument(self, need: Need, number: int) -> None:
        argument = self.loop.body.arguments[number]
        if argument in self.counters:
            return
        if (stack := self.following.get(argument)) is not None:
            need.kept.add(stack.index)
            return
        need.carried.add(number)
        if number in self.pair.stacks:
            need.reason = "it is computed from a stack that the loop is still writing"
        elif not has_placeholder(argument):
            need.reason = f"it is computed from a carried value of type {argument.type}"


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
    ops = [op, *walk(op)] if has_regions(op) else [op]
    for each in ops:
        name = each.operation.name
        if name == "stablehlo.custom_call" and "callback" in str(
            each.attributes["call_target_name"]
        ):
            return "it is computed by a callback to Python"
        if not is_pure(each) and name not in _WITHOUT_EFFECTS:
            return f"it is computed by `{name}`, which may have effects"
    return ""

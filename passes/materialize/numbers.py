"""Find the random numbers of a block: results of loops over integers, and of ops on these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, func, stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import is_used, shape_of, static_shape, users

from .._shared.recomputed import EXPENSIVE, is_computed_once
from ..threefry.unroll import is_short_integer_loop

_SMALLER = 8
"""A value with this many times fewer elements than random numbers may be combined with them."""

_KEY = 2
"""The words of a key of threefry."""

_MOVING = (
    *(hlo.BitcastConvertOp, hlo.BroadcastInDimOp, hlo.ConcatenateOp, hlo.PadOp, hlo.ReshapeOp),
    *(hlo.ReverseOp, hlo.SliceOp, hlo.TransposeOp, chlo.ErfInvOp),
)


class Numbers:
    """The loops of a block that compute random numbers, and the values that follow from each.

    Constants, iotas, and values that are `_SMALLER`, such as bounds, may take part.
    """

    def __init__(self, ops: Sequence[ir.OpView]) -> None:
        self._loop: dict[ir.Value, ir.Value] = {}  # the first result of the loop of each number
        self._free: set[ir.Value] = set()  # computed from constants, iotas and scalars
        self._chained: list[ir.Value] = []  # loops from whose results another loop is computed
        if any(isinstance(op, hlo.WhileOp) for op in ops):
            for op in ops:
                self._read(op)

    def _read(self, op: ir.OpView) -> None:
        if isinstance(op, hlo.ConstantOp | hlo.IotaOp):
            self._free.add(op.results[0])
        elif isinstance(op, hlo.WhileOp) and is_short_integer_loop(op):
            self._chained += [self._loop[each] for each in op.operands if each in self._loop]
            self._loop.update(dict.fromkeys(op.results, op.results[0]))
        elif len(op.results) == 1 and _is_recomputed(op):
            self._follow(op)

    def _follow(self, op: ir.OpView) -> None:
        """Record whether the result of `op` is a random number."""
        result, inputs = op.results[0], [each for each in op.operands if each not in self._free]
        loops = {self._loop[each] for each in inputs if each in self._loop}
        others = [each for each in inputs if each not in self._loop]
        if len(loops) > 1 or not all(_is_small(value, result) for value in others):
            return
        if loops:
            self._loop[result] = loops.pop()
        else:
            self._free.add(result)

    def stored(self) -> list[ir.Value]:
        """The values to materialize, for numbers that XLA would compute several times."""
        numbers: dict[ir.Value, set[ir.Value]] = {}  # by loop
        for value in self._read_by_others():
            numbers.setdefault(self._loop[value], set()).add(self._narrowest(value))
        wanted, several = set[ir.Value](), dict[ir.Value, set[ir.Value]]()
        for loop, values in numbers.items():
            if loop in self._chained:
                wanted.update(self._waist(loop))
            elif not is_computed_once(loop.owner.results):
                several[loop] = values if len(values) == 1 else set(self._waist(loop))
        types = [value.type for values in several.values() for value in values]
        for loop, values in several.items():
            wanted |= values
            if any(types.count(value.type) > 1 for value in values):
                wanted |= _keys_of(loop.owner)
        return list(wanted)

    def _read_by_others(self) -> Iterator[ir.Value]:
        """Yield the random numbers that are read by ops whose results are not of the same loop."""
        for value, loop in self._loop.items():
            if not all(self._is_of(loop, user) for user in users(value)):
                yield value

    def _is_of(self, loop: ir.Value, op: ir.OpView) -> bool:
        results = op.results
        return len(results) > 0 and results[0] in self._loop and self._loop[results[0]] == loop

    def _waist(self, loop: ir.Value) -> list[ir.Value]:
        """The value from which all later numbers of a loop are computed, or the loop's results."""
        results = [value for value in loop.owner.results if is_used(value)]
        left = {value: len(users(value)) for value in results}  # uses of the numbers so far
        numbers = [value for value, first in self._loop.items() if first == loop]
        for value in numbers[len(loop.owner.results) :]:
            if len(left) == 1:
                break
            for operand in value.owner.operands:
                if operand in left:
                    left[operand] -= 1
            left = {each: uses for each, uses in left.items() if uses}
            left[value] = len(users(value))
        return list(left) if len(left) == 1 else results

    def _narrowest(self, value: ir.Value) -> ir.Value:
        """The random number of the fewest bytes from which alone `value` can be computed."""
        found = value
        while not isinstance(value.owner, hlo.WhileOp):
            inputs = [each for each in value.owner.operands if each not in self._free]
            if len(inputs) != 1 or inputs[0] not in self._loop:
                break
            value = inputs[0]
            if bytes_of(value.type) < bytes_of(found.type):
                found = value
        return found


def _is_recomputed(op: ir.OpView) -> bool:
    """Whether XLA computes `op` again in each kernel that reads its result."""
    is_cheap = is_elementwise(op) and not isinstance(op, EXPENSIVE)
    return is_cheap or isinstance(op, _MOVING)


def _is_small(value: ir.Value, result: ir.Value) -> bool:
    if static_shape(value, result) is None:
        return False
    return prod(shape_of(value)) * _SMALLER <= max(prod(shape_of(result)), 2 * _SMALLER)


def _keys_of(loop: hlo.WhileOp) -> set[ir.Value]:
    """The keys from which the numbers of `loop` are computed, if an op computes them."""
    found, seen, pending = set[ir.Value](), set[ir.Value](), list(loop.operands)
    while pending:
        each = pending.pop()
        if each in seen or isinstance(each.owner, ir.Block | func.CallOp | hlo.ConstantOp):
            continue
        seen.add(each)
        if prod(shape_of(each)) <= _KEY and not is_elementwise(each.owner):
            found.add(_whole(each))
        elif _is_recomputed(each.owner):
            pending += each.owner.operands
    return {each for each in found if not isinstance(each.owner, ir.Block | func.CallOp)}


def _whole(word: ir.Value) -> ir.Value:
    """The key of which `word` is a part."""
    while isinstance(word.owner, hlo.ReshapeOp | hlo.SliceOp):
        before = word.owner.operand
        if prod(shape_of(before)) > _KEY:
            return word
        word = before
    return word

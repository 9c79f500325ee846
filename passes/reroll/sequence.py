"""The ops of a block as a sequence of numbers, and the runs of it that repeat.

Equal numbers mean the same op: name, attributes, types and regions. Ops computed from constants
alone are not part of the sequence: JAX writes a constant where it is first used, which is in the
first of many layers. Each op with effects gets a number of its own, so it never repeats.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxlib.mlir import ir

from jxc.ir.module import functions, has_regions, is_pure, ops_of, walk
from jxc.ir.repetitions import longest_true

OFFSETS = {
    "stablehlo.slice": ("start_indices", "limit_indices"),
    "stablehlo.pad": ("edge_padding_low", "edge_padding_high"),
}
"""Attributes in which repetitions may differ: the loop computes such offsets from its counter."""

_REPEATABLE = frozenset({"stablehlo.optimization_barrier", "sdy.sharding_constraint"})
_RETURN = "stablehlo.return"
_WINDOWS = (1, 4, 16, 64)  # ops that are compared at once to find how far apart repetitions are
_CANDIDATES = 100  # distances tried, the most frequent first


@dataclass(frozen=True)
class Run:
    """A stretch of the sequence in which each op equals the one a period later.

    Attributes:
        start, end: the positions of its first op and after its last one.
        period: the number of ops of a repetition; `end - start` may exceed a multiple of it.
        shift: the number of ops before the first repetition, less than a period.
    """

    start: int
    end: int
    period: int
    shift: int = 0

    @property
    def count(self) -> int:
        """The number of whole repetitions."""
        return (self.end - self.start) // self.period

    @property
    def slack(self) -> int:
        """The number of ops that are in no whole repetition."""
        return (self.end - self.start) % self.period

    @property
    def saved(self) -> int:
        """The number of ops that a loop removes."""
        return (self.count - 1) * self.period

    @property
    def starts(self) -> range:
        """The positions of the first op of each repetition."""
        first = self.start + self.shift
        return range(first, first + self.count * self.period, self.period)


@dataclass(frozen=True)
class Slot:
    """An operand of an op of the sequence, or a use of an outside value in its regions."""

    owner: ir.OpView
    index: int

    @property
    def value(self) -> ir.Value:
        """The value in it."""
        return self.owner.operands[self.index]

    def set(self, value: ir.Value) -> None:
        """Put another value into it."""
        self.owner.operands[self.index] = value


@dataclass(frozen=True)
class Sequence:
    """The ops of a block, without those that are computed from constants alone.

    Attributes:
        ops: the ops, in order.
        used: the values that each uses, those of its regions included.
        numbers: the number of each.
        constants: the values computed from constants, each with the first value equal to it.
    """

    ops: list[ir.OpView]
    used: list[list[ir.Value]]
    numbers: np.ndarray
    constants: dict[ir.Value, ir.Value]


class Numbering:
    """Numbers the ops of a module's blocks."""

    def __init__(self, module: ir.Operation) -> None:
        self._functions = functions(module)
        self._pure_functions: dict[str, bool] = {}
        self._numbers: dict[Hashable, int] = {}

    def sequence(self, block: ir.Block) -> Sequence:
        """The ops of a block that are not computed from constants alone, and their numbers."""
        ops: list[ir.OpView] = []
        used: list[list[ir.Value]] = []
        numbers: list[int] = []
        constants: dict[ir.Value, ir.Value] = {}
        first_of: dict[Hashable, ir.OpView] = {}
        for op in ops_of(block):
            operands = list(op.operands)
            repeats = self._may_repeat(op)
            key = self._key(op, operands) if repeats else (len(ops), "once")
            if repeats and _is_constant(op, operands, constants):
                wired = (key, tuple(constants[each] for each in operands), _offsets(op))
                first = first_of.setdefault(wired, op)
                constants.update(zip(op.results, first.results, strict=True))
                continue
            ops.append(op)
            used.append([slot.value for slot in slots_of(op)] if has_regions(op) else operands)
            numbers.append(self._numbers.setdefault(key, len(self._numbers)))
        return Sequence(ops, used, np.array(numbers, np.int32), constants)

    def _may_repeat(self, op: ir.OpView) -> bool:
        name = op.operation.name
        if name == "func.call":
            return self._is_pure_function(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        if not is_pure(op) and name not in _REPEATABLE:
            return False
        return not has_regions(op) or all(
            each.operation.name == _RETURN or self._may_repeat(each) for each in walk(op)
        )

    def _is_pure_function(self, name: str) -> bool:
        if name not in self._pure_functions:
            self._pure_functions[name] = False  # holds if the function calls itself
            function = self._functions.get(name)
            self._pure_functions[name] = function is not None and all(
                each.operation.name in (_RETURN, "func.return") or self._may_repeat(each)
                for each in walk(function)
            )
        return self._pure_functions[name]

    def _key(self, op: ir.OpView, operands: list[ir.Value]) -> Hashable:
        name = op.operation.name
        attributes = _attributes(op)
        types = tuple(each.type for each in (*operands, *op.results))
        inner = _structure(op) if has_regions(op) else None
        return name, attributes, types, inner


def _attributes(op: ir.OpView, left_out: Collection[str] | None = None) -> Hashable:
    """The attributes of an op, without its offsets or `left_out`."""
    if left_out is None:
        left_out = OFFSETS.get(op.operation.name, ())
    try:
        return tuple((key, value) for key, value in op.attributes.items() if key not in left_out)
    except TypeError:  # complex numbers, whose attribute the bindings cannot hold
        return str(op).partition(" = ")[2] if not has_regions(op) else object()


def _offsets(op: ir.OpView) -> Hashable:
    return tuple(op.attributes[name] for name in OFFSETS.get(op.operation.name, ()))


def _is_constant(
    op: ir.OpView, operands: list[ir.Value], constants: dict[ir.Value, ir.Value]
) -> bool:
    if not all(each in constants for each in operands) or has_regions(op):
        return False
    return op.operation.name not in ("stablehlo.custom_call", "func.call", *_REPEATABLE)


def _structure(op: ir.OpView, numbers: dict[ir.Value, int] | None = None) -> Hashable:
    """The regions of an op: its ops, their types and wiring; values from outside are alike."""
    numbers = {} if numbers is None else numbers
    found: list[Hashable] = []
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
                found.append(argument.type)
            for inner in block.operations:
                operands = list(inner.operands)
                found.append((inner.operation.name, _attributes(inner, ())))
                found.append(tuple(numbers.get(each, -1) for each in operands))
                found.append(tuple(each.type for each in (*operands, *inner.results)))
                found.append(_structure(inner, numbers) if has_regions(inner) else ())
                for result in inner.results:
                    numbers[result] = len(numbers)
    return tuple(found)


def slots_of(op: ir.OpView) -> Iterator[Slot]:
    """The operands of an op, and the values from outside that the ops in its regions use."""
    yield from (Slot(op, index) for index in range(len(op.operands)))
    if not has_regions(op):
        return
    inner = list(walk(op))
    own = {result for each in inner for result in each.results}
    for each in (op, *inner):
        own.update(a for region in each.regions for block in region.blocks for a in block.arguments)
    for each in inner:
        yield from (Slot(each, i) for i, value in enumerate(each.operands) if value not in own)


def runs_in(numbers: np.ndarray, min_repeats: int, min_ops: int) -> list[Run]:
    """Runs that do not overlap, in order. The run that removes most ops is taken first.

    Args:
        numbers: the sequence.
        min_repeats: the least number of repetitions of a run, at least 2.
        min_ops: the least number of ops that a loop must remove.
    """
    found = []
    pending = [(0, len(numbers))]
    while pending:
        low, high = pending.pop()
        best = _best_run(numbers[low:high], min_repeats, min_ops)
        if best is not None:
            run = Run(best.start + low, best.end + low, best.period)
            found.append(run)
            pending += [(low, run.start + run.slack), (run.end - run.slack, high)]
    runs = _without_overlaps(sorted(found, key=lambda run: run.start))
    return [run for run in runs if run.count >= min_repeats]


def _without_overlaps(runs: list[Run]) -> list[Run]:
    """The runs without the ops that the run before shares; none loses a whole repetition.

    The last op of a forward pass may be the same as one of the gradient that follows.
    """
    found: list[Run] = []
    for run in runs:
        if found and (overlap := found[-1].end - run.start) > 0:
            before = found[-1]
            own = min(overlap, run.slack)
            run = replace(run, start=run.start + own)
            found[-1] = replace(before, end=before.end - (overlap - own))
        found.append(run)
    return found


def _best_run(numbers: np.ndarray, min_repeats: int, min_ops: int) -> Run | None:
    """The run that removes most ops; among equals, the one of the shortest period."""
    best, most = None, min_ops - 1
    if len(numbers) <= min_ops:
        return None
    for period in _distances(numbers, min_repeats):
        equal = numbers[:-period] == numbers[period:]
        if np.count_nonzero(equal) <= most:
            continue
        start, length = longest_true(equal)
        run = Run(start, start + length + period, period)
        if run.count >= min_repeats and run.saved > most:
            best, most = run, run.saved
    return best


def _distances(numbers: np.ndarray, min_repeats: int) -> list[int]:
    """The distances between equal windows of ops that are frequent enough, in ascending order."""
    counts = np.zeros(len(numbers) // min_repeats + 1, np.int64)
    hashes = numbers.astype(np.uint64)
    width = 1
    for window in _WINDOWS:
        while width < window and len(hashes) > width:  # a hash of twice as many ops
            hashes = hashes[:-width] * np.uint64(0x9E3779B97F4A7C15) + hashes[width:]
            hashes ^= hashes >> np.uint64(29)
            width *= 2
        order = np.argsort(hashes, kind="stable")
        alike = hashes[order[1:]] == hashes[order[:-1]]
        apart = np.diff(order)[alike]
        apart = apart[apart < len(counts)]
        counts += np.bincount(apart, minlength=len(counts))
    counts[0] = 0
    frequent = np.flatnonzero(counts >= min_repeats - 1)
    most = frequent[np.argsort(-counts[frequent], kind="stable")][:_CANDIDATES]
    return sorted(int(each) for each in most)

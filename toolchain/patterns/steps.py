"""How the labels of an op's result become those of its operands: one function for each kind of op.

Each takes an op of the pattern and one of the program, of the same name, with the labels of their
results, and yields the ways in which their operands can correspond. It raises `Differs` if the ops
compute different things. Ops without a function here correspond only if all their dimensions do, in
order, with equal attributes and regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import array_of, direction_of, element_type, shape_of, splat_attr
from ..ir.elementwise import is_elementwise
from .axes import Core, Label, Labels, core_of, reshape_groups
from .bodies import Differs, same_attributes, same_bodies


@dataclass(frozen=True)
class Pair:
    """A value of the pattern and the value of the program that must be the same.

    `users` are the ops of the pattern and of the program that use them; None for results.
    """

    pattern: ir.Value
    pattern_labels: Labels
    program: ir.Value
    program_labels: Labels
    users: tuple[ir.OpView, ir.OpView] | None = None


@dataclass(frozen=True)
class Ops:
    """An op of the pattern and an op of the program of the same name, with their results' labels.

    `is_exact` is false where sizes are not known yet. Then numbers that may depend on sizes, such
    as constants and bounds of slices, are not compared.
    """

    pattern: Any
    pattern_labels: Labels
    program: Any
    program_labels: Labels
    is_exact: bool

    def pair(
        self, index: int, pattern_labels: Labels, program_labels: Labels, other: int | None = None
    ) -> Pair:
        """Operand `index` of the pattern's op; operand `other`, or `index`, of the program's."""
        theirs = index if other is None else other
        return Pair(
            self.pattern.operands[index],
            pattern_labels,
            self.program.operands[theirs],
            program_labels,
            (self.pattern, self.program),
        )


Step: TypeAlias = Callable[[Ops], Iterator[list[Pair]]]


def step_of(op: ir.OpView) -> Step:
    """The function for the ops of the class of `op`."""
    return _elementwise if is_elementwise(op) else _STEPS.get(type(op), _positional)


_COMMUTATIVE = (hlo.AddOp, hlo.MulOp, hlo.MaxOp, hlo.MinOp, hlo.AndOp, hlo.OrOp, hlo.XorOp)
_MIRRORED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


def _elementwise(ops: Ops) -> Iterator[list[Pair]]:
    mine, theirs = ops.pattern, ops.program
    swapped = isinstance(mine, _COMMUTATIVE)
    straight = True
    if isinstance(mine, hlo.CompareOp):
        straight = direction_of(mine) == direction_of(theirs)
        swapped = _MIRRORED[direction_of(mine)] == direction_of(theirs)
        if not straight and not swapped:
            raise Differs(f"compares {direction_of(theirs)}, the pattern {direction_of(mine)}")
    same_attributes(mine, theirs, except_for="comparison_direction")

    def labels(value: ir.Value, given: Labels) -> Labels:
        return given if shape_of(value) else ()

    orders = [range(len(mine.operands))] if straight else []
    orders += [range(1, -1, -1)] if swapped else []
    for order in orders:
        yield [
            ops.pair(
                index,
                labels(mine.operands[index], ops.pattern_labels),
                labels(theirs.operands[other], ops.program_labels),
                other,
            )
            for index, other in enumerate(order)
        ]


def _constant(ops: Ops) -> Iterator[list[Pair]]:
    if ops.is_exact and not _is_same_constant(ops):
        mine, theirs = (_show(op.result) for op in (ops.pattern, ops.program))
        raise Differs(f"is the constant {theirs}, the pattern has {mine}")
    yield []


def _is_same_constant(ops: Ops) -> bool:
    splats = [splat_attr(op.result) for op in (ops.pattern, ops.program)]
    if any(each is not None for each in splats):
        return str(splats[0]) == str(splats[1])  # attributes of two contexts are never equal
    arrays = [array_of(op.result) for op in (ops.pattern, ops.program)]
    if arrays[0] is None or arrays[1] is None:
        return False
    labels = [label for label in ops.program_labels if label is not None]
    wanted = [label for label in ops.pattern_labels if label is not None]
    if set(labels) != set(wanted):
        return False
    order = [labels.index(label) for label in wanted]
    theirs = np.transpose(arrays[1].reshape([n for n in arrays[1].shape if n != 1]), order)
    mine = arrays[0].reshape([n for n in arrays[0].shape if n != 1])
    return mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()


def _iota(ops: Ops) -> Iterator[list[Pair]]:
    mine = ops.pattern_labels[ops.pattern.iota_dimension.value]
    if mine is not ops.program_labels[ops.program.iota_dimension.value]:
        raise Differs("counts along another dimension than the pattern")
    yield []


def _reduce(ops: Ops) -> Iterator[list[Pair]]:
    mine, theirs = ops.pattern, ops.program
    if len(mine.inputs) != 1 or len(theirs.inputs) != 1:
        yield from _positional(ops)
        return
    same_bodies(mine, theirs)
    reduced, given = (_sized(op.dimensions, op.inputs[0]) for op in (mine, theirs))
    if len(reduced) != len(given):
        raise Differs(f"reduces {len(given)} dimensions, the pattern {len(reduced)}")
    labels = {dim: Core() for dim in reduced}
    pattern_labels = _with_reduced(mine, ops.pattern_labels, labels)
    for order in permutations(reduced):
        named = {dim: labels[source] for dim, source in zip(given, order, strict=True)}
        program_labels = _with_reduced(theirs, ops.program_labels, named)
        yield [ops.pair(0, pattern_labels, program_labels), ops.pair(1, (), ())]


def _with_reduced(op: Any, kept: Labels, reduced: dict[int, Core]) -> Labels:
    left = iter(kept)
    dims = set(op.dimensions)
    rank = len(shape_of(op.inputs[0]))
    return tuple(reduced.get(dim) if dim in dims else next(left) for dim in range(rank))


def _sized(dims: Sequence[int], value: ir.Value) -> list[int]:
    """The dimensions among `dims` whose size is not 1."""
    shape = shape_of(value)
    return [dim for dim in dims if shape[dim] != 1]


@dataclass(frozen=True)
class _Dot:
    """The dimensions of a `dot_general`, by operand."""

    op: Any
    batch: tuple[list[int], list[int]]
    contracted: tuple[list[int], list[int]]

    @staticmethod
    def of(op: Any) -> _Dot:
        dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
        batch = list(dims.lhs_batching_dimensions), list(dims.rhs_batching_dimensions)
        contracted = list(dims.lhs_contracting_dimensions), list(dims.rhs_contracting_dimensions)
        return _Dot(op, batch, contracted)

    def labels(self, result: Labels, contracted: Sequence[Label]) -> tuple[Labels, Labels]:
        """The labels of both operands."""
        found: list[Labels] = []
        at = len(self.batch[0])
        for side in (0, 1):
            rank = len(shape_of(self.op.operands[side]))
            names: list[Label] = [None] * rank
            for index, dim in enumerate(self.batch[side]):
                names[dim] = result[index]
            for dim, label in zip(self.contracted[side], contracted, strict=True):
                names[dim] = label
            for dim in range(rank):
                if dim not in self.batch[side] and dim not in self.contracted[side]:
                    names[dim] = result[at]
                    at += 1
            found.append(tuple(names))
        return found[0], found[1]


def _dot(ops: Ops) -> Iterator[list[Pair]]:
    mine, theirs = _Dot.of(ops.pattern), _Dot.of(ops.program)
    for name in ("precision_config", "algorithm"):
        wanted, found = (str(each.op.attributes.get(name)) for each in (mine, theirs))
        if _plain(wanted) != _plain(found):
            raise Differs(f"has {name} {_plain(found)}, the pattern {_plain(wanted)}")
    sized = [_sized(each.contracted[0], each.op.lhs) for each in (mine, theirs)]
    if len(sized[0]) != len(sized[1]):
        raise Differs(f"contracts {len(sized[1])} dimensions, the pattern {len(sized[0])}")
    names = {dim: Core() for dim in sized[0]}
    left, right = mine.labels(ops.pattern_labels, [names.get(d) for d in mine.contracted[0]])
    for order in permutations(sized[0]):
        named = {dim: names[source] for dim, source in zip(sized[1], order, strict=True)}
        given = theirs.labels(ops.program_labels, [named.get(d) for d in theirs.contracted[0]])
        for first, second in ((0, 1), (1, 0)):
            if core_of(given[first]) == core_of(left) and core_of(given[second]) == core_of(right):
                yield [
                    ops.pair(0, left, given[first], first),
                    ops.pair(1, right, given[second], second),
                ]


def _plain(text: str) -> str:
    """An attribute as text; empty where it says no more than the default."""
    if text == "None" or set(text.replace("#stablehlo<precision ", "").strip("[]>")) <= set(
        "DEFAULT, >"
    ):
        return ""
    return text


def _reverse(ops: Ops) -> Iterator[list[Pair]]:
    mine, theirs = (
        {labels[dim] for dim in op.dimensions}
        for op, labels in (
            (ops.pattern, ops.pattern_labels),
            (ops.program, ops.program_labels),
        )
    )
    if mine != theirs:
        raise Differs("reverses other dimensions than the pattern")
    yield [ops.pair(0, ops.pattern_labels, ops.program_labels)]


def _windowed(*names: str) -> Step:
    """The step of an op whose attributes `names` have a number for each dimension.

    A dimension of which the op keeps all elements in place is mapped over.
    """

    def step(ops: Ops) -> Iterator[list[Pair]]:
        mine, windows = list(ops.pattern_labels), {}
        for dim, window in _windows(ops.pattern, names):
            key = dim if mine[dim] is None else mine[dim]
            mine[dim] = Core()
            windows[key] = mine[dim], window
        theirs = list(ops.program_labels)
        unnamed = [key for key in windows if isinstance(key, int)]  # of size 1, in order
        for dim, window in _windows(ops.program, names):
            key = theirs[dim] if theirs[dim] is not None or not unnamed else unnamed.pop(0)
            if key not in windows:
                raise Differs("cuts or pads other dimensions than the pattern")
            theirs[dim], wanted = windows.pop(key)
            if ops.is_exact and wanted != window:
                raise Differs(f"cuts or pads {list(window)}, the pattern {list(wanted)}")
        if windows:
            raise Differs("cuts or pads other dimensions than the pattern")
        rest = [ops.pair(index, (), ()) for index in range(1, len(ops.pattern.operands))]
        yield [ops.pair(0, tuple(mine), tuple(theirs)), *rest]

    return step


def windowed_dims(op: Any) -> list[int]:
    """The dimensions of which a slice or a pad does not keep all elements in place."""
    return [dim for dim, _ in _windows(op, _WINDOWS[type(op)])]


def _windows(op: Any, names: Sequence[str]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The dimensions of which not all elements stay in place, with their numbers."""
    columns = [list(getattr(op, name)) for name in names]
    for dim, size in enumerate(shape_of(op.operands[0])):
        numbers = tuple(column[dim] for column in columns)
        if numbers not in ((0, size, 1), (0, 0, 0)):
            yield dim, numbers


def _concatenate(ops: Ops) -> Iterator[list[Pair]]:
    mine, theirs = ops.pattern.dimension.value, ops.program.dimension.value
    if ops.pattern_labels[mine] is not ops.program_labels[theirs]:
        raise Differs("concatenates along another dimension than the pattern")
    if len(ops.pattern.operands) != len(ops.program.operands):
        raise Differs("concatenates another number of values than the pattern")
    pairs = []
    for index in range(len(ops.pattern.operands)):
        pattern, program = list(ops.pattern_labels), list(ops.program_labels)
        sizes = (
            shape_of(ops.pattern.operands[index])[mine],
            shape_of(ops.program.operands[index])[theirs],
        )
        if ops.is_exact and sizes[0] != sizes[1]:
            raise Differs(f"concatenates {sizes[1]} elements, the pattern {sizes[0]}")
        label = Core()
        pattern[mine] = None if sizes[0] == 1 else label
        program[theirs] = None if sizes[1] == 1 else label
        pairs.append(ops.pair(index, tuple(pattern), tuple(program)))
    yield pairs


def _reshape(ops: Ops) -> Iterator[list[Pair]]:
    """A reshape that splits or merges dimensions along which the pattern computes."""
    renamed: dict[tuple[Label, ...], tuple[Core, ...]] = {}
    mine = _regrouped(ops.pattern, ops.pattern_labels, renamed, is_new=True)
    theirs = _regrouped(ops.program, ops.program_labels, renamed, is_new=False)
    yield [ops.pair(0, mine, theirs)]


def _regrouped(
    op: Any,
    labels: Labels,
    renamed: dict[tuple[Label, ...], tuple[Core, ...]],
    *,
    is_new: bool,
) -> Labels:
    before = shape_of(op.operand)
    found: list[Label] = [None] * len(before)
    used = set()
    for sources, results in reshape_groups(before, shape_of(op.result)):
        names = tuple(labels[dim] for dim in results)
        if len(sources) == len(results) == 1:
            found[sources[0]] = names[0]
        elif any(name is not None for name in names):
            if is_new:
                renamed[names] = tuple(Core() for _ in sources)
            if len(renamed.get(names, ())) != len(sources):
                raise Differs("splits or merges other dimensions than the pattern")
            used.add(names)
            for dim, label in zip(sources, renamed[names], strict=True):
                found[dim] = label
    if used != set(renamed):
        raise Differs("splits or merges other dimensions than the pattern")
    return tuple(found)


def _positional(ops: Ops) -> Iterator[list[Pair]]:
    """Any other op: the same attributes and regions, and the same dimensions in the same order."""
    mine, theirs = ops.pattern, ops.program
    if len(mine.operands) != len(theirs.operands) or len(mine.results) != len(theirs.results):
        raise Differs("has another number of operands or results than the pattern")
    if any(a is not b for a, b in zip(ops.pattern_labels, ops.program_labels, strict=False)):
        raise Differs("has its dimensions in another order than the pattern")
    if ops.is_exact:
        same_attributes(mine, theirs)
        same_bodies(mine, theirs)
        for wanted, found in zip(mine.results, theirs.results, strict=True):
            if str(wanted.type) != str(found.type):
                raise Differs(f"has the type {found.type}, the pattern {wanted.type}")
    pairs = []
    for index, (wanted, found) in enumerate(zip(mine.operands, theirs.operands, strict=True)):
        if len(shape_of(wanted)) != len(shape_of(found)):
            raise Differs("has an operand of another rank than the pattern")
        names = [Core() for _ in shape_of(wanted)]
        pairs.append(
            ops.pair(
                index,
                tuple(c if n != 1 else None for c, n in zip(names, shape_of(wanted), strict=True)),
                tuple(c if n != 1 else None for c, n in zip(names, shape_of(found), strict=True)),
            )
        )
    yield pairs


_WINDOWS: dict[type, tuple[str, ...]] = {
    hlo.SliceOp: ("start_indices", "limit_indices", "strides"),
    hlo.PadOp: ("edge_padding_low", "edge_padding_high", "interior_padding"),
}

_STEPS: dict[type, Step] = {
    hlo.ConstantOp: _constant,
    hlo.IotaOp: _iota,
    hlo.ReduceOp: _reduce,
    hlo.DotGeneralOp: _dot,
    hlo.ReverseOp: _reverse,
    **{kind: _windowed(*names) for kind, names in _WINDOWS.items()},
    hlo.ConcatenateOp: _concatenate,
    hlo.ReshapeOp: _reshape,
}


def _show(value: ir.Value) -> str:
    attr: Any = splat_attr(value)
    return str(value.type) if attr is None else f"{attr.value:g} of {element_type(value)}"

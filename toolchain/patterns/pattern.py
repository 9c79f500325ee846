"""Patterns: the module of a traced function, with the dimensions along which it computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import main_of, shape_of, splat_attr
from ..ir.elementwise import is_elementwise
from ..ir.module import terminator
from .axes import reshape_groups
from .steps import windowed_dims

_Dim: TypeAlias = tuple[ir.Value, int]


@dataclass(frozen=True)
class Dimension:
    """A dimension of an argument or a result of a pattern.

    Attributes:
        group: dimensions of the same group have the same index in every op.
        is_core: whether the pattern computes along it; if not, it maps over it.
    """

    group: int
    is_core: bool


class Pattern:
    """The graph that is searched for.

    Attributes:
        module: a module of one function, normalised.
        arguments: the arguments of the function.
        results: the values that it returns.
        size: the number of ops.
    """

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        main = main_of(module)
        assert main is not None
        block = main.regions[0].blocks[0]
        self.arguments = tuple(block.arguments)
        end = terminator(block)
        self.results = tuple(end.operands)
        ops = [op for op in block.operations if op != end]
        self.size = len(ops)
        self._numbers = {value: index for index, value in enumerate(self.arguments)}
        self._groups = _Groups()
        for op in ops:
            _link(op, self._groups)
        for value in (*self.arguments, *(result for op in ops for result in op.results)):
            self._groups.mark_repeated(value)

    def dimensions(self, value: ir.Value) -> list[Dimension]:
        """The dimensions of an argument or a result."""
        find = self._groups.find
        return [
            Dimension(find((value, dim)), self._groups.is_core((value, dim)))
            for dim in range(len(shape_of(value)))
        ]

    def number(self, value: ir.Value) -> int | None:
        """The position of an argument; None for other values."""
        return self._numbers.get(value)

    def cone(self, value: ir.Value) -> set[ir.Value]:
        """The values that `value` is computed from, with itself."""
        seen: set[ir.Value] = set()
        pending = [value]
        while pending:
            value = pending.pop()
            if value not in seen:
                seen.add(value)
                owner = value.owner
                pending += [] if isinstance(owner, ir.Block) else list(owner.operands)
        return seen


class _Groups:
    """Disjoint sets of dimensions; a set is core if any of its members is."""

    def __init__(self) -> None:
        self._ids: dict[_Dim, int] = {}
        self._parents: list[int] = []
        self._core: set[int] = set()

    def find(self, dim: _Dim) -> int:
        if dim not in self._ids:
            self._ids[dim] = len(self._parents)
            self._parents.append(len(self._parents))
        found = self._ids[dim]
        while self._parents[found] != found:
            found = self._parents[found]
        return found

    def link(self, first: _Dim, second: _Dim) -> None:
        one, other = self.find(first), self.find(second)
        self._parents[other] = one
        if other in self._core:
            self._core.add(one)

    def mark(self, dim: _Dim) -> None:
        self._core.add(self.find(dim))

    def mark_repeated(self, value: ir.Value) -> None:
        """Mark the sets that have several dimensions of `value`: their order matters."""
        found = [self.find((value, dim)) for dim in range(_rank(value))]
        self._core |= {each for each in found if found.count(each) > 1}

    def is_core(self, dim: _Dim) -> bool:
        return self.find(dim) in self._core


def _link(op: ir.OpView, groups: _Groups) -> None:
    """Link the dimensions that `op` maps over, and mark those that it computes along."""
    kept, mapped = set(), set()
    for operand, source, target in _links(op):
        groups.link((op.operands[operand], source), (op.results[0], target))
        kept.add((operand, source))
        mapped.add(target)
    if isinstance(op, hlo.DotGeneralOp):
        numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
        for lhs, rhs in zip(
            numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions, strict=True
        ):
            groups.link((op.lhs, lhs), (op.rhs, rhs))
    if isinstance(op, hlo.ConstantOp) and splat_attr(op.result) is not None:
        return
    if isinstance(op, hlo.IotaOp):
        groups.mark((op.result, op.iota_dimension.value))
        return
    if _only_broadcasts(op):
        return
    for index, value in enumerate(op.operands):
        for dim in range(_rank(value)):
            if (index, dim) not in kept:
                groups.mark((value, dim))
    for index, value in enumerate(op.results):
        for dim in range(_rank(value)):
            if index or dim not in mapped:
                groups.mark((value, dim))


def _rank(value: ir.Value) -> int:
    return len(shape_of(value)) if isinstance(value.type, ir.RankedTensorType) else 0


def _only_broadcasts(op: Any) -> bool:
    """Whether `op` is a broadcast: the dimensions that it does not link are added or expanded."""
    if isinstance(op, hlo.ReshapeOp):
        groups = reshape_groups(shape_of(op.operand), shape_of(op.result))
        return all(len(sources) == len(results) == 1 for sources, results in groups)
    return isinstance(op, hlo.BroadcastInDimOp)


def _links(op: Any) -> Iterator[tuple[int, int, int]]:
    """Operand, its dimension, and the dimension of the result with the same index."""
    match op:
        case hlo.TransposeOp():
            yield from ((0, source, dim) for dim, source in enumerate(op.permutation))
        case hlo.BroadcastInDimOp():
            small, large = shape_of(op.operand), shape_of(op.result)
            for index, dim in enumerate(op.broadcast_dimensions):
                if small[index] == large[dim]:
                    yield 0, index, dim
        case hlo.ReshapeOp():
            for sources, results in reshape_groups(shape_of(op.operand), shape_of(op.result)):
                if len(sources) == len(results) == 1:
                    yield 0, sources[0], results[0]
        case hlo.ReduceOp() if len(op.inputs) == 1:
            kept = [d for d in range(_rank(op.inputs[0])) if d not in set(op.dimensions)]
            yield from ((0, source, dim) for dim, source in enumerate(kept))
        case hlo.DotGeneralOp():
            yield from _dot_links(op)
        case hlo.SliceOp() | hlo.PadOp():
            cut = windowed_dims(op)
            yield from ((0, d, d) for d in range(_rank(op.result)) if d not in cut)
        case hlo.ReverseOp():
            yield from ((0, d, d) for d in range(_rank(op.result)) if d not in set(op.dimensions))
        case hlo.ConcatenateOp():
            for index in range(len(op.operands)):
                for dim in range(_rank(op.result)):
                    if dim != op.dimension.value:
                        yield index, dim, dim
        case _ if is_elementwise(op):
            for index, value in enumerate(op.operands):
                yield from ((index, dim, dim) for dim in range(_rank(value)))


def _dot_links(op: Any) -> Iterator[tuple[int, int, int]]:
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batch = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    contracted = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    at = len(batch[0])
    for side in (0, 1):
        yield from ((side, dim, index) for index, dim in enumerate(batch[side]))
        for dim in range(_rank(op.operands[side])):
            if dim not in batch[side] and dim not in contracted[side]:
                yield side, dim, at
                at += 1

"""The trees of `jax.lax.associative_scan` in a block, and of their gradients.

JAX combines the elements at even positions with those at odd ones, scans the results, which are
half as many, and interleaves them with the elements between. A tree is the set of ops from the
first slices of its inputs up to values that again have as many elements along the axis. The
gradient uses values of the tree of the forward pass, so both are one tree here.

The ops inside a tree are not matched against a pattern: `field` and `formulas` determine what the
tree computes. The ops only move, add and multiply, so nothing cancels: an element depends on
exactly those inputs that occur in its polynomial, in the tree as in a formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.constants import array_of
from jxc.ir.values import element_type, is_complex, shape_of, splat_of, static_shape

from .._shared.reduce_body import combiner_of

STRIDED = 4
"""The least number of slices with a step of 2 in a tree: of two levels."""

_MOVING = (hlo.PadOp, hlo.SliceOp)
_MEMBERS = (
    *(hlo.AddOp, hlo.MulOp, *_MOVING),
    *(hlo.BroadcastInDimOp, hlo.ConcatenateOp, hlo.ReduceOp, hlo.ReshapeOp),
)
_NUMBERS = (ir.BF16Type, ir.F16Type, ir.F32Type, ir.F64Type, ir.ComplexType)
_ATTRIBUTES = {
    hlo.PadOp: 3,
    hlo.SliceOp: 3,
    hlo.BroadcastInDimOp: 1,
    hlo.ConcatenateOp: 1,
    hlo.ReduceOp: 1,
}
"""The number of an op's own attributes. An op with more carries others, such as a sharding."""


@dataclass
class Tree:
    """The ops of a tree.

    Attributes:
        length: the number of elements along the axis.
        roots: the inputs, each with the dimension of its axis; of merged trees, one may be a result
            of the other.
        ops: the ops, in order.
        aliases: values equal to a root: results of pads by nothing.
    """

    length: int
    roots: dict[ir.Value, int]
    ops: list[ir.OpView] = field(default_factory=list)
    aliases: dict[ir.Value, ir.Value] = field(default_factory=dict)


@dataclass(frozen=True)
class _Member:
    """A result of an op of a tree: the tree's number, and the dimension of the axis if it has one.

    `is_moved` is true if slices and pads alone led to it from a root.
    """

    tree: int
    axis: int | None
    is_moved: bool


class Trees:
    """The trees of a block."""

    def __init__(self, block: ir.Block) -> None:
        self._parents: list[int] = []
        self._trees: list[Tree] = []
        self._members: dict[ir.Value, _Member] = {}
        self._aliases: dict[ir.Value, ir.Value] = {}
        ops = list(block.operations)
        if sum(map(is_strided, ops)) < STRIDED:
            return
        self._position = {result: number for number, op in enumerate(ops) for result in op.results}
        for op in ops:
            if isinstance(op, _MEMBERS) and len(op.attributes) == _ATTRIBUTES.get(type(op), 0):
                self._visit(op)

    def found(self) -> Iterator[Tree]:
        """The trees that have slices with a step of 2, in the order of their first op."""
        for number, tree in enumerate(self._trees):
            if self._root(number) == number and sum(map(is_strided, tree.ops)) >= STRIDED:
                tree.ops.sort(key=lambda op: self._position[op.results[0]])
                yield tree

    def axis_of(self, value: ir.Value) -> int | None:
        """The dimension of the axis in a result of an op of a tree."""
        return self._members[value].axis

    def exits(self, tree: Tree) -> list[ir.Value]:
        """The results that other ops use, or that are inputs of a tree: loops may read these."""
        inside = {result for op in tree.ops for result in op.results}
        return [
            result
            for op in tree.ops
            for result in op.results
            if result in tree.roots
            or any(not set(use.owner.results) & inside for use in result.uses)
        ]

    def _visit(self, op: ir.OpView) -> None:
        if not all(map(_is_number, (*op.operands, *op.results))):
            return
        if isinstance(op, _MOVING):
            self._move(op)
            return
        operands = list(op.inputs) if isinstance(op, hlo.ReduceOp) else list(op.operands)
        members = [self._members[value] for value in operands if value in self._members]
        if not members or len(members) < len(operands):
            return
        axis, is_possible = _axis_after(op, operands, members)
        if not is_possible:
            return
        length = 1 if axis is None else shape_of(op.results[0])[axis]
        lengths = {self._tree(member.tree).length for member in members}
        if len(lengths) > 1 or length > max(lengths):
            return
        if length in lengths and not isinstance(op, (hlo.AddOp, hlo.ConcatenateOp)):
            return
        self._add(op, [member.tree for member in members], axis, is_moved=False)

    def _move(self, op: ir.OpView) -> None:
        value = op.operands[0]
        if isinstance(op, hlo.PadOp) and not _is_zero(op.padding_value):
            return
        dims = [dim for dim in range(len(shape_of(value))) if _moves(op, dim)]
        member = self._members.get(value)
        if member is not None and self._is_complete(value, member):
            member = None
        if member is None:
            origin = self._aliases.get(value, value)
            if not dims:
                self._aliases[op.result] = origin
            elif len(dims) == 1:
                number = len(self._trees)
                tree = Tree(shape_of(value)[dims[0]], {origin: dims[0]})
                if origin != value:
                    tree.aliases[value] = origin
                self._trees.append(tree)
                self._parents.append(number)
                self._add(op, [number], dims[0], is_moved=True)
            return
        if len(dims) > 1 or (dims and not _is_axis(dims[0], value, member)):
            return
        axis = dims[0] if dims else member.axis
        if axis is not None and shape_of(op.result)[axis] > self._tree(member.tree).length:
            return
        self._add(op, [member.tree], axis, is_moved=member.is_moved)

    def _is_complete(self, value: ir.Value, member: _Member) -> bool:
        """Whether a value may be a result of its tree, so that slices of it begin another tree."""
        if member.is_moved or member.axis is None or isinstance(value.owner, _MOVING):
            return False
        return shape_of(value)[member.axis] == self._tree(member.tree).length

    def _add(
        self, op: ir.OpView, trees: Sequence[int], axis: int | None, *, is_moved: bool
    ) -> None:
        number = self._union(trees)
        self._trees[number].ops.append(op)
        self._members[op.results[0]] = _Member(number, axis, is_moved)

    def _tree(self, number: int) -> Tree:
        return self._trees[self._root(number)]

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number

    def _union(self, numbers: Sequence[int]) -> int:
        first, *others = sorted({self._root(number) for number in numbers})
        for other in others:
            self._parents[other] = first
            into, tree = self._trees[first], self._trees[other]
            into.roots.update(tree.roots)
            into.aliases.update(tree.aliases)
            into.ops += tree.ops
            tree.ops = []
        return first


def _is_number(value: ir.Value) -> bool:
    """Whether elements are numbers that add and multiply as a ring does, up to rounding."""
    if static_shape(value) is None:
        return False
    element = element_type(value)
    if isinstance(element, ir.IntegerType):
        return bool(element.width >= 8)
    return isinstance(element, _NUMBERS)


def is_strided(op: ir.OpView) -> bool:
    """Whether `op` is a slice of every other element."""
    return isinstance(op, hlo.SliceOp) and 2 in op.strides


def _moves(op: ir.OpView, dim: int) -> bool:
    """Whether a slice or pad moves elements along a dimension."""
    if isinstance(op, hlo.SliceOp):
        whole = shape_of(op.operand)[dim]
        return (op.start_indices[dim], op.limit_indices[dim], op.strides[dim]) != (0, whole, 1)
    paddings = op.edge_padding_low, op.edge_padding_high, op.interior_padding
    return any(padding[dim] for padding in paddings)


def _is_zero(value: ir.Value) -> bool:
    if not is_complex(value):
        return bool(splat_of(value) == 0)
    array = array_of(value)
    return array is not None and not bool(array.any())


def _is_axis(dim: int, value: ir.Value, member: _Member) -> bool:
    """Whether a dimension is the axis, or may become it because its extent is 1."""
    return dim == member.axis or (member.axis is None and shape_of(value)[dim] == 1)


def _axis_after(
    op: ir.OpView, operands: Sequence[ir.Value], members: Sequence[_Member]
) -> tuple[int | None, bool]:
    """The dimension of the axis in the result of `op`, and whether the op may be in a tree."""
    axes = {member.axis for member in members if member.axis is not None}
    if len(axes) > 1:
        return None, False
    axis = next(iter(axes), None)
    shape = shape_of(operands[0])
    match op:
        case hlo.ConcatenateOp():
            dim = op.dimension.value
            return dim, all(map(_is_axis, [dim] * len(operands), operands, members))
        case hlo.BroadcastInDimOp():
            if axis is None:
                return None, True
            target = list(op.broadcast_dimensions)[axis]
            return target, shape_of(op.result)[target] == shape[axis]
        case hlo.ReduceOp():
            if len(operands) != 1 or combiner_of(op) != "add" or not _is_zero(op.init_values[0]):
                return None, False
            reduced = list(op.dimensions)
            if axis is None or axis in reduced:
                return None, axis is None or shape[axis] == 1
            return axis - sum(dim < axis for dim in reduced), True
        case hlo.ReshapeOp():
            return _axis_after_reshape(axis, shape, shape_of(op.result))
    return axis, True


def _axis_after_reshape(
    axis: int | None, before: Sequence[int], after: Sequence[int]
) -> tuple[int | None, bool]:
    old, new = ([dim for dim, size in enumerate(each) if size != 1] for each in (before, after))
    if [before[dim] for dim in old] != [after[dim] for dim in new]:
        return None, False
    return (new[old.index(axis)] if axis in old else None), True

"""Products of matrices (`dot_general`): the roles of the dimensions of operands, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of

from .elementwise import with_shape


class OperandDims(NamedTuple):
    """The batching and the contracting dimensions of one operand of a product."""

    batch: tuple[int, ...]
    summed: tuple[int, ...]

    def free(self, rank: int) -> list[int]:
        """The other dimensions, in the order in which the result has them."""
        return [dim for dim in range(rank) if dim not in self.batch and dim not in self.summed]

    def renumbered(self, new: Sequence[int]) -> OperandDims:
        """The same after dimension i became dimension `new[i]`."""
        return OperandDims(*(tuple(new[dim] for dim in dims) for dims in self))


def sides_of(op: hlo.DotGeneralOp) -> list[OperandDims]:
    """The dimensions of the left and the right operand."""
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    return [
        OperandDims(tuple(dims.lhs_batching_dimensions), tuple(dims.lhs_contracting_dimensions)),
        OperandDims(tuple(dims.rhs_batching_dimensions), tuple(dims.rhs_contracting_dimensions)),
    ]


def shape_of_product(shapes: Sequence[Sequence[int]], sides: Sequence[OperandDims]) -> list[int]:
    """The extents of a product of operands of these shapes."""
    found = [shapes[0][dim] for dim in sides[0].batch]
    for shape, side in zip(shapes, sides, strict=True):
        found += [shape[dim] for dim in side.free(len(shape))]
    return found


def dot(
    like: hlo.DotGeneralOp,
    operands: Sequence[ir.Value],
    sides: Sequence[OperandDims],
    precision: ir.Attribute | None = None,
) -> ir.Value:
    """The product of other operands with the element type, precision and algorithm of `like`."""
    left, right = sides
    shape = shape_of_product([shape_of(value) for value in operands], sides)
    numbers = hlo.DotDimensionNumbers.get(left.batch, right.batch, left.summed, right.summed)
    config = precision or like.precision_config
    kind = with_shape(like.result, shape)
    return hlo.dot_general(
        kind, *operands, numbers, precision_config=config, algorithm=like.algorithm
    )


def swapped(precision: ir.ArrayAttr | None) -> ir.ArrayAttr | None:
    """The precisions of two factors, for their product in the other order."""
    return None if precision is None else ir.ArrayAttr.get([*precision][::-1])


def may_be_hoisted(op: hlo.DotGeneralOp) -> bool:
    """Whether `op` is in a loop that computes no operand of it, or its operands are constants.

    The compiler then computes it once, before the loop or before the program runs.
    """
    owners = [value.owner for value in op.operands]
    if all(isinstance(owner, hlo.ConstantOp) for owner in owners):
        return True
    block = op.operation.block
    is_given = all(
        isinstance(owner, ir.Block) or owner.operation.block != block for owner in owners
    )
    return is_given and is_in_loop(op)


def is_in_loop(op: ir.OpView) -> bool:
    """Whether `op` is in the body of a loop."""
    parent = op.operation.parent
    while parent is not None and parent.name != "func.func":
        if parent.name == "stablehlo.while":
            return True
        parent = parent.parent
    return False

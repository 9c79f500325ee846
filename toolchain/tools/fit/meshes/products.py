"""How XLA's partitioner splits matrix products, written into a module for Shardy's passes.

Shardy and XLA agree on the shardings of values, but resolve conflicts between the operands and the
result of a product differently. XLA keeps the dimensions that the result shares with an operand and
gathers the other operand: parameters that are split over the devices of a batch are gathered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo as hlo

from ....ir import walk
from ....ir.propagation import argument_shardings, result_shardings

Factor = tuple[str, int]
"""A dimension of a product: of its batch, contracted, or free on the left or the right."""

_Split = tuple[Factor, str]
"""The dimension that an axis splits, and the axis or a part of it, as text."""


def reshard_products(module: ir.Module) -> None:
    """Give the operands of each product the shardings that XLA computes it with.

    A value that several products need is gathered once. Products along two parts of one axis are
    left as they are.

    Args:
        module: a module after Shardy's propagation.
    """
    made: dict[tuple[ir.Value, str, ir.Block], ir.Value] = {}
    for op in [op for op in walk(module.operation) if isinstance(op, hlo.DotGeneralOp)]:
        known = [_sharding(value) for value in (op.lhs, op.rhs, op.result)]
        sides = factors_of(op)
        given = [_by_axis(*each) for each in zip(known, sides, strict=True)]
        names = {name for each in given if each for name in each}
        if not names or None in given:
            continue
        chosen = {n: _split(*(each.get(n) for each in given if each is not None)) for n in names}
        mesh = next(each.mesh_or_ref for each in known if each)
        for index in (0, 1):
            if given[index] != (wanted := _of_side(chosen, sides[index])):
                sharding = _sharding_of(sides[index], wanted, mesh)
                key = op.operands[index], str(sharding), op.operation.block
                if key not in made:
                    with ir.InsertionPoint(op), op.location:
                        made[key] = sdy.ReshardOp(key[0], sharding).result
                op.operands[index] = made[key]


def _of_side(chosen: Mapping[str, _Split], factors: Sequence[Factor]) -> dict[str, _Split]:
    return {name: split for name, split in chosen.items() if split[0] in factors}


def _sharding(value: ir.Value) -> sdy.TensorShardingAttr | None:
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return list(result_shardings(owner))[ir.OpResult(value).result_number]
    number, parent = ir.BlockArgument(value).arg_number, owner.owner
    if parent.operation.name == "func.func":
        given = argument_shardings(parent)
        return given[number] if given else None
    given = list(result_shardings(parent))
    return given[number] if number < len(given) else None


def factors_of(op: hlo.DotGeneralOp) -> tuple[list[Factor], list[Factor], list[Factor]]:
    """The factor of each dimension of the operands and of the result."""
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    pairs = (
        (numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions, "left", op.lhs),
        (numbers.rhs_batching_dimensions, numbers.rhs_contracting_dimensions, "right", op.rhs),
    )
    sides = []
    for batch, contracted, name, value in pairs:
        own: list[Factor] = [(name, dim) for dim in range(ir.RankedTensorType(value.type).rank)]
        for kind, dims in (("batch", batch), ("contracted", contracted)):
            for number, dim in enumerate(dims):
                own[dim] = (kind, number)
        sides.append(own)
    free = [each for own in sides for each in own if each[0] in ("left", "right")]
    shared: list[Factor] = [("batch", n) for n in range(len(numbers.lhs_batching_dimensions))]
    return sides[0], sides[1], [*shared, *free]


def _by_axis(
    sharding: sdy.TensorShardingAttr | None, factors: Sequence[Factor]
) -> dict[str, _Split] | None:
    """What each axis of a sharding splits; None if parts of one axis split two dimensions."""
    dims = map(sdy.DimensionShardingAttr, sharding.dimension_shardings if sharding else ())
    pairs = zip(dims, factors, strict=False)
    found = [(sdy.AxisRefAttr(axis), factor) for dim, factor in pairs for axis in dim.axes]
    names = {axis.name: (factor, str(axis)) for axis, factor in found}
    return names if len(names) == len(found) else None


def _split(left: _Split | None, right: _Split | None, result: _Split | None) -> _Split:
    """The dimension of a product that XLA splits over an axis, by those that the values have."""
    if left == right and left is not None and left[0][0] == "contracted":
        return left
    found = result or left or right
    assert found is not None
    return found


def _sharding_of(
    factors: Sequence[Factor], wanted: Mapping[str, _Split], mesh: ir.Attribute
) -> sdy.TensorShardingAttr:
    """The sharding of an operand whose dimensions are split as wanted."""
    texts = [sorted(text for own, text in wanted.values() if own == factor) for factor in factors]
    dims = [
        sdy.DimensionShardingAttr.get([ir.Attribute.parse(text) for text in each], True)
        for each in texts
    ]
    return sdy.TensorShardingAttr.get(mesh, dims)

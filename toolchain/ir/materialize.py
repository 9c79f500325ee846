"""Materialized values: computed once and stored, where XLA would compute them once for each user.

A materialized value is the result of a call to a private function that returns its argument, marked
so that XLA does not inline it.
"""

from __future__ import annotations

import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from .module import functions, module_of
from .shardings import is_partitioned

_NOT_INLINED = "mhlo.frontend_attributes"


def materialize(value: ir.Value) -> ir.Value:
    """The ranked tensor `value`, computed once and kept in memory for all of its users.

    XLA:CPU fuses ops that it considers cheap into each of their users, which computes them again.
    It does not fuse across a call that may not be inlined. In jaxlib 0.10.2 it fuses across an
    `optimization_barrier`; in 0.12 it does not, but the barrier was 1.4 times slower for the forces
    between 256 particles. Programs that are partitioned over devices get a barrier, since XLA
    partitions their calls too.

    No other op should read `value`: XLA gives the call the same buffer. A kernel that reads each
    element of one of them may write its result over it, and read other elements of the other
    afterwards.
    """
    if (call := _earlier_call(value)) is not None:
        return call.results[0]
    module = module_of(ir.InsertionPoint.current.block.owner)
    if is_partitioned(module):
        return hlo.optimization_barrier([value])
    call = func.CallOp([value.type], _identity(module.opview, value.type), [value])
    kept = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false")})
    call.operation.attributes[_NOT_INLINED] = kept
    return call.results[0]


def is_read_elsewhere(value: ir.Value, alike: tuple[type[ir.OpView], ...] = ()) -> bool:
    """Whether several ops read `value`, or a value whose elements it has in another shape.

    Args:
        value: a value that is to be materialized for one of its readers.
        alike: types of ops of which several may read `value`: those of which a rule materializes
            the operand.
    """
    while True:
        readers = {use.owner for use in value.uses}
        others = [each for each in readers if not is_materialize_call(each)]
        if len(others) > 1 and not all(isinstance(each, alike) for each in others):
            return True
        if not isinstance(value.owner, hlo.ReshapeOp | hlo.TransposeOp):
            return False
        value, alike = value.owner.operand, ()


def is_materialize_call(op: ir.OpView | ir.Operation) -> bool:
    """Whether `op` is a call made by `materialize`, or another call that may not be inlined."""
    if op.operation.name != "func.call" or _NOT_INLINED not in op.attributes:
        return False
    return [each.name for each in op.attributes[_NOT_INLINED]] == ["inlineable"]


_LAYOUT = "LayoutConstraint"


def in_row_major(value: ir.Value) -> ir.Value:
    """The ranked tensor `value`, stored with its last dimension innermost, in a kernel of its own.

    XLA:CPU does not fuse across this call, which it erases after it chose the layouts.
    """
    rank = ir.RankedTensorType(value.type).rank
    order = list(reversed(range(rank)))
    layouts = ir.ArrayAttr.get([ir.Attribute.parse(f"dense<{order}> : tensor<{rank}xindex>")])
    call = hlo.CustomCallOp(
        [value.type], [value], _LAYOUT, operand_layouts=layouts, result_layouts=layouts
    )
    return call.results[0]


def is_layout_call(op: object) -> bool:
    """Whether `op` is a call made by `in_row_major`, or by `jax.experimental.layout`."""
    return isinstance(op, hlo.CustomCallOp) and op.call_target_name.value == _LAYOUT


_USERS_SEEN = 32
_NOT_FUSED = {
    "stablehlo.clamp",
    "stablehlo.concatenate",
    "stablehlo.custom_call",
    "stablehlo.dynamic_slice",
    "stablehlo.gather",
    "stablehlo.pad",
    "stablehlo.slice",
}


def fuses_into_reduce(value: ir.Value) -> bool:
    """Whether XLA:CPU would fuse the ops that compute `value` into the kernel of a `reduce`.

    XLA calls a library for that kernel, and grows it backwards from the reduction over elementwise
    ops and matrix products. Ops that it cannot hold, such as slices, become a kernel each: nine for
    a window of nine elements. Materializing the sum over such a window made the training of
    ConvNeXt 1.3 times faster, and Xception compile in 1.3 s of CPU time instead of 1.6.
    """
    pending, seen = [value], 0
    while pending and seen < _USERS_SEEN:
        for use in pending.pop(0).uses:
            user, seen = use.owner, seen + 1
            if user.operation.name == "stablehlo.reduce":
                return True
            is_plain = len(user.results) == 1 and not len(user.regions)
            groups = user.attributes.get("feature_group_count")
            if (
                is_plain
                and user.operation.name not in _NOT_FUSED
                and (not groups or groups.value == 1)
            ):
                pending.append(user.results[0])
    return False


def _earlier_call(value: ir.Value) -> ir.Operation | None:
    """A call in front of the insertion point that materializes `value` already."""
    point = ir.InsertionPoint.current
    if point.ref_operation is None:
        return None
    for use in value.uses:
        call = use.owner.operation
        is_in_block = call.block == point.block and is_materialize_call(call)
        if is_in_block and call.is_before_in_block(point.ref_operation):
            return call
    return None


def _identity(module: ir.ModuleOp, kind: ir.Type) -> str:
    """The name of the private function that returns its argument of type `kind`."""
    known = functions(module)
    name = re.sub(r"\W", "_", f"stored_{kind}")
    while name in known and not _is_identity(known[name], kind):
        name += "_"
    if name not in known:
        with ir.InsertionPoint(module.body), ir.Location.unknown():
            made = func.FuncOp(name, ([kind], [kind]), visibility="private")
            func.FuncOp.add_entry_block(made)
            with ir.InsertionPoint(made.entry_block):
                func.return_(made.entry_block.arguments)
    return name


def _is_identity(function: ir.OpView, kind: ir.Type) -> bool:
    if function.type.inputs != [kind] or len(function.regions[0].blocks) != 1:
        return False
    block = function.regions[0].blocks[0]
    first = block.operations[0]
    is_return = first.operation.name == "func.return"
    return is_return and list(first.operands) == list(block.arguments)

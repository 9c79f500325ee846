"""What keeps XLA from computing a value once for each of its users."""

from __future__ import annotations

import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

from .module import functions
from .shardings import is_partitioned

_NOT_INLINED = "mhlo.frontend_attributes"


def materialize(value: ir.Value) -> ir.Value:
    """The ranked tensor `value`, computed once and kept in memory, whoever uses it.

    XLA:CPU fuses what it takes for cheap into all of its users, where it is computed again. It does
    not fuse across a call that may not be inlined. (In jaxlib 0.10.2 it does across an
    `optimization_barrier`; in 0.12 it does not, but the barrier was slower: 1.4 times in the forces
    between 256 particles.) Programs that are split over devices get a barrier: the calls of such
    programs are split too.
    """
    if (call := _store_of(value)) is not None:
        return call.results[0]
    module = _module_of(ir.InsertionPoint.current.block)
    if is_partitioned(module):
        return stablehlo.optimization_barrier([value])
    call = func.CallOp([value.type], _identity(module, value.type), [value])
    kept = ir.DictAttr.get({"inlineable": ir.StringAttr.get("false")})
    call.operation.attributes[_NOT_INLINED] = kept
    return call.results[0]


def is_materialize_call(op: ir.OpView | ir.Operation) -> bool:
    """Whether `op` is a call that `materialize` made, or another that may not be inlined.

    Its attribute is about the call alone: it says nothing of what uses the result.
    """
    if op.operation.name != "func.call" or _NOT_INLINED not in op.attributes:
        return False
    return [each.name for each in op.attributes[_NOT_INLINED]] == ["inlineable"]


_LOOKED_AT = 32
_NOT_TAKEN_UP = {
    "stablehlo.clamp",
    "stablehlo.concatenate",
    "stablehlo.custom_call",
    "stablehlo.dynamic_slice",
    "stablehlo.gather",
    "stablehlo.pad",
    "stablehlo.slice",
}


def fuses_into_reduce(value: ir.Value) -> bool:
    """Whether a `reduce` follows soon, into whose kernel XLA:CPU would take what makes `value`.

    That kernel is a library's. It grows backwards from the reduction, over what goes element by
    element and over matrix products, and what it cannot hold, slices, becomes a kernel each: nine
    for a window of nine taps. Storing the sum of such a window made training ConvNeXt 1.3 times as
    fast, and Xception compile in 1.3 s of CPU time instead of 1.6.
    """
    waiting, seen = [value], 0
    while waiting and seen < _LOOKED_AT:
        for use in waiting.pop(0).uses:
            user, seen = use.owner, seen + 1
            if user.operation.name == "stablehlo.reduce":
                return True
            if _may_be_taken_up(user):
                waiting.append(user.results[0])
    return False


def _may_be_taken_up(op: ir.OpView) -> bool:
    if op.operation.name in _NOT_TAKEN_UP or len(op.results) != 1 or len(op.regions):
        return False
    groups = "feature_group_count"
    return groups not in op.attributes or op.attributes[groups].value == 1


def _store_of(value: ir.Value) -> ir.Operation | None:
    """A call that stores `value` already, in front of the insertion point."""
    point = ir.InsertionPoint.current
    if point.ref_operation is None:
        return None
    for use in value.uses:
        call = use.owner.operation
        is_here = call.block == point.block and is_materialize_call(call)
        if is_here and call.is_before_in_block(point.ref_operation):
            return call
    return None


def _module_of(block: ir.Block) -> ir.ModuleOp:
    op = block.owner.operation
    while op.name != "builtin.module":
        op = op.parent
    return op.opview


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

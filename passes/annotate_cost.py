"""Annotate each op with its estimated cost."""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.cost.flops import OpCost, cost_of, total_of
from jxc.ir import walk
from jxc.rewrite import module_pass


@module_pass
def annotate_cost(module: ir.Operation) -> None:
    """Write `jxc.flops`, `jxc.bytes` and `jxc.intensity` (flops per byte) on each op.

    Estimates from types and attributes; `jxc.cost.formulas` has the formulas. Functions carry the
    sum of their ops. A `while` carries its trip count times its body, or one iteration where the
    trip count is not known. Ops of unknown flops (custom calls, composites) have bytes only.
    Constants, calls, terminators and ops of dynamic shapes have nothing: `inline` first.
    """
    costs = [(op, _cost(op)) for op in walk(module)]
    for op, cost in costs:
        if cost is not None:
            _write(op, cost)


def _cost(op: ir.OpView) -> OpCost | None:
    if op.operation.name == "func.func":
        return total_of(op.regions[0])
    return cost_of(op)


def _write(op: ir.OpView, cost: OpCost) -> None:
    i64 = ir.IntegerType.get_signless(64)
    op.attributes["jxc.bytes"] = ir.IntegerAttr.get(i64, cost.bytes)
    if cost.flops is not None:
        op.attributes["jxc.flops"] = ir.IntegerAttr.get(i64, cost.flops)
        intensity = round(cost.intensity, 3)
        op.attributes["jxc.intensity"] = ir.FloatAttr.get(ir.F64Type.get(), intensity)

"""Move work on rows of a loop's inputs before the loop, where it is done for all rows."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import shape_of, users
from jxc.rewrite import PassContext, reassociates, rule

from . import cost
from .copies import reading
from .counted import CountedLoop
from .rows import Rows, can_have_rows


@rule(reassociates, targets=("cpu", "gpu"))
def products_of_rows_before_loop(op: hlo.WhileOp, context: PassContext) -> list[ir.Value] | None:
    """while(.. x[i] @ w ..) -> y = x @ w; while(.. y[i] ..), for x and w from outside of the loop.

    The elementwise ops before the product move too, and those after it if they have no other
    operand that the loop computes.
    """
    if (loop := CountedLoop.of(op)) is None:
        return None
    early = _Early(loop)
    found = [
        each
        for each in loop.ops
        if (shared := _shared_operand(each, early)) is not None
        and cost.product_before_pays(loop, each, shared, context)
    ]
    if not found:
        return None
    is_reverse = early.is_reverse(found[0].result)
    rows = Rows(loop, is_reverse)
    moved = dict.fromkeys(early.extended(each.result) for each in found)
    hoisted = {value: rows.of(value) for value in moved}
    # XLA:CPU does not vectorize an elementwise loop that slices a row of a larger tensor.
    is_copied = context.target == "cpu"
    return reading(loop, hoisted, is_reverse=is_reverse, is_copied=is_copied)


class _Early:
    """Which values of a loop's body can be computed before the loop."""

    def __init__(self, loop: CountedLoop) -> None:
        self._loop = loop
        self._has_rows: dict[ir.Value, bool | None] = {}

    def has_rows(self, value: ir.Value) -> bool | None:
        """Whether the iterations have different values; None if the loop must compute them."""
        if self._loop.is_outside(value):
            return False
        if value not in self._has_rows:
            self._has_rows[value] = self._found(value)
        return self._has_rows[value]

    def _found(self, value: ir.Value) -> bool | None:
        if value in self._loop.arguments:
            return None
        if self._loop.row_of(value) is not None:
            return True
        op = value.owner
        if not can_have_rows(op):
            return None
        found = [self.has_rows(each) for each in op.operands]
        if None in found or (isinstance(op, hlo.ReduceOp) and found[1]):
            return None
        return any(found)

    def is_reverse(self, value: ir.Value) -> bool:
        """Whether `value` is computed from a tensor whose first row the last iteration reads."""
        pending = [value]
        while pending:
            value = pending.pop()
            if self._loop.is_outside(value):
                continue
            if (row := self._loop.row_of(value)) is not None:
                return row.index.step < 0
            pending += value.owner.operands
        return False

    def extended(self, value: ir.Value) -> ir.Value:
        """The last of the elementwise ops after `value` that can be computed with it."""
        while len(after := users(value)) == 1 and is_elementwise(after[0]):
            result = after[0].results[0]
            if shape_of(result) != shape_of(value) or result not in self._loop.position:
                break
            if not self.has_rows(result):
                break
            value = result
        return value


def _shared_operand(op: ir.OpView, early: _Early) -> ir.Value | None:
    """The operand of a product that is the same in all iterations, if the other one has rows."""
    if not isinstance(op, hlo.DotGeneralOp) or not early.has_rows(op.result):
        return None
    same = [value for value in (op.lhs, op.rhs) if not early.has_rows(value)]
    return same[0] if same else None

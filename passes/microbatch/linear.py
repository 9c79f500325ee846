"""Rules for ops on summands: which ops give summands of their result."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import is_float

from .._shared.reduce_body import combiner_of
from .products import combiner_in
from .split import plan_split
from .states import SAME, OpPlan, Parted, Partial, Plain, State, is_neutral, is_whole, only

_SHAPING = frozenset(("reshape", "transpose", "slice", "broadcast_in_dim", "reverse"))
_AT_INDEX = frozenset(("dynamic_slice", "gather"))
_PRODUCTS = frozenset(("dot_general", "convolution", "multiply"))


def plan_linear(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan | None:
    """The plan for an op of which an operand is partial, or None if it is not linear in it."""
    found = only(states, Partial)
    if len(found) != 1 or len(op.results) != 1:
        return None
    (partial,) = found
    name = op.operation.name.partition(".")[2]
    if name == "scatter":
        return _scatter(op, states, parts)
    if only(states, Parted):
        return None
    count = _summands(name, partial.combine, op)  # type: ignore[union-attr]
    if count is not None:
        head, tail = states[:count], states[count:]
        fits = all(_is_summand(v, s, partial) for v, s in zip(op.operands, head, strict=False))
        if fits and all(map(is_whole, tail)) and _starts_neutral(op, name, partial):
            return OpPlan((partial,) * count + (SAME,) * len(tail), (partial,))
    if name == "select":
        fits = all(
            _is_summand(v, s, partial) for v, s in zip(op.operands[1:], states[1:], strict=True)
        )
        return (
            OpPlan((SAME, partial, partial), (partial,)) if is_whole(states[0]) and fits else None
        )
    return _scaled(op, name, states, partial)


def _is_summand(value: ir.Value, state: State, partial: State) -> bool:
    if state == partial:
        return True
    assert isinstance(partial, Partial)
    is_zero = state is Plain.ZERO and partial.combine == "add"
    return is_whole(state) and (is_zero or is_neutral(partial.combine, value))


def _summands(name: str, combine: str, op: ir.OpView) -> int | None:
    """How many of the operands, the first ones, must be summands."""
    if name in _SHAPING or name in _AT_INDEX:
        return 1
    if name in ("concatenate", combine) or (combine == "add" and name == "subtract"):
        return len(op.operands)
    if name in ("dynamic_update_slice", "pad"):
        return 2
    if name == "negate" and combine == "add":
        return 1
    if name == "convert" and combine == "add" and is_float(op.operands[0]):
        return 1 if is_float(op.results[0]) else None
    if name == "reduce" and combiner_of(op) == combine:
        return 1
    return None


def _starts_neutral(op: ir.OpView, name: str, partial: State) -> bool:
    assert isinstance(partial, Partial)
    return name != "reduce" or is_neutral(partial.combine, op.operands[1])


def _scaled(op: ir.OpView, name: str, states: Sequence[State], partial: State) -> OpPlan | None:
    """A product with a whole value, or a quotient by one; integers would be rounded."""
    if partial != Partial("add") or sum(state == partial for state in states) != 1:
        return None
    if not all(state == partial or is_whole(state) for state in states):
        return None
    is_scaled = name in _PRODUCTS or (
        name == "divide" and states[0] == partial and is_float(op.results[0])
    )
    return OpPlan(_forms(states), (partial,)) if is_scaled else None


def _forms(states: Sequence[State]) -> tuple[State, ...]:
    return tuple(state if isinstance(state, Partial) else SAME for state in states)


def _scatter(op: hlo.ScatterOp, states: Sequence[State], parts: int) -> OpPlan | None:
    """Updates of each part are added to summands of the array."""
    if states[0] != Partial(combiner_in(op) or "") or not only(states[1:], Parted):
        return None
    if only(states[1:], Partial):
        return None
    plan = plan_split(op, [Plain.ZERO, *states[1:]], parts)
    if plan.results != (states[0],):
        return None
    return OpPlan((states[0], *plan.operands[1:]), plan.results)

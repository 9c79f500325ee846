"""What each value of the program is in the loop over parts of the batch.

Part i of N of a value along a dimension is block i of N blocks of equal size. This definition does
not need the size of the batch: every rule states that part i of the result is computed from part i
of the operands and from values that are the same in all iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from jaxlib.mlir import ir

from jxc.ir.bounds import is_extreme, type_bounds
from jxc.ir.values import is_all_ones, splat_of


class Plain(Enum):
    """A value that is not split.

    BEFORE: computed before the loop. SAME: computed in each iteration, with the same result. ZERO:
    the same, and zero as far as is known. AFTER: computed after the loop.
    """

    BEFORE = "before"
    SAME = "same"
    ZERO = "zero"
    AFTER = "after"


@dataclass(frozen=True)
class Parted:
    """An iteration has a part of the value along the dimension `dim`."""

    dim: int


@dataclass(frozen=True)
class Partial:
    """An iteration has a summand of the value; `combine` is the op that adds them up."""

    combine: str


State: TypeAlias = Plain | Parted | Partial
SAME = Plain.SAME


@dataclass(frozen=True)
class OpPlan:
    """How an iteration computes an op.

    Attributes:
        operands: the state in which each operand is read.
        results: the state of each result.
        row_index: for a gather or scatter whose indices have the number of the row: the position of
            the row in an index. The iteration subtracts the number of its first row.
    """

    operands: tuple[State, ...]
    results: tuple[State, ...]
    row_index: int | None = None


class CannotSplit(Exception):
    """No rule shows that an op can be computed by parts.

    Attributes:
        reason: why not.
        op: the op, once it is known.
        needs: values that must be known before the loop, so that the op can be computed by parts.
    """

    def __init__(self, reason: str, needs: Sequence[ir.Value] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.needs = list(needs)
        self.op: ir.OpView | None = None


def is_whole(state: State) -> bool:
    """Whether a value is the same in all iterations."""
    return state in (Plain.BEFORE, Plain.SAME, Plain.ZERO)


def is_neutral(combine: str, value: ir.Value) -> bool:
    """Whether combining a value with `value` changes nothing; zeros of either sign count."""
    if combine in ("maximum", "minimum"):
        return is_extreme(value, least=combine == "maximum")
    if combine == "and":
        return is_all_ones(value)
    return splat_of(value) == {"add": 0, "or": 0, "xor": 0, "multiply": 1}[combine]


def neutral(combine: str, element: ir.Type) -> float | int:
    """The number with which the accumulation of `Partial(combine)` starts."""
    bounds = type_bounds(element)
    if combine in ("maximum", "minimum"):
        low, high = bounds or (-math.inf, math.inf)
        return low if combine == "maximum" else high
    if combine == "and":
        return -1 if bounds is not None and bounds.low else 1 if bounds is None else bounds.high
    return 1 if combine == "multiply" else 0


def only(states: Sequence[State], kind: type) -> set[State]:
    """The different states of a kind among `states`."""
    return {state for state in states if isinstance(state, kind)}


Rule: TypeAlias = Callable[[ir.OpView, Sequence[State], int], OpPlan]
"""The plan for an op whose operands have these states, in a loop of so many iterations."""


def the_dim(states: Sequence[State]) -> int:
    """The dimension along which all split operands are split."""
    dims = {state.dim for state in only(states, Parted)}  # type: ignore[union-attr]
    if len(dims) != 1:
        raise CannotSplit(
            "its operands have the batch in different dimensions: it mixes the examples"
        )
    return dims.pop()

"""The body of a reduction: what it computes, and copies of it outside of the reduction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import (
    element_type,
    is_all_ones,
    is_boolean,
    is_complex,
    is_float,
    is_integer,
    is_splat,
    shape_of,
    splat_of,
)
from jxc.rewrite import once_per_visit

from .region import copy_regions
from .signed_zero import plus_zero

COMMUTATIVE = frozenset(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))

_ELEMENTWISE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *COMMUTATIVE,
        *("subtract", "divide", "remainder", "power", "atan2", "clamp", "compare", "select"),
        *("abs", "ceil", "floor", "negate", "not", "sign", "sqrt", "convert", "is_finite"),
        *("exponential", "log", "tanh", "complex", "real", "imag"),
        *("shift_left", "shift_right_arithmetic", "shift_right_logical"),
    )
)


@once_per_visit
def combiner_of(op: hlo.ReduceOp | hlo.ReduceWindowOp) -> str | None:
    """The op in the body of a reduction of one operand, such as "add": one of `COMMUTATIVE`.

    None if the body is anything else, or converts the elements.
    """
    block = op.body.blocks[0]
    if len(op.inputs) != 1 or len(block.operations) != 2 or not is_of_one_type(op):
        return None
    inner, end = block.operations
    name = inner.operation.name.removeprefix("stablehlo.")
    if name not in COMMUTATIVE or list(end.operands) != list(inner.results):
        return None
    x, y = block.arguments
    return name if list(inner.operands) in ([x, y], [y, x]) else None


def is_of_one_type(op: hlo.ReduceOp | hlo.ReduceWindowOp) -> bool:
    """Whether operands, arguments of the body and results have the same element types."""
    inputs = [element_type(value) for value in op.inputs]
    arguments = [element_type(value) for value in op.body.blocks[0].arguments]
    return arguments == inputs * 2 and [element_type(value) for value in op.results] == inputs


def is_exact_in_any_order(name: str, value: ir.Value) -> bool:
    """Whether the op `name` gives the same bits for elements of `value` in any order.

    This holds on integers, which wrap around, on booleans, and for the maximum and minimum of
    floats. It does not hold for those of complex numbers: one with a NaN part is not ordered.
    """
    is_choice = name in ("maximum", "minimum") and not is_complex(value)
    return is_integer(value) or is_boolean(value) or is_choice


def is_idempotent(name: str, value: ir.Value) -> bool:
    """Whether the op `name` on an element and itself gives that element."""
    if is_complex(value):
        return False
    return name in ("maximum", "minimum", "and", "or") or (is_boolean(value) and name != "xor")


def is_neutral(name: str, value: ir.Value) -> bool:
    """Whether `value` is a splat of the neutral element of the op `name`."""
    found, kind = splat_of(value), type_bounds(element_type(value))
    if found is None:
        return False
    if name in ("maximum", "minimum"):
        low, high = kind or (-np.inf, np.inf)
        return found == (low if name == "maximum" else high)
    if kind is None:
        return False
    if name == "and":
        return is_all_ones(value)
    return found == {"add": 0, "or": 0, "xor": 0, "multiply": 1}.get(name)


def is_neutral_start(name: str, value: ir.Value) -> bool:
    """Whether combining a total that starts from `value` with `value` again changes nothing.

    Unlike `is_neutral`, it also holds for sums that start from 0.0, which are never -0.0.
    """
    if is_float(value) and name in _STARTS:
        return splat_of(value) == _STARTS[name]
    return is_neutral(name, value)


_STARTS = {"add": 0, "multiply": 1, "logaddexp": -np.inf}


def can_inline(op: hlo.ReduceOp | hlo.ReduceWindowOp, limit: int) -> bool:
    """Whether the body has at most `limit` ops, all elementwise; constants do not count."""
    if not is_of_one_type(op):
        return False
    *ops, _ = op.body.blocks[0].operations
    work = [each for each in ops if each.operation.name != "stablehlo.constant"]
    values = [value for each in ops for value in (*each.operands, *each.results)]
    return (
        len(work) <= limit
        and all(each.operation.name in _ELEMENTWISE for each in work)
        and all(isinstance(v.type, ir.RankedTensorType) and not shape_of(v) for v in values)
    )


def inline(
    op: hlo.ReduceOp | hlo.ReduceWindowOp,
    operands: Sequence[ir.Value],
    shape: Sequence[int],
    *,
    keep_zero: bool = False,
) -> list[ir.Value]:
    """The results of the body, elementwise on operands of `shape`; see `can_inline`.

    Args:
        op: the reduction.
        operands: a value for each argument of the body.
        shape: their extents.
        keep_zero: build 0.0 + x by `plus_zero`, because XLA folds such an `add` into x.
    """
    block = op.body.blocks[0]
    known = dict(zip(block.arguments, operands, strict=True))

    def at_shape(value: ir.Value) -> ir.Value:
        return known[value] if value in known else build.broadcast(value, shape, [])

    *ops, end = block.operations
    for each in ops:
        if each.operation.name == "stablehlo.constant":
            results = each.operation.clone().results
            known[each.results[0]] = build.broadcast(results[0], shape, [])
            continue
        given = [at_shape(value) for value in each.operands]
        if keep_zero and isinstance(each, hlo.AddOp) and any(is_splat(v, 0.0) for v in given):
            x, y = given
            known[each.result] = plus_zero(y if is_splat(x, 0.0) else x)
            continue
        kinds = [ir.RankedTensorType.get(shape, element_type(value)) for value in each.results]
        made = ir.Operation.create(
            each.operation.name,
            results=kinds,
            operands=given,
            attributes={name: each.attributes[name] for name in each.attributes},
        )
        known.update(zip(each.results, made.results, strict=True))
    return [at_shape(value) for value in end.operands]


def with_body_of(
    op: hlo.ReduceOp,
    inputs: Sequence[ir.Value],
    init_values: Sequence[ir.Value],
    dimensions: Sequence[int],
) -> hlo.ReduceOp:
    """A reduction of other operands with a copy of `op`'s body and results of `op`'s types."""
    kinds = [value.type for value in op.results]
    made = hlo.ReduceOp(kinds, inputs, init_values, dimensions)
    copy_regions(op, made)
    return made

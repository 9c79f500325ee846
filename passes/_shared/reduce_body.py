"""Questions about the body of a reduction, and copies of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ReduceOp, ReduceWindowOp

from jxc.ir import build
from jxc.ir.values import element_type, is_boolean, is_complex, is_integer, shape_of, splat_of

from .region import copy_regions

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


def combiner_of(op: ReduceOp | ReduceWindowOp) -> str | None:
    """The op, without its dialect, that a reduction of one operand combines two elements by.

    One of `COMMUTATIVE`; None where the body is anything else, or converts the elements.
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


def is_of_one_type(op: ReduceOp | ReduceWindowOp) -> bool:
    """Whether operands, what the body takes and the results have the same elements, in order."""
    inputs = [element_type(value) for value in op.inputs]
    arguments = [element_type(value) for value in op.body.blocks[0].arguments]
    return arguments == inputs * 2 and [element_type(value) for value in op.results] == inputs


def is_exact_in_any_order(name: str, value: ir.Value) -> bool:
    """Whether elements of `value` may be combined in any order and grouping, bit for bit.

    Integers wrap around, booleans are sets of bits, and the greatest of floats is one of them. Not
    so of complex numbers: one with a NaN part is neither less than another nor greater.
    """
    is_choice = name in ("maximum", "minimum") and not is_complex(value)
    return is_integer(value) or is_boolean(value) or is_choice


def is_idempotent(name: str, value: ir.Value) -> bool:
    """Whether combining an element with itself gives that element."""
    if is_complex(value):
        return False
    return name in ("maximum", "minimum", "and", "or") or (is_boolean(value) and name != "xor")


def is_neutral(name: str, value: ir.Value) -> bool:
    """Whether `value` is a constant that changes nothing that it is combined with."""
    found, element = splat_of(value), element_type(value)
    if found is None or not isinstance(element, ir.IntegerType):
        return found is not None and found == {"maximum": -np.inf, "minimum": np.inf}.get(name)
    top = (1 << element.width) - 1  # of unsigned numbers, all bits set
    is_unsigned = element.is_unsigned or element.width == 1
    least, most = (0, top) if is_unsigned else (-(top // 2) - 1, top // 2)
    if name in ("add", "or", "xor"):
        return found == 0
    return found in {
        "multiply": (1,),
        "and": (top, -1),
        "maximum": (least,),
        "minimum": (most,),
    }.get(name, ())


def can_inline(op: ReduceOp | ReduceWindowOp, limit: int) -> bool:
    """Whether the body is at most `limit` elementwise ops, constants not counted."""
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
    op: ReduceOp | ReduceWindowOp, operands: Sequence[ir.Value], shape: Sequence[int]
) -> list[ir.Value]:
    """What the body returns, element by element, for operands of `shape`; see `can_inline`."""
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
        kinds = [ir.RankedTensorType.get(shape, element_type(value)) for value in each.results]
        made = ir.Operation.create(
            each.operation.name,
            results=kinds,
            operands=[at_shape(value) for value in each.operands],
            attributes={name: each.attributes[name] for name in each.attributes},
        )
        known.update(zip(each.results, made.results, strict=True))
    return [at_shape(value) for value in end.operands]


def with_body_of(
    op: ReduceOp,
    inputs: Sequence[ir.Value],
    init_values: Sequence[ir.Value],
    dimensions: Sequence[int],
) -> ReduceOp:
    """A reduction of other operands by a copy of `op`'s body, to results of `op`'s types."""
    kinds = [value.type for value in op.results]
    made = ReduceOp(kinds, inputs, init_values, dimensions)
    copy_regions(op, made)
    return made

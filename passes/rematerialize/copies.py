"""Builds copies of ops, rows of stacks and indices at the current insertion point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.module import captured_values, has_regions, walk
from jxc.ir.values import direction_of, element_type, is_float, shape_of, splat_attr


def used_by(op: ir.OpView) -> Iterator[ir.Value]:
    """The operands of an op, and of the ops in its regions."""
    yield from op.operands
    yield from captured_values(op)


def compares_bits(op: ir.OpView) -> bool:
    """Whether an op compares floats for equality, as the gradient of a maximum does.

    XLA rounds a copy of a value otherwise, if it is computed in a kernel with other ops: then no
    element equals the maximum. A comparison with a constant, or with itself, does not count.
    """
    if not isinstance(op, hlo.CompareOp) or direction_of(op) not in ("EQ", "NE"):
        return False
    is_constant = any(splat_attr(value) is not None for value in op.operands)
    return is_float(op.lhs) and op.lhs != op.rhs and not is_constant


def copy_with(op: ir.OpView, given: Mapping[ir.Value, ir.Value]) -> ir.OpView:
    """A copy of an op that uses other values, in its regions too."""
    copy: ir.OpView = op.operation.clone().opview
    for each in (copy, *walk(copy)) if has_regions(copy) else (copy,):
        for number, operand in enumerate(each.operands):
            if (other := given.get(operand)) is not None and other != operand:
                each.operands[number] = other
    return copy


def copy_ops(ops: Sequence[ir.OpView], known: dict[ir.Value, ir.Value]) -> None:
    """Copy ops with other operands, and add their results to `known`."""
    for op in ops:
        given = {value: known[value] for value in used_by(op) if value in known}
        known |= zip(op.results, copy_with(op, given).results, strict=True)


def affine(value: ir.Value, first: int, step: int) -> ir.Value:
    """`first + step * value` for a scalar integer, with wrap-around."""
    found: ir.Value
    if step == 0:
        return _wrapped(first, value)
    if step == -1:
        found = hlo.subtract(_wrapped(first, value), value)
        return found
    scaled = value if step == 1 else hlo.multiply(value, _wrapped(step, value))
    found = hlo.add(scaled, _wrapped(first, value)) if first else scaled
    return found


def _wrapped(number: int, like: ir.Value) -> ir.Value:
    """A constant of an integer type, wrapped around where it does not fit."""
    kind = element_type(like)
    low, high = type_bounds(kind) or (number, number)
    return build.scalar((number - low) % (high - low + 1) + low, kind)


def write_row(stack: ir.Value, value: ir.Value, position: ir.Value) -> ir.Value:
    """`stack` with `value` at a row of its first dimension."""
    row = build.reshape(value, [1, *shape_of(value)])
    return hlo.dynamic_update_slice(stack, row, build.starts_along(stack, {0: position}))


def read_row(stack: ir.Value, dim: int, position: ir.Value) -> ir.Value:
    """A row of `stack` along `dim`, with an extent of 1 there."""
    sizes = [1 if each == dim else size for each, size in enumerate(shape_of(stack))]
    return hlo.dynamic_slice(stack, build.starts_along(stack, {dim: position}), sizes)

"""What the reference interpreter gets wrong or dies of, written in ops that it gets right.

Each of these was seen on jaxlib 0.10.2 to 0.12.0.1:

- unsigned start indices of `dynamic_slice`, `dynamic_update_slice`, `gather` and `scatter` are read
  as signed ones;
- a TOTALORDER comparison of floats takes -0.0 and 0.0 to be equal;
- an integer divided by zero, or the least integer by -1, ends the process;
- jaxlib 0.10 writes into the operands of a `scatter`.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ..ir import build, walk
from ..ir.values import element_type, is_float, is_integer, is_unsigned, shape_of


def mend(module: ir.Module) -> None:
    """Rewrite `module` in place so that the interpreter gives what StableHLO says."""
    for op in list(walk(module.operation)):
        mended = _MENDED.get(op.operation.name)
        if mended is not None:
            with ir.InsertionPoint(op), op.location:
                mended(op)


def _read_indices_as_signed(op: ir.OpView) -> None:
    for place in range(len(op.operands)):
        value = op.operands[place]
        if place >= _first_index(op) and is_unsigned(value):
            op.operation.operands[place] = _as_signed(value)


def _first_index(op: ir.OpView) -> int:
    """Which operand is the first index of a dynamic slice or update."""
    return 2 if isinstance(op, stablehlo.DynamicUpdateSliceOp) else 1


def _mend_gather(op: stablehlo.GatherOp) -> None:
    if is_unsigned(op.start_indices):
        op.operation.operands[1] = _as_signed(op.start_indices)


def _mend_scatter(op: stablehlo.ScatterOp) -> None:
    count = len(op.inputs)
    for place, value in enumerate(op.inputs):
        op.operation.operands[place] = stablehlo.reshape(value.type, value)
    if is_unsigned(op.scatter_indices):
        op.operation.operands[count] = _as_signed(op.scatter_indices)


def _as_signed(value: ir.Value) -> ir.Value:
    """The indices as i64; those beyond it as its largest, which is out of range just the same."""
    i64 = ir.IntegerType.get_signless(64)
    if element_type(value).width == 64:
        most = ir.IntegerAttr.get(element_type(value), 2**63 - 1)
        value = stablehlo.minimum(value, build.splat(most, value.type))
    return build.convert(value, i64)


def _mend_compare(op: stablehlo.CompareOp) -> None:
    if "TOTALORDER" in str(op.compare_type) and is_float(op.lhs):
        signed = stablehlo.ComparisonTypeAttr.get("SIGNED")
        lhs, rhs = (_total_order_key(value) for value in (op.lhs, op.rhs))
        mended = stablehlo.compare(lhs, rhs, op.comparison_direction, compare_type=signed)
        _replace(op, mended)


def _total_order_key(value: ir.Value) -> ir.Value:
    """Integers in the order of the floats: of a negative one, all bits but the sign are flipped."""
    width = ir.FloatType(element_type(value)).width
    integer = ir.IntegerType.get_signless(width)
    kind = ir.RankedTensorType.get(shape_of(value), integer)
    bits = stablehlo.bitcast_convert(kind, value)
    sign = stablehlo.shift_right_arithmetic(bits, build.splat(width - 1, kind))
    return stablehlo.xor(bits, stablehlo.and_(sign, build.splat(2 ** (width - 1) - 1, kind)))


def _mend_divide(op: stablehlo.DivOp) -> None:
    """x / 0 is -1, every bit set; x / -1 is -x, the least integer too. As XLA has it."""
    if is_integer(op.result):
        every_bit = stablehlo.not_(build.splat(0, op.result.type))
        _guard(op, stablehlo.divide, every_bit, stablehlo.negate)


def _mend_remainder(op: stablehlo.RemOp) -> None:
    """The remainder by 0 is the dividend; by -1 it is 0."""
    if is_integer(op.result):
        _guard(op, stablehlo.remainder, op.lhs, lambda x: build.splat(0, x.type))


def _guard(
    op: stablehlo.DivOp | stablehlo.RemOp,
    compute: Callable[[ir.Value, ir.Value], ir.Value],
    by_zero: ir.Value,
    by_minus_one: Callable[[ir.Value], ir.Value],
) -> None:
    """Divide by 1 where the divisor is 0 or -1, and put there what belongs there."""
    lhs, rhs = op.lhs, op.rhs
    one, is_zero = build.splat(1, rhs.type), _equals(rhs, 0)
    if is_unsigned(rhs):
        mended = compute(lhs, stablehlo.select(is_zero, one, rhs))
    else:
        is_minus = _equals(rhs, -1)
        plain = compute(lhs, stablehlo.select(is_minus, one, stablehlo.select(is_zero, one, rhs)))
        mended = stablehlo.select(is_minus, by_minus_one(lhs), plain)
    _replace(op, stablehlo.select(is_zero, by_zero, mended))


def _replace(op: ir.OpView, value: ir.Value) -> None:
    op.result.replace_all_uses_with(value)
    op.operation.erase()


def _equals(value: ir.Value, number: int) -> ir.Value:
    equal = stablehlo.ComparisonDirectionAttr.get("EQ")
    return stablehlo.compare(value, build.splat(number, value.type), equal)


_MENDED: dict[str, Callable[..., None]] = {
    "stablehlo.compare": _mend_compare,
    "stablehlo.divide": _mend_divide,
    "stablehlo.dynamic_slice": _read_indices_as_signed,
    "stablehlo.dynamic_update_slice": _read_indices_as_signed,
    "stablehlo.gather": _mend_gather,
    "stablehlo.remainder": _mend_remainder,
    "stablehlo.scatter": _mend_scatter,
}

"""Workarounds for bugs of StableHLO's reference interpreter: ops rewritten before it runs a module.

Seen on jaxlib 0.10.2 to 0.12.0.1, each with the program that shows it (`tests/check/
test_interpreter_fixes.py` runs them):

- Unsigned indices are read as signed: `dynamic_slice` of 256 elements at index ui8 200 gives
  element 0, not 200. `dynamic_update_slice`, `gather` and `scatter` do the same.
- `compare LT, -0.0, 0.0, TOTALORDER` is false: the order of floats ignores the sign of zero.
- Integer `divide` and `remainder` by 0, and of the least integer by -1, end the process (SIGFPE).
- A call that fixes a layout, as `jax.experimental.layout` makes, ends the process. So does one of
  `ApproxTopK`, whose order of NaNs is not defined: here they are last.
- `scatter` writes into its operand: `%x` has the scattered values afterwards (jaxlib 0.10 only).
"""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ..ir import build, walk
from ..ir.materialize import is_layout_call
from ..ir.values import element_type, is_float, is_integer, is_unsigned, shape_of


def apply_interpreter_fixes(module: ir.Module) -> None:
    """Rewrite `module` in place so that the interpreter computes what StableHLO specifies."""
    for op in list(walk(module.operation)):
        fix = _FIXES.get(op.operation.name)
        if fix is not None:
            with ir.InsertionPoint(op), op.location:
                fix(op)


def _fix_dynamic_slice(op: hlo.DynamicSliceOp | hlo.DynamicUpdateSliceOp) -> None:
    first_index = 2 if isinstance(op, hlo.DynamicUpdateSliceOp) else 1
    for number in range(first_index, len(op.operands)):
        _make_signed(op, number)


def _fix_custom_call(op: hlo.CustomCallOp) -> None:
    """A layout does not change the elements. XLA:CPU finds the exact top-k of `ApproxTopK`."""
    if is_layout_call(op):
        op.results[0].replace_all_uses_with(op.inputs[0])
        op.operation.erase()
    elif op.call_target_name.value == "ApproxTopK":
        for old, new in zip(op.results, _first_in_order(op), strict=True):
            old.replace_all_uses_with(new)
        op.operation.erase()


def _first_in_order(op: hlo.CustomCallOp) -> list[ir.Value]:
    """The elements that a sort by the computation that `op` calls puts first, NaNs last."""
    count = len(op.results)
    inputs = list(op.operands)[:count]
    config = ir.DictAttr(op.attributes["mhlo.backend_config"])
    dim = ir.IntegerAttr(config["reduction_dim"]).value
    done = hlo.SortOp([x.type for x in inputs], inputs, dimension=dim, is_stable=True)
    scalars = [ir.RankedTensorType.get((), element_type(x)) for x in inputs for _ in range(2)]
    block = done.comparator.blocks.append(*scalars, arg_locs=[op.location] * len(scalars))
    with ir.InsertionPoint(block):
        x, y = list(block.arguments)[:2]
        i1 = ir.RankedTensorType.get((), ir.IntegerType.get_signless(1))
        callee = ir.FlatSymbolRefAttr(op.called_computations[0])
        before = func.CallOp([i1], callee, list(block.arguments)).results[0]
        is_nan, is_number = build.compare("NE", y, y), build.compare("EQ", x, x)
        hlo.return_([hlo.or_(before, hlo.and_(is_nan, is_number))])
    kept = range(shape_of(op.results[0])[dim])
    return [build.slice_along(each, {dim: kept}) for each in done.results]


def _fix_gather(op: hlo.GatherOp) -> None:
    _make_signed(op, 1)


def _fix_scatter(op: hlo.ScatterOp) -> None:
    """Scatter into copies of the operands; a reshape makes one."""
    for number, value in enumerate(op.inputs):
        op.operation.operands[number] = hlo.reshape(value.type, value)
    _make_signed(op, len(op.inputs))


def _make_signed(op: ir.OpView, number: int) -> None:
    """Pass an unsigned index operand as i64; one that i64 lacks becomes its largest number."""
    value = op.operands[number]
    if not is_unsigned(value):
        return
    if element_type(value).width == 64:
        largest = ir.IntegerAttr.get(element_type(value), 2**63 - 1)
        value = hlo.minimum(value, build.splat(largest, value.type))
    op.operation.operands[number] = build.convert(value, ir.IntegerType.get_signless(64))


def _fix_compare(op: hlo.CompareOp) -> None:
    """Compare integers that have the total order of the floats."""
    if "TOTALORDER" in str(op.compare_type) and is_float(op.lhs):
        signed = hlo.ComparisonTypeAttr.get("SIGNED")
        lhs, rhs = (_total_order_key(value) for value in (op.lhs, op.rhs))
        direction = op.comparison_direction
        _replace(op, hlo.compare(lhs, rhs, direction, compare_type=signed))


def _total_order_key(value: ir.Value) -> ir.Value:
    """Integers in the order of the floats: all bits but the sign of negative numbers flip."""
    width = ir.FloatType(element_type(value)).width
    integer = ir.IntegerType.get_signless(width)
    kind = ir.RankedTensorType.get(shape_of(value), integer)
    bits = hlo.bitcast_convert(kind, value)
    sign = hlo.shift_right_arithmetic(bits, build.splat(width - 1, kind))
    return hlo.xor(bits, hlo.and_(sign, build.splat(2 ** (width - 1) - 1, kind)))


def _fix_divide(op: hlo.DivOp) -> None:
    """x / 0 is -1 (every bit set), and x / -1 is -x, also for the least integer: as XLA does."""
    if is_integer(op.result):
        every_bit = hlo.not_(build.splat(0, op.result.type))
        _guard_divisor(op, hlo.divide, every_bit, hlo.negate)


def _fix_remainder(op: hlo.RemOp) -> None:
    """The remainder by 0 is the dividend; by -1 it is 0."""
    if is_integer(op.result):
        _guard_divisor(op, hlo.remainder, op.lhs, lambda x: build.splat(0, x.type))


def _guard_divisor(
    op: hlo.DivOp | hlo.RemOp,
    compute: Callable[[ir.Value, ir.Value], ir.Value],
    by_zero: ir.Value,
    by_minus_one: Callable[[ir.Value], ir.Value],
) -> None:
    """Divide by 1 where the divisor is 0 or -1, and select the specified result there."""
    lhs, rhs = op.lhs, op.rhs
    one, is_zero = build.splat(1, rhs.type), _equals(rhs, 0)
    if is_unsigned(rhs):
        result = compute(lhs, hlo.select(is_zero, one, rhs))
    else:
        is_minus = _equals(rhs, -1)
        plain = compute(lhs, hlo.select(is_minus, one, hlo.select(is_zero, one, rhs)))
        result = hlo.select(is_minus, by_minus_one(lhs), plain)
    _replace(op, hlo.select(is_zero, by_zero, result))


def _replace(op: ir.OpView, value: ir.Value) -> None:
    op.result.replace_all_uses_with(value)
    op.operation.erase()


def _equals(value: ir.Value, number: int) -> ir.Value:
    equal = hlo.ComparisonDirectionAttr.get("EQ")
    return hlo.compare(value, build.splat(number, value.type), equal)


_FIXES: dict[str, Callable[..., None]] = {
    "stablehlo.compare": _fix_compare,
    "stablehlo.custom_call": _fix_custom_call,
    "stablehlo.divide": _fix_divide,
    "stablehlo.dynamic_slice": _fix_dynamic_slice,
    "stablehlo.dynamic_update_slice": _fix_dynamic_slice,
    "stablehlo.gather": _fix_gather,
    "stablehlo.remainder": _fix_remainder,
    "stablehlo.scatter": _fix_scatter,
}

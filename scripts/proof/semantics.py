"""StableHLO's elementwise ops for one element, as z3 terms.

They follow the specification. Where it leaves a choice, they follow XLA: an integer division by
zero gives all ones, with the dividend as remainder; a conversion to integers saturates, and maps
NaN to zero. Functions that IEEE 754 does not define are uninterpreted: equal inputs give equal
outputs, and little else is known. `tests/test_proof_semantics.py` compares all this with the
reference interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import z3
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import direction_of

from .arithmetic import ARITHMETIC, EVEN, less, maximum, minimum
from .elements import Complex, Element, FiniteFloat, Float, Integer, Real, Term, Unmodelled, bits_of

_Operand = tuple[Term, Element]


def _boolean(condition: Term) -> Term:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def _compare(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    """A comparison: with a NaN, all directions but NE are false."""
    assert isinstance(op, hlo.CompareOp)
    (x, of), (y, _) = operands
    direction = direction_of(op)
    if "TOTALORDER" in str(op.compare_type) and isinstance(of, Float):
        x, y = (_ordered(each, of) for each in (x, y))
        of = Integer(of.width, is_signed=True)
    if direction in ("EQ", "NE"):
        same = _equal(x, y, of)
        return _boolean(same if direction == "EQ" else z3.Not(same))
    if isinstance(of, Complex):
        raise Unmodelled("the order of complex numbers")
    x, y = (x, y) if direction in ("LT", "LE") else (y, x)
    below = less(x, y, of)
    return _boolean(below if direction in ("LT", "GT") else z3.Or(below, _equal(x, y, of)))


def _ordered(x: Term, of: Float) -> Term:
    """Integers in the total order of the floats: all bits but the sign of negative ones flip."""
    bits = bits_of(x)
    return bits ^ z3.LShR(bits >> of.width - 1, 1)


def _equal(x: Term, y: Term, of: Element) -> Term:
    match of:
        case Complex():
            return z3.And([z3.fpEQ(a, b) for a, b in zip(x, y, strict=True)])
        case Float():
            return z3.fpEQ(x, y)
    return x == y


def _select(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    (p, _), (x, of), (y, _) = operands
    if isinstance(of, Complex):
        return tuple(z3.If(p == 1, a, b) for a, b in zip(x, y, strict=True))
    return z3.If(p == 1, x, y)


def _clamp(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    (low, of), (x, _), (high, _) = operands
    if isinstance(of, Complex):
        raise Unmodelled("clamp of complex numbers")
    return minimum(maximum(x, low, of), high, of)


def _convert(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    ((x, of),) = operands
    return converted(x, of, result)


def converted(x: Term, of: Element, result: Element) -> Term:
    """An element of one type as one of another.

    Raises:
        Unmodelled: one type is complex, and the other is not.
    """
    match of, result:
        case Integer(), Integer():
            return _resized(x, of, result)
        case Integer(is_signed=True), Float():
            return _from_integer(z3.fpSignedToFP, x, result)
        case Integer(), Float():
            return _from_integer(z3.fpUnsignedToFP, x, result)
        case Float(), Float():
            return result.rounded(x)
        case Float(), Integer():
            return _truncated(x, of, result)
        case Complex(), Complex():
            return tuple(z3.fpFPToFP(EVEN, part, result.part.sort) for part in x)
    raise Unmodelled("convert between real and complex numbers")


def _from_integer(convert: Callable[..., Term], x: Term, result: Float) -> Term:
    """Rounding to f64 first is exact enough: floats of 8 bits only reach 448."""
    if isinstance(result, FiniteFloat):
        return result.rounded(convert(EVEN, x, z3.Float64()))
    return convert(EVEN, x, result.sort)


def _resized(x: Term, of: Integer, result: Integer) -> Term:
    if result.width == 1:
        return _boolean(x != 0)
    more = result.width - of.width
    if more < 0:
        return z3.Extract(result.width - 1, 0, x)
    return z3.SignExt(more, x) if of.is_signed else z3.ZeroExt(more, x)


def _truncated(x: Term, of: Float, result: Integer) -> Term:
    if result.width == 1:
        return _boolean(z3.Not(z3.fpIsZero(x)))
    low, high = result.range
    to_bits = z3.fpToSBV if result.is_signed else z3.fpToUBV
    inside = to_bits(z3.RTZ(), x, result.sort)
    capped = z3.If(z3.fpGEQ(x, of.value(float(high + 1))), result.value(high), inside)
    floored = z3.If(z3.fpLEQ(x, of.value(float(low))), result.value(low), capped)
    return z3.If(z3.fpIsNaN(x), result.value(0), floored)


def _bitcast(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    ((x, of),) = operands
    if isinstance(of, Complex) or isinstance(result, Complex):
        raise Unmodelled("bitcast_convert of complex numbers")
    return result.of_bits(bits_of(x) if isinstance(of, Float) else x)


def _is_finite(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    ((x, _),) = operands
    return _boolean(z3.Not(z3.Or(z3.fpIsNaN(x), z3.fpIsInf(x))))


def _part(index: int) -> Callable[..., Term]:
    def part(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
        ((z, of),) = operands
        if isinstance(of, Complex):
            return z[index]
        assert isinstance(of, Float)
        return of.value(0.0) if index else z

    return part


def _complex(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    return operands[0][0], operands[1][0]


# Ops whose operands and results differ in type.
_OTHERS: dict[str, Callable[[ir.OpView, Sequence[_Operand], Element], Term]] = {
    "bitcast_convert": _bitcast,
    "clamp": _clamp,
    "compare": _compare,
    "complex": _complex,
    "convert": _convert,
    "imag": _part(1),
    "is_finite": _is_finite,
    "real": _part(0),
    "select": _select,
}

_BY_PARTS = ("add", "negate", "subtract")
"""Ops on complex numbers that act on each part."""

_UNINTERPRETED = frozenset(
    {
        "atan2",
        "cbrt",
        "cosine",
        "exponential",
        "exponential_minus_one",
        "log",
        "log_plus_one",
        "logistic",
        "power",
        "reduce_precision",
        "remainder",
        "rsqrt",
        "sine",
        "sqrt",
        "tan",
        "tanh",
    }
)
UNKNOWN = "unknown "
"""The prefix of the names of uninterpreted functions."""


def modelled_ops() -> list[str]:
    """The names, without dialect, of the ops that are not uninterpreted."""
    return sorted([*ARITHMETIC, *_OTHERS])


def is_elementwise(op: ir.OpView) -> bool:
    """Whether an element of the result depends only on the elements at the same index."""
    dialect, _, name = op.operation.name.partition(".")
    return dialect == "stablehlo" and name in ARITHMETIC.keys() | _OTHERS.keys() | _UNINTERPRETED


def meaning(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    """One element of the result of an elementwise op.

    Args:
        op: the op.
        operands: an element of each operand, and its type.
        result: the element type of the result.

    Raises:
        Unmodelled: the op has no z3 term on these types.
    """
    name = op.operation.name.removeprefix("stablehlo.")
    is_float = not isinstance(result, Integer)
    if name in _UNINTERPRETED and (is_float or name not in ARITHMETIC):
        return _uninterpreted(op, operands, result)
    if name in _OTHERS:
        return _OTHERS[name](op, operands, result)
    if name not in ARITHMETIC:
        raise Unmodelled(op.operation.name)
    terms = [x for x, _ in operands]
    if not any(isinstance(of, Complex) for _, of in operands):
        return ARITHMETIC[name](*terms, result)
    if name not in _BY_PARTS or not isinstance(result, Complex):
        raise Unmodelled(f"{name} of complex numbers")
    return tuple(ARITHMETIC[name](*parts, result.part) for parts in zip(*terms, strict=True))


def _uninterpreted(op: ir.OpView, operands: Sequence[_Operand], result: Element) -> Term:
    types = [*(of for _, of in operands), result]
    sorts = [of.sort for of in types if not isinstance(of, Complex)]
    if len(sorts) < len(types):
        raise Unmodelled(f"{op.operation.name} of complex numbers")
    attributes = sorted(f"{name}={op.attributes[name]}" for name in op.attributes)
    name = " ".join([f"{UNKNOWN}{op.operation.name}", *attributes, *map(str, sorts)])
    terms = [x for x, _ in operands]
    return _known(op, terms, result, z3.Function(name, *sorts)(*terms))


def _known(op: ir.OpView, terms: Sequence[Term], of: Element, unknown: Term) -> Term:
    """The known values of an uninterpreted function; `unknown` elsewhere."""
    assert not isinstance(of, Complex)
    match op:
        case hlo.PowOp():
            return _power(terms[0], terms[1], of, unknown)
        case hlo.RemOp() if isinstance(of, Float):
            return _remainder(terms[0], terms[1], of, unknown)
        case hlo.ExpOp() | hlo.LogisticOp():
            return z3.fpAbs(unknown)  # never negative, nor -0.0
        case hlo.ReducePrecisionOp() if type(of) is Float:
            wide = Float(int(op.exponent_bits), 1 + int(op.mantissa_bits))
            holds = wide.exponent >= of.exponent and wide.significand >= of.significand
            return terms[0] if holds else unknown
    return unknown


def _power(x: Term, y: Term, of: Real, unknown: Term) -> Term:
    """The specified powers: x to the 0 is 1, x to the 1 is x, and 1 to the y is 1."""
    zero, one = of.value(0), of.value(1)
    is_zero = z3.fpIsZero(y) if isinstance(of, Float) else y == zero
    return z3.If(z3.Or(is_zero, x == one), one, z3.If(y == one, x, unknown))


def _remainder(x: Term, y: Term, of: Float, unknown: Term) -> Term:
    """The remainder of a truncating division, where x and y are constants; `unknown` elsewhere.

    z3 has the remainder of a rounding division, which is fast on constants only. A zero has the
    sign of x.
    """
    a, b = (z3.simplify(z3.fpAbs(each)) for each in (x, y))
    if not (z3.is_fp_value(a) and z3.is_fp_value(b)):
        return unknown
    nearest = z3.fpRem(a, b)
    least = z3.If(z3.fpLT(nearest, of.value(0)), z3.fpAdd(EVEN, nearest, b), z3.fpAbs(nearest))
    return z3.simplify(z3.If(z3.fpIsNegative(x), z3.fpNeg(least), least))

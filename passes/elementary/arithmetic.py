"""Formulas over tensors of floats, written as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import shape_of

Operand: TypeAlias = "Real | float"


@dataclass(frozen=True)
class Mask:
    """A tensor of booleans."""

    value: ir.Value

    def __and__(self, other: Mask) -> Mask:
        return Mask(hlo.and_(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(hlo.or_(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(hlo.not_(self.value))


@dataclass(frozen=True)
class Real:
    """A tensor of floats; a plain number beside one is a constant of its type."""

    value: ir.Value

    def like(self, other: Operand) -> Real:
        """`other` as a tensor of this type."""
        return other if isinstance(other, Real) else Real(build.splat(other, self.value.type))

    def __add__(self, other: Operand) -> Real:
        return Real(hlo.add(self.value, self.like(other).value))

    def __sub__(self, other: Operand) -> Real:
        return Real(hlo.subtract(self.value, self.like(other).value))

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    def __mul__(self, other: Operand) -> Real:
        return Real(hlo.multiply(self.value, self.like(other).value))

    def __truediv__(self, other: Operand) -> Real:
        return Real(hlo.divide(self.value, self.like(other).value))

    def __rtruediv__(self, other: float) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return Real(hlo.negate(self.value))

    def __abs__(self) -> Real:
        return Real(hlo.abs(self.value))

    def __lt__(self, other: Operand) -> Mask:
        return self._compare(other, "LT")

    def __gt__(self, other: Operand) -> Mask:
        return self._compare(other, "GT")

    def __ge__(self, other: Operand) -> Mask:
        return self._compare(other, "GE")

    def equals(self, other: Operand) -> Mask:
        """Where it is `other`; nowhere where either is NaN."""
        return self._compare(other, "EQ")

    def differs(self, other: Operand) -> Mask:
        """Where it is not `other`; everywhere where either is NaN."""
        return self._compare(other, "NE")

    def _compare(self, other: Operand, direction: str) -> Mask:
        attribute = hlo.ComparisonDirectionAttr.get(direction)
        return Mask(hlo.compare(self.value, self.like(other).value, attribute))

    def is_negative(self) -> Mask:
        """Where the sign bit is set: -0.0 counts, and so may a NaN."""
        bits = _bits(self.value)
        return Mask(
            hlo.compare(bits, build.splat(0, bits.type), hlo.ComparisonDirectionAttr.get("LT"))
        )

    def round(self) -> Real:
        """The nearest integer, ties to the even one."""
        return Real(hlo.round_nearest_even(self.value))

    def sqrt(self) -> Real:
        return Real(hlo.sqrt(self.value))

    def minimum(self, other: Operand) -> Real:
        return Real(hlo.minimum(self.value, self.like(other).value))

    def maximum(self, other: Operand) -> Real:
        return Real(hlo.maximum(self.value, self.like(other).value))

    def to(self, element: ir.Type) -> Real:
        return Real(build.convert(self.value, element))


def where(mask: Mask, then: Real, otherwise: Operand) -> Real:
    """Element by element `then` or `otherwise`."""
    return Real(hlo.select(mask.value, then.value, then.like(otherwise).value))


def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """c[0] + c[1] x + c[2] x^2 ..., by Horner's rule."""
    *lower, last = coefficients
    total: Operand = last
    for coefficient in reversed(lower):
        total = x * total + coefficient
    return x.like(total)


def integer_like(value: ir.Value) -> ir.Type:
    """The type of signed integers as wide as the floats in `value`."""
    kind = ir.RankedTensorType(value.type)
    width = kind.element_type.width
    return ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(width))


def _bits(value: ir.Value) -> ir.Value:
    return hlo.bitcast_convert(integer_like(value), value)


def with_sign_of(size: Real, other: Real) -> Real:
    """`size`, which has no sign, with the sign of `other`: also where it is zero or NaN."""
    bits, signs = _bits(size.value), _bits(other.value)
    width = ir.RankedTensorType(bits.type).element_type.width
    sign = hlo.and_(signs, build.splat(-(2 ** (width - 1)), bits.type))
    return Real(hlo.bitcast_convert(size.value.type, hlo.or_(bits, sign)))


@dataclass(frozen=True)
class Bits:
    """A tensor of signless integers, which hold the bits of floats."""

    value: ir.Value

    @staticmethod
    def of(x: Real) -> Bits:
        """The bits of each element."""
        return Bits(_bits(x.value))

    def _with(self, number: int) -> ir.Value:
        return build.splat(number, self.value.type)

    def __add__(self, other: Bits | int) -> Bits:
        right = other.value if isinstance(other, Bits) else self._with(other)
        return Bits(hlo.add(self.value, right))

    def __or__(self, number: int) -> Bits:
        return Bits(hlo.or_(self.value, self._with(number)))

    def __rsub__(self, number: int) -> Bits:
        return Bits(hlo.subtract(self._with(number), self.value))

    def __floordiv__(self, number: int) -> Bits:
        """Towards zero; both are positive where it is used."""
        return Bits(hlo.divide(self.value, self._with(number)))

    def __lshift__(self, places: int) -> Bits:
        return Bits(hlo.shift_left(self.value, self._with(places)))

    def __rshift__(self, places: int) -> Bits:
        """Zeros come in."""
        return Bits(hlo.shift_right_logical(self.value, self._with(places)))

    def to(self, width: int) -> Bits:
        """As integers of `width` bits."""
        return Bits(build.convert(self.value, ir.IntegerType.get_signless(width)))

    def as_f64(self) -> Real:
        """The floats that these are the bits of."""
        kind = ir.RankedTensorType.get(shape_of(self.value), ir.F64Type.get())
        return Real(hlo.bitcast_convert(kind, self.value))

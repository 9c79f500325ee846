"""Formulas over tensors, written as formulas: Python's operators build the ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of

Operand: TypeAlias = "Tensor | float"


@dataclass(frozen=True)
class Tensor:
    """A tensor of floats, of the bits of floats, or of booleans.

    A plain number next to one in a formula stands for a constant of its type.
    """

    value: ir.Value

    def like(self, other: Operand) -> Tensor:
        """`other` as a tensor of this type."""
        return other if isinstance(other, Tensor) else Tensor(build.splat(other, self.value.type))

    def _with(self, make: Callable[[ir.Value, ir.Value], ir.Value], other: Operand) -> Tensor:
        return Tensor(make(self.value, self.like(other).value))

    def __add__(self, other: Operand) -> Tensor:
        return self._with(hlo.add, other)

    def __sub__(self, other: Operand) -> Tensor:
        return self._with(hlo.subtract, other)

    def __rsub__(self, other: float) -> Tensor:
        return self.like(other) - self

    def __mul__(self, other: Operand) -> Tensor:
        return self._with(hlo.multiply, other)

    def __truediv__(self, other: Operand) -> Tensor:
        """The quotient; of integers rounded towards zero."""
        return self._with(hlo.divide, other)

    def __rtruediv__(self, other: float) -> Tensor:
        return self.like(other) / self

    def __neg__(self) -> Tensor:
        return Tensor(hlo.negate(self.value))

    def __abs__(self) -> Tensor:
        return Tensor(hlo.abs(self.value))

    def __and__(self, other: Operand) -> Tensor:
        return self._with(hlo.and_, other)

    def __or__(self, other: Operand) -> Tensor:
        return self._with(hlo.or_, other)

    def __invert__(self) -> Tensor:
        return Tensor(hlo.not_(self.value))

    def __lshift__(self, count: int) -> Tensor:
        return self._with(hlo.shift_left, count)

    def __rshift__(self, count: int) -> Tensor:
        """The bits shifted to the right; zeros come in."""
        return self._with(hlo.shift_right_logical, count)

    def compare(self, direction: str, other: Operand) -> Tensor:
        """The mask of the comparison with `other` in a direction, such as "LT"."""
        return self._with(lambda x, y: build.compare(direction, x, y), other)

    def __lt__(self, other: Operand) -> Tensor:
        return self.compare("LT", other)

    def __gt__(self, other: Operand) -> Tensor:
        return self.compare("GT", other)

    def __ge__(self, other: Operand) -> Tensor:
        return self.compare("GE", other)

    def equals(self, other: Operand) -> Tensor:
        """The mask of equal elements; False where either is NaN."""
        return self.compare("EQ", other)

    def differs(self, other: Operand) -> Tensor:
        """The mask of elements that differ; True where either is NaN."""
        return self.compare("NE", other)

    def is_negative(self) -> Tensor:
        """The mask of elements whose sign bit is set, -0.0 and NaNs included."""
        return self.bits() < 0

    def round(self) -> Tensor:
        """The nearest integer, ties to the even one."""
        return Tensor(hlo.round_nearest_even(self.value))

    def sqrt(self) -> Tensor:
        return Tensor(hlo.sqrt(self.value))

    def minimum(self, other: Operand) -> Tensor:
        return self._with(hlo.minimum, other)

    def maximum(self, other: Operand) -> Tensor:
        return self._with(hlo.maximum, other)

    def to(self, element: ir.Type) -> Tensor:
        return Tensor(build.convert(self.value, element))

    def bits(self) -> Tensor:
        """The bits of floats as signless integers of the same width."""
        width = element_type(self.value).width
        return self.bitcast(ir.IntegerType.get_signless(width))

    def bitcast(self, element: ir.Type) -> Tensor:
        """The same bits as elements of another type of the same width."""
        kind = ir.RankedTensorType.get(shape_of(self.value), element)
        return Tensor(hlo.bitcast_convert(kind, self.value))


def where(mask: Tensor, then: Tensor, otherwise: Operand) -> Tensor:
    """The elements of `then` where the mask is True, those of `otherwise` elsewhere."""
    return Tensor(hlo.select(mask.value, then.value, then.like(otherwise).value))


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """c[0] + c[1] x + c[2] x^2 ..., by Horner's rule."""
    *lower, last = coefficients
    total: Operand = last
    for coefficient in reversed(lower):
        total = x * total + coefficient
    return x.like(total)


def with_sign_of(size: Tensor, other: Tensor) -> Tensor:
    """`size`, whose sign bits are 0, with the sign bits of `other`: also at zeros and NaNs."""
    bits, signs = size.bits(), other.bits()
    width: int = element_type(bits.value).width
    signed = bits | (signs & (-1 << width - 1))
    return signed.bitcast(element_type(size.value))

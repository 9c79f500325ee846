"""Element types in z3: integers are bit-vectors, floats are IEEE 754 numbers.

Arguments are bit-vectors, so that a bitcast can read their bits. Computed floats are z3's floats,
in which all NaNs are one value.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import z3
from jaxlib.mlir import ir

from jxc.ir.dtypes import numpy_dtype

Term: TypeAlias = Any
"""A z3 term, or for complex numbers the pair of its parts."""

# Exponent and significand (the hidden bit included) of the types that have infinities, one zero of
# each sign and gradual underflow, as z3's numbers do.
_FORMATS = {
    "f8E5M2": (5, 3),
    "f8E4M3": (4, 4),
    "f8E3M4": (3, 5),
    "f16": (5, 11),
    "bf16": (8, 8),
    "f32": (8, 24),
    "f64": (11, 53),
}


class Unmodelled(Exception):
    """An op or a type has no meaning in z3's terms; the text names it."""


@dataclass(frozen=True)
class Integer:
    """An integer type; booleans are unsigned integers of one bit."""

    width: int
    is_signed: bool

    @property
    def sort(self) -> z3.SortRef:
        return z3.BitVecSort(self.width)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value."""
        if self.is_signed:
            return -(1 << self.width - 1), (1 << self.width - 1) - 1
        return 0, (1 << self.width) - 1

    def value(self, number: int) -> Term:
        """The number, wrapped to the width."""
        return z3.BitVecVal(number, self.width)

    def of_bits(self, bits: Term) -> Term:
        return bits


@dataclass(frozen=True)
class Float:
    """A floating-point type: bits of the exponent, and of the significand with its hidden bit."""

    exponent: int
    significand: int

    @property
    def width(self) -> int:
        return self.exponent + self.significand

    @property
    def sort(self) -> z3.FPSortRef:
        return z3.FPSort(self.exponent, self.significand)

    def value(self, number: float) -> Term:
        """The number in this type, rounded to nearest."""
        (bits,) = struct.unpack("<Q", struct.pack("<d", number))
        return z3.fpFPToFP(z3.RNE(), z3.fpBVToFP(z3.BitVecVal(bits, 64), z3.Float64()), self.sort)

    def of_bits(self, bits: Term) -> Term:
        return z3.fpBVToFP(bits, self.sort)

    def rounded(self, number: Term) -> Term:
        """A float of any width, rounded to nearest."""
        return z3.fpFPToFP(z3.RNE(), number, self.sort)


@dataclass(frozen=True)
class FiniteFloat(Float):
    """f8E4M3FN: no infinities, one NaN of each sign, and 448 where 2 ** 9 would be infinite.

    Its numbers are represented in f16, which contains all of them.
    """

    @property
    def sort(self) -> z3.FPSortRef:
        return z3.Float16()

    def of_bits(self, bits: Term) -> Term:
        sign, exponent, rest = (z3.Extract(*each, bits) for each in ((7, 7), (6, 3), (2, 0)))
        shifted = z3.ZeroExt(1, exponent) + 8  # the bias is 7, and 15 in f16
        normal = z3.fpBVToFP(z3.Concat(sign, shifted, rest, z3.BitVecVal(0, 7)), self.sort)
        small = z3.fpMul(z3.RNE(), z3.fpUnsignedToFP(z3.RNE(), rest, self.sort), self.value(2**-9))
        small = z3.If(sign == 1, z3.fpNeg(small), small)
        is_nan = z3.And(exponent == 15, rest == 7)
        return z3.If(is_nan, z3.fpNaN(self.sort), z3.If(exponent == 0, small, normal))

    def rounded(self, number: Term) -> Term:
        """The number rounded: below 2 ** -6 to a multiple of 2 ** -9, and beyond 448 to NaN."""
        nearest, of = z3.RNE(), number.sort()
        sort = z3.FPSort(max(of.ebits(), 8), max(of.sbits(), 11))
        x = z3.fpFPToFP(nearest, number, sort)
        unit, back = (Float(sort.ebits(), sort.sbits()).value(each) for each in (2.0**9, 2.0**-9))
        steps = z3.fpRoundToIntegral(nearest, z3.fpMul(nearest, x, unit))
        short = z3.fpFPToFP(nearest, x, z3.FPSort(sort.ebits(), self.significand))
        is_small = z3.fpLT(z3.fpAbs(x), Float(sort.ebits(), sort.sbits()).value(2.0**-6))
        found = z3.If(is_small, z3.fpMul(nearest, steps, back), z3.fpFPToFP(nearest, short, sort))
        is_beyond = z3.fpGT(z3.fpAbs(found), Float(sort.ebits(), sort.sbits()).value(448.0))
        in_f16 = z3.fpFPToFP(nearest, found, self.sort)
        return z3.If(is_beyond, z3.fpNaN(self.sort), in_f16)


@dataclass(frozen=True)
class Complex:
    """A complex type, whose numbers are pairs."""

    part: Float

    @property
    def width(self) -> int:
        return 2 * self.part.width

    def of_bits(self, bits: Term) -> Term:
        """The pair; the real part has the low bits."""
        half = self.part.width
        low, high = z3.Extract(half - 1, 0, bits), z3.Extract(2 * half - 1, half, bits)
        return self.part.of_bits(low), self.part.of_bits(high)


Real: TypeAlias = Integer | Float
Element: TypeAlias = Integer | Float | Complex


def element_of(kind: ir.Type) -> Element:
    """The element type of a ranked tensor, or an element type itself.

    Raises:
        Unmodelled: z3 has no such numbers.
    """
    if isinstance(kind, ir.RankedTensorType):
        kind = kind.element_type
    if isinstance(kind, ir.IntegerType):
        return Integer(kind.width, not kind.is_unsigned and kind.width > 1)
    if isinstance(kind, ir.ComplexType) and isinstance(
        part := element_of(kind.element_type), Float
    ):
        return Complex(part)
    if str(kind) == "f8E4M3FN":
        return FiniteFloat(4, 4)
    if str(kind) in _FORMATS:
        return Float(*_FORMATS[str(kind)])
    raise Unmodelled(f"the type {kind}")


def bits_of(number: Term) -> Term:
    """The bits of a float that is not computed; negate and abs change only the sign.

    Raises:
        Unmodelled: it was computed, so that the bits of a NaN are unspecified.
    """
    parts, width = number.children(), number.sort().ebits() + number.sort().sbits()
    match number.decl().kind():
        case z3.Z3_OP_FPA_TO_FP if len(parts) == 1:
            return parts[0]
        case z3.Z3_OP_ITE:
            return z3.If(parts[0], bits_of(parts[1]), bits_of(parts[2]))
        case z3.Z3_OP_FPA_NEG:
            return bits_of(parts[0]) ^ z3.BitVecVal(1 << width - 1, width)
        case z3.Z3_OP_FPA_ABS:
            return bits_of(parts[0]) & z3.BitVecVal((1 << width - 1) - 1, width)
    raise Unmodelled("the bits of a computed float, where those of NaN are unspecified")


def bits_of_array(array: np.ndarray, element: Element) -> list[int]:
    """The bits of each element, in row-major order."""
    raw = (int.from_bytes(each.tobytes(), "little") for each in array.reshape(-1))
    return [bits & (1 << element.width) - 1 for bits in raw]


def number_of(bits: int, kind: ir.Type) -> np.ndarray:
    """The number of the element type `kind` that has these bits, as an array of rank 0."""
    dtype = numpy_dtype(kind)
    assert dtype is not None
    if isinstance(element := element_of(kind), Integer):
        number = bits - (1 << element.width) if bits > element.range[1] else bits
        return np.array(number).astype(dtype)
    return np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype).reshape(())

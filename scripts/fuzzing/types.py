"""Element types: their kinds, and constants on which rewrites go wrong."""

from __future__ import annotations

SIGNED = ("i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui4", "ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ")
COMPLEX = ("complex<f32>", "complex<f64>")
ELEMENTS = ("i1", *INTEGERS, *FLOATS, *COMPLEX)

_NOT_FINITE = {
    "f16": ("0x7C00", "0xFC00", "0x7E00"),
    "bf16": ("0x7F80", "0xFF80", "0x7FC0"),
    "f32": ("0x7F800000", "0xFF800000", "0x7FC00000"),
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"),
    "f8E4M3FN": ("0x7F",),
    "f8E5M2": ("0x7C", "0xFC", "0x7F"),
    "f8E4M3B11FNUZ": ("0x80",),
}


def width_of(element: str) -> int:
    """How many bits one element takes."""
    if element.startswith("complex"):
        return 2 * width_of(element[8:-1])
    if element.startswith("f8"):
        return 8
    return int(element.lstrip("uibf"))


def part_of(element: str) -> str:
    """The type of a complex number's parts, and of its absolute value."""
    return element[8:-1]


def edges(element: str) -> tuple[str, ...]:
    """Constants of a type as MLIR writes them: neutral, absorbing, extreme, not finite."""
    if element == "i1":
        return ("true", "false")
    if element in COMPLEX:
        return ("(0.0, 0.0)", "(-0.0, -0.0)", "(1.0, 0.0)", "(-0.0, 0.0)")
    if element in FLOATS:
        zeros = ("0.0",) if element.endswith("FNUZ") else ("0.0", "-0.0")
        return (*zeros, "1.0", "-1.0", "0.5", *_NOT_FINITE[element])
    bits = width_of(element)
    if element in UNSIGNED:
        return ("0", "1", str(2**bits - 1), str(2 ** (bits - 1)))
    return ("0", "1", "-1", str(-(2 ** (bits - 1))), str(2 ** (bits - 1) - 1))


def small(element: str, number: int) -> str:
    """A number from 0 to 7 as a constant of the type."""
    if element == "i1":
        return "true" if number % 2 else "false"
    if element in COMPLEX:
        return f"({number}.0, {number % 3}.5)"
    return f"{number}.0" if element in FLOATS else str(number)

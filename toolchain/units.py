"""Sizes, counts and times as text: "12GiB", "3T", "1.24 ms", "2 programs"; the width of text."""

from __future__ import annotations

import math
import os
import re

from .errors import UsageError

_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e\+?[0-9]+)?)\s*([A-Za-z]*)\s*$", re.IGNORECASE)
_BINARY = {f"{prefix}ib": 1024 ** (i + 1) for i, prefix in enumerate("kmgtp")}
_DECIMAL = {prefix: 1000 ** (i + 1) for i, prefix in enumerate("kmgtp")}
_BYTES = {"": 1, "b": 1} | _BINARY | {f"{prefix}b": n for prefix, n in _DECIMAL.items()}
_COUNTS = {"": 1} | _DECIMAL


def parse_bytes(text: str) -> int:
    """A size in bytes: "12GiB" (powers of 1024), "12GB" (powers of 1000), or a plain number.

    Raises:
        UsageError: the text is not a size.
    """
    return round(_parse(text, _BYTES, "a size in bytes, such as 12GiB, 500MB or 4096"))


def parse_count(text: str) -> float:
    """A count, such as "2e12", "3T" or "10G"; the letters stand for powers of 1000.

    Raises:
        UsageError: the text is not a count.
    """
    return _parse(text, _COUNTS, "a count, such as 2e12, 3T or 10G")


def _parse(text: str, units: dict[str, int], expected: str) -> float:
    found = _NUMBER.match(text)
    if found is None or found[2].lower() not in units:
        raise UsageError(f"expected {expected}, found {text[:80]!r}")
    number = float(found[1]) * units[found[2].lower()]
    if not math.isfinite(number):
        raise UsageError(f"expected {expected}, found a number that is too large: {text[:80]!r}")
    return number


def show_bytes(size: float) -> str:
    """A size with four significant digits: "1.406 GiB"."""
    return _show(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"), " ")


def show_count(count: float) -> str:
    """A count with four significant digits: "2.5T"."""
    return _show(count, 1000, ("", "K", "M", "G", "T", "P"), "")


def show_seconds(seconds: float) -> str:
    """A time with three significant digits: "1.24 ms"."""
    if seconds >= 999.5 or seconds == 0:
        return f"{seconds:.0f} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:  # 999.6 ms is "1 s"
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def counted(count: float, noun: str) -> str:
    """A number and a noun in its singular or plural: "1 program", "2 processes", "0.5 kernels"."""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count if isinstance(count, int) else format(count, 'g')} {noun}{ending}"


def _show(amount: float, step: int, units: tuple[str, ...], space: str) -> str:
    power = 0
    while abs(amount) >= step and power + 1 < len(units):
        amount /= step
        power += 1
    return f"{amount:.4g}{space}{units[power]}".rstrip()


def stated_columns() -> int | None:
    """The width that the environment variable COLUMNS states; None if it is not a usable number."""
    text = os.environ.get("COLUMNS", "")
    is_number = text.isascii() and text.isdecimal() and len(text) < 6  # wider than any terminal
    return (int(text) or None) if is_number else None


def text_width(otherwise: int, descriptor: int = 1) -> int:
    """The width of text: what COLUMNS states, that of the terminal, or `otherwise` without one."""
    columns = os.get_terminal_size(descriptor).columns if os.isatty(descriptor) else 0
    return stated_columns() or columns or otherwise

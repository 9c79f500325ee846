"""Six numbers about a value, as a program writes them and as a reader wants them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

COUNT = 6
"""How many numbers of a record make up `Statistics`."""


@dataclass(frozen=True)
class Statistics:
    """What a value held.

    Attributes:
        type: as JAX writes it: "f32[8,128]".
        min, max: NaNs left out; None where nothing is left. Absolute values of complex numbers.
        mean: over all elements: NaN where one is; None where there are none.
        nan, inf, zeros: how many elements are that.
        runs: over how many values of that type.
    """

    type: str
    min: float | None
    max: float | None
    mean: float | None
    nan: int
    inf: int
    zeros: int
    runs: int = 1

    @property
    def size(self) -> int:
        """How many elements were looked at."""
        inner = re.search(r"\[([\d,]*)\]", self.type)
        sizes = inner[1].split(",") if inner and inner[1] else []
        return math.prod(map(int, sizes)) * self.runs

    @staticmethod
    def of(kind: str, numbers: Sequence[float], runs: int = 1) -> Statistics:
        """From six numbers, in the order in which passes write them."""
        least, most, mean = map(float, numbers[:3])
        nan, inf, zeros = map(int, numbers[3:COUNT])
        is_empty = least > most
        return Statistics(
            kind,
            None if is_empty else least,
            None if is_empty else most,
            None if is_empty and not nan else mean,
            nan,
            inf,
            zeros,
            runs,
        )

    def as_json(self) -> dict[str, Any]:
        """The same as JSON has it: NaN and infinities as strings."""
        found = asdict(self)
        return {key: _plain(value) for key, value in found.items()}

    def __str__(self) -> str:
        if not self.size:
            return "no elements"
        words = []
        if self.min is not None and self.max is not None:
            words += [f"min {self.min:.6g}", f"max {self.max:.6g}"]
            if self.size == 1:
                words = [f"{self.min:.6g}"]
        if self.mean is not None and math.isfinite(self.mean) and self.size > 1:
            words.append(f"mean {self.mean:.6g}")
        for count, name in ((self.nan, "NaN"), (self.inf, "infinite"), (self.zeros, "zero")):
            if count and self.size > 1:
                words.append(f"{count} of {self.size} {name}")
        return ", ".join(words) or "NaN"


def _plain(value: Any) -> Any:
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return str(value) if is_odd else value

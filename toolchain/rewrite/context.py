"""What a rule may take into account beyond the op: the target, promises, measured rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cost.rates import Rates, rates_of
from ..errors import UsageError
from .rule import ASSUMPTIONS

TARGETS = ("cpu", "gpu", "tpu")


@dataclass(frozen=True)
class PassContext:
    """The settings of one run of a pipeline; every pass and rule of the run sees the same.

    Attributes:
        target: the kind of hardware to compile for: "cpu", "gpu" or "tpu".
        assumptions: the promises that the user gave: "no-nans", "no-infs", "no-signed-zeros".
        rates: the measured speeds of the target; those measured on this machine, or the shipped
            ones, unless given.
    """

    target: str = "cpu"
    assumptions: frozenset[str] = frozenset()
    rates: Rates = field(default=None, repr=False)  # type: ignore[assignment]  # see __post_init__

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise UsageError(f"target {self.target!r}: expected {', '.join(TARGETS)}")
        if self.rates is None:
            object.__setattr__(self, "rates", rates_of(self.target))


def promises(assume: str | Sequence[str]) -> frozenset[str]:
    """The promises in `assume`: names separated by commas, in one text or several.

    Raises:
        UsageError: a promise is unknown.
    """
    texts = [assume] if isinstance(assume, str) else assume
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    if unknown := sorted(names - set(ASSUMPTIONS)):
        raise UsageError(f"promise {unknown[0]!r}: expected {', '.join(ASSUMPTIONS)}")
    return frozenset(names)

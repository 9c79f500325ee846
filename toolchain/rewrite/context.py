"""What a rule may know beyond the op before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..cost.rates import Rates, rates_of
from ..errors import UsageError
from .contract import ASSUMPTIONS

TARGETS = ("cpu", "gpu", "tpu")


@dataclass(frozen=True)
class PassContext:
    """The circumstances of one run of a pipeline; the same for every rule in it.

    Attributes:
        target: the kind of hardware compiled for: "cpu", "gpu" or "tpu".
        assumptions: promises the user made by name, in LLVM's words: "no-nans", "no-infs",
            "no-signed-zeros".
        rates: how fast the target is; what was measured here, or shipped, unless others are given.
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
    """The promises in `assume`: a name, several after commas, or a sequence of such texts.

    Raises:
        UsageError: one of them is unknown.
    """
    texts = [assume] if isinstance(assume, str) else assume
    words = {word.strip() for text in texts for word in text.split(",")} - {""}
    if unknown := sorted(words - set(ASSUMPTIONS)):
        raise UsageError(f"promise {unknown[0]!r}: expected {', '.join(ASSUMPTIONS)}")
    return frozenset(words)

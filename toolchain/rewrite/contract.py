"""How far a rule may move a result: what it promises, and what the levels select by."""

from __future__ import annotations

from dataclasses import dataclass

ASSUMPTIONS = ("no-nans", "no-infs", "no-signed-zeros")


@dataclass(frozen=True)
class Contract:
    """What stays the same when a rule fires; `exact`, `reassociates` or `approximates(ulps=n)`.

    Attributes:
        kind: "exact", "reassociates" or "approximates".
        ulps: the stated bound on the error of an approximation, in units in the last place.
    """

    kind: str
    ulps: float = 0.0

    def __str__(self) -> str:
        return f"approximates(ulps={self.ulps:g})" if self.ulps else self.kind


exact = Contract("exact")
"""Bit for bit the same for every input: NaN, infinities, signed zeros, wrap-around included."""

reassociates = Contract("reassociates")
"""The same real-number function, rounded elsewhere: another order of summation, a contraction."""


def approximates(*, ulps: float) -> Contract:
    """Another algorithm for the same function, within `ulps` over all inputs."""
    if not ulps > 0:
        raise ValueError(f"approximates(ulps=...) needs a positive bound, got {ulps!r}")
    return Contract("approximates", ulps)

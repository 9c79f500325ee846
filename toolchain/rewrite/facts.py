"""What a rule may know beyond the op before it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """The circumstances of one run of a pipeline; the same for every rule in it.

    Attributes:
        target: the kind of hardware compiled for: "cpu", "gpu" or "tpu".
        assumptions: promises the user made by name, in LLVM's words: "no-nans", "no-infs",
            "no-signed-zeros".
    """

    target: str = "cpu"
    assumptions: frozenset[str] = frozenset()

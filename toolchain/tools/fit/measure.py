"""Runs versions of a program here, to choose the fastest and to compare with what was promised.

The compiler's count of memory and the roofline of its kernels are promises. Here the pages of the
process are counted, and calls of the versions alternate under the clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...backend.lowered import Executable, Lowered
from ...backend.targets import Target
from ...backend.tuning import free_bytes
from ...errors import UsageError
from ...events.resident import peak_growth
from .clock import GivenArguments, Runnable
from .result import MeasuredRun, Trial

_SECONDS, _MOST_ROUNDS, _LEAST_ROUNDS = 10.0, 40, 5
"""The time for timing, and the calls of each version in it."""


def require_measurable(target: Target) -> None:
    """Check that programs for a target can be measured.

    Raises:
        UsageError: only those for this machine's CPU can.
    """
    if target.kind != "cpu":
        raise UsageError(
            f"measure: expected the target cpu, which is run on this machine; found {target.name}, "
            "whose peak and time are its compiler's: leave measure out"
        )


@dataclass(frozen=True)
class Measurement:
    """Runs versions of a program on this machine.

    Attributes:
        given: the arguments of the program.
    """

    given: GivenArguments

    def runs(
        self, trials: Sequence[Trial], rewritten: Callable[[Trial], Lowered]
    ) -> list[MeasuredRun | None]:
        """What versions needed, whose calls alternate under the clock.

        Args:
            trials: the versions.
            rewritten: the program after the passes of a version.

        Returns:
            For each version; None if it needs more than the free memory of this machine.

        Raises:
            JxcError: a version cannot run here.
        """
        free = free_bytes()
        small = [i for i, each in enumerate(trials) if free is None or each.needed <= free]
        found: list[MeasuredRun | None] = [None] * len(trials)
        if not small:
            return found
        given = self.given.arrays
        versions = [_Version(rewritten(trials[i]).compile(), given) for i in small]
        for i, version, seconds in zip(small, versions, _interleaved(versions), strict=True):
            found[i] = MeasuredRun(version.peak(trials[i]), statistics.median(seconds))
        return found


class _Version(Runnable):
    """A version that runs here, whose memory is counted as well."""

    def __init__(self, program: Executable, given: Any) -> None:
        super().__init__(program.compiled, given)
        self.program = program

    def peak(self, trial: Trial) -> int | None:
        """The bytes of one device; what is there before a call counts as the compiler counts it."""
        growth = peak_growth(self.call)
        if growth is None:
            return None
        sizes = self.program.memory()
        promised = sizes["output"] + sizes["temp"] - sizes["alias"]
        promised += trial.compiled.scratch_bytes if trial.compiled else 0
        devices = len(self.program.compiled.runtime_executable().local_devices())
        return trial.needed - promised + growth // devices


def _interleaved(versions: Sequence[_Version]) -> list[list[float]]:
    """Seconds of calls of each version, which alternate; the first calls are not timed."""
    first = sum(version.seconds() + version.seconds() for version in versions) / 2
    rounds = min(_MOST_ROUNDS, max(_LEAST_ROUNDS, round(_SECONDS / first)))
    pairs = [[version.seconds() for version in versions] for _ in range(rounds)]
    return [list(each) for each in zip(*pairs, strict=True)]

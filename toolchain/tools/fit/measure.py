"""Runs versions of a program here, to choose the fastest and to compare with what was promised.

The compiler's count of memory and the roofline of its kernels are promises. Here the pages of the
process are counted, and calls of the versions alternate under the clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import jax

from ...backend.lowered import Executable, Lowered
from ...backend.targets import Target
from ...backend.tuning import free_bytes
from ...check.fill import fill
from ...errors import UsageError
from ...events.resident import peak_growth
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
        lowered: the program.
        args, kwargs: of the program; leaves without a value, or all where the program has static
            arguments, are random.
    """

    lowered: Lowered
    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

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
        given = _arguments(self.lowered, self.args, dict(self.kwargs))
        versions = [_Version(rewritten(trials[i]).compile(), given) for i in small]
        for i, version, seconds in zip(small, versions, _interleaved(versions), strict=True):
            found[i] = MeasuredRun(version.peak(trials[i]), statistics.median(seconds))
        return found


def _arguments(lowered: Lowered, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Arrays for the arguments of a program."""
    info = lowered.jax_lowered.args_info
    types = jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info)
    given = (tuple(args), kwargs)
    is_whole = jax.tree.structure(given) == jax.tree.structure(types)
    return fill(given if is_whole else types, "random")


@dataclass
class _Version:
    """A version that runs here.

    Attributes:
        program: the executable.
        given: its arguments, which are not donated: each call takes copies where the program does.
    """

    program: Executable
    given: Any

    def __post_init__(self) -> None:
        self.given = jax.device_put(self.given, self.program.compiled.input_shardings)

    def call(self) -> Callable[[], object]:
        """A call that is ready to run."""
        args, kwargs = self.given
        if any(each.donated for each in jax.tree.leaves(self.program.compiled.args_info)):
            args, kwargs = jax.block_until_ready(jax.tree.map(jax.numpy.copy, self.given))
        return lambda: self.program(*args, **kwargs)

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
    first = sum(_timed(version) + _timed(version) for version in versions) / 2
    rounds = min(_MOST_ROUNDS, max(_LEAST_ROUNDS, round(_SECONDS / first)))
    pairs = [[_timed(version) for version in versions] for _ in range(rounds)]
    return [list(each) for each in zip(*pairs, strict=True)]


def _timed(version: _Version) -> float:
    call = version.call()
    start = perf_counter()
    jax.block_until_ready(call())
    return perf_counter() - start

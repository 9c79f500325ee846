"""Runs the chosen version and the program without a plan here, to compare with what was promised.

The compiler's count of memory and jxc's prices are promises. Here the pages of the process are
counted, and calls of both versions alternate under the clock.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import jax

from ...backend.lowered import Executable, Lowered
from ...backend.targets import Target
from ...backend.tuning import free_bytes
from ...check.fill import fill
from ...errors import JxcError, UsageError
from ...events.resident import peak_growth
from ...units import show_bytes
from .result import FitResult, MeasuredRun, Trial

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


def with_measurements(
    found: FitResult,
    lowered: Lowered,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    pipeline: str = "O2",
    assume: str | Sequence[str] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> FitResult:
    """The result of a search, with the measured peak and time of two versions.

    Args:
        found: for this machine's CPU.
        lowered: the program.
        args, kwargs: of the program; leaves without a value, or all where the program has static
            arguments, are random.
        pipeline: the passes after the plan.
        assume: promises such as "no-nans".
        tell: called with what is being done.

    Raises:
        JxcError: it does not fit into the free memory of this machine, or cannot run here.
    """
    chosen = [found.chosen] if found.plan and found.chosen else []
    trials = [found.base, *chosen]
    _require_free(max(trial.needed for trial in trials))
    given = _arguments(lowered, args, dict(kwargs or {}))
    versions = []
    for trial in trials:
        tell(f"compiling to run here: {trial.name}")
        made = _after_plan(lowered, found if trial in chosen else None, pipeline, assume)
        versions.append(_Version(made.compile(), given))
    tell("measuring memory and time")
    seconds = _interleaved(versions)
    measured = {}
    for trial, version, each in zip(trials, versions, seconds, strict=True):
        run = MeasuredRun(version.peak(trial), statistics.median(each))
        measured[id(trial)] = replace(trial, measured=run)

    def new(trial: Trial) -> Trial:
        return measured.get(id(trial), trial)

    return replace(
        found,
        base=new(found.base),
        trials=tuple(map(new, found.trials)),
        chosen=new(found.chosen) if found.chosen else None,
    )


def _require_free(needed: int) -> None:
    free = free_bytes()
    if free is not None and needed > free:
        raise JxcError(
            f"measure: one version needs {show_bytes(needed)}, and {show_bytes(free)} of this "
            "machine's memory are free: leave measure out, or take smaller arguments"
        )


def _after_plan(
    lowered: Lowered, found: FitResult | None, pipeline: str, assume: str | Sequence[str]
) -> Lowered:
    if found is None:
        return lowered.opt(pipeline, target="cpu", assume=assume)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        found.save(path)
        return lowered.opt(str(path), target="cpu", assume=assume)


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

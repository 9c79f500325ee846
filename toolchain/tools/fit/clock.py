"""Times versions of a program on this machine's CPU, right after they are compiled.

XLA:CPU estimates no times. A roofline is a lower bound, which some kernels miss by a factor of 30.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import jax

from ...backend.artifacts.loading import callable_here
from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...backend.tuning import free_bytes, why_not
from ...check.fill import fill
from ...compiled.program import Compiled
from ...errors import JxcError
from ...ir.module import callbacks_in

_MOST_CALLS, _SECONDS = 9, 1.0
"""The most calls that are timed, and after how many seconds no other is started."""

_LONGEST = 2.0
"""Versions that take more seconds by their roofline are not run."""

_BYTES = 2
"""A version is run if so many times its bytes are free."""


@dataclass
class Runnable:
    """A version that runs here.

    Attributes:
        compiled: the executable.
        given: its arguments, which are not donated: each call takes copies where the program does.
    """

    compiled: jax.stages.Compiled
    given: Any

    def __post_init__(self) -> None:
        self.given = jax.device_put(self.given, self.compiled.input_shardings)

    def call(self) -> Callable[[], object]:
        """A call that is ready to run."""
        args, kwargs = self.given
        if any(each.donated for each in jax.tree.leaves(self.compiled.args_info)):
            args, kwargs = jax.block_until_ready(jax.tree.map(jax.numpy.copy, self.given))
        return lambda: self.compiled(*args, **kwargs)

    def seconds(self) -> float:
        """The seconds of one call."""
        call = self.call()
        start = perf_counter()
        jax.block_until_ready(call())
        return perf_counter() - start


@dataclass(frozen=True)
class GivenArguments:
    """The arguments with which all versions of a program run.

    Attributes:
        lowered: the program.
        args, kwargs: its arguments; leaves without a value, or all where the program has static
            arguments, are random.
    """

    lowered: Lowered
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @cached_property
    def arrays(self) -> Any:
        """Arrays for the positional arguments, and for those by name."""
        info = self.lowered.jax_lowered.args_info
        types = jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info)
        given = (tuple(self.args), dict(self.kwargs))
        is_whole = jax.tree.structure(given) == jax.tree.structure(types)
        return fill(given if is_whole else types, "random")


@dataclass(frozen=True)
class Clock:
    """Times versions of one program.

    Attributes:
        given: its arguments.
    """

    given: GivenArguments

    def seconds(self, lowered: Lowered, found: Compiled) -> float | None:
        """The median seconds of a few calls.

        Returns:
            None if the version cannot run here, or might take much of the memory or time of this
            machine.
        """
        free = free_bytes()
        if free is not None and _BYTES * found.memory.peak > free:
            return None
        if found.roofline_seconds > _LONGEST or any(each.assumed for each in found.kernels):
            return None
        with suppress(JxcError, TypeError, ValueError):
            program = callable_here(lowered, found.build)
            return self._timed(Runnable(program, self.given.arrays))
        return None

    def _timed(self, version: Runnable) -> float:
        first = version.seconds()
        if first > _SECONDS:
            return first
        start, times = perf_counter(), [version.seconds()]
        while len(times) < _MOST_CALLS and perf_counter() - start < _SECONDS:
            times.append(version.seconds())
        return statistics.median(times)


def clock_of(given: GivenArguments, target: Target) -> Clock | None:
    """A clock for a program; None if it is not for this machine's CPU, or must not run twice."""
    lowered = given.lowered
    if target.kind != "cpu" or not target.is_present or lowered.mesh:
        return None
    backend = jax.local_devices(backend="cpu")[0].client
    why = why_not(lowered.module, list(callbacks_in(lowered.module)), backend)
    return None if why else Clock(given)

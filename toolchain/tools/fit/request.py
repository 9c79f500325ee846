"""What `jxc fit` searches for, and what the target's compiler says of one version of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...compiled.program import Compiled, Refused, compile_module
from ...errors import JxcError
from .clock import Clock

_SHOWN = 6
"""The buffers that are shown of a program that does not fit."""


@dataclass(frozen=True)
class FitRequest:
    """A program, and what is searched for.

    Attributes:
        lowered: the program, lowered for the target's platform.
        target: the hardware.
        budget: bytes of one device that the program may need.
        pipeline: the passes that run after those that are found, as text.
        assume: promises such as "no-nans".
        deadline: no further version is compiled after it, by `perf_counter`.
        tell: called with what is being done.
        exact: whether the batch may not be split, which sums in another order.
        batch: the arguments that have the batch, as for `microbatch`; found if empty.
    """

    lowered: Lowered
    target: Target
    budget: int
    pipeline: str
    assume: str | Sequence[str]
    deadline: float
    tell: Callable[[str], None]
    exact: bool = False
    batch: str = ""

    def after(self, pipeline: str) -> Lowered:
        """The program after a pipeline."""
        return self.lowered.opt(pipeline, target=self.target.name, assume=self.assume)


def request_of(
    lowered: Lowered,
    target: Target,
    budget: int,
    pipeline: str,
    assume: str | Sequence[str],
    seconds: float,
    tell: Callable[[str], None],
    exact: bool = False,
    batch: str = "",
) -> FitRequest:
    """A request that ends after so many seconds; the program is lowered again for the target."""
    deadline = perf_counter() + seconds
    here = lowered if lowered.platform == target.platform else lowered.for_target(target.name)
    return FitRequest(here, target, budget, pipeline, assume, deadline, tell, exact, batch)


@dataclass(frozen=True)
class CompiledVersion:
    """What the target's compiler said of one version of a program.

    Attributes:
        needed: bytes of one device; 0 if it refused the version without a number.
        computation_seconds: of a run, estimated from its numbers, with the time in which a CPU's
            system maps pages; None if it refused the version.
        waiting_seconds: how long a device waits for others.
        largest: descriptions of the largest buffers at the peak.
        compile_seconds: how long it took.
        order: a note on the order of the devices; empty if it is that of `jax.make_mesh`.
        assumed: whether a loop of unknown trip count is taken to run once in these times.
        host_seconds: how long it waits for copies to and from its host.
        scratch_bytes: of `needed`, those that the libraries of XLA:CPU take, which no
            buffer has.
        rematerialized: how many instructions compute values again, which the compiler added to
            save memory.
        timed_seconds: of a run on this machine; None if it did not run.
    """

    needed: int
    computation_seconds: float | None = None
    waiting_seconds: float = 0.0
    largest: tuple[str, ...] = ()
    compile_seconds: float = 0.0
    order: str = ""
    assumed: bool = False
    host_seconds: float = 0.0
    scratch_bytes: int = 0
    rematerialized: int = 0
    timed_seconds: float | None = None

    @property
    def seconds(self) -> float | None:
        """The time of a run by these numbers; None if the compiler refused the version."""
        known = self.computation_seconds
        return None if known is None else known + self.waiting_seconds + self.host_seconds


def compile_version(lowered: Lowered, target: Target, mesh: Mapping[str, int]) -> CompiledVersion:
    """Compile one version of a program.

    Args:
        lowered: the version, after its passes.
        target: the hardware.
        mesh: the sizes of its axes; empty for one device.

    Raises:
        JxcError: the compiler refused it for another reason than its memory.
    """
    return version_of(compile_module(lowered.module, target, {}, mesh), lowered, target)


def version_of(
    found: Compiled | Refused, lowered: Lowered, target: Target, clock: Clock | None = None
) -> CompiledVersion:
    """What the compiler said of one version of a program.

    Args:
        found: its output.
        lowered: the version, after its passes.
        target: the hardware.
        clock: times it on this machine.

    Raises:
        JxcError: the compiler refused it for another reason than its memory.
    """
    if isinstance(found, Refused):
        if found.fit is None:
            raise JxcError(f"{target.name} refused the program: {found.message}")
        return CompiledVersion(found.fit.needed, largest=tuple(map(str, found.fit.largest)))
    step = found.step
    return CompiledVersion(
        found.fit.needed,
        step.computation_seconds + found.mapping_seconds,
        step.exposed_seconds,
        tuple(map(str, found.memory.buffers[:_SHOWN])),
        found.build.seconds,
        found.build.order,
        any(kernel.assumed for kernel in found.kernels),
        step.host_seconds,
        found.scratch_bytes,
        found.rematerialized,
        clock.seconds(lowered, found) if clock else None,
    )

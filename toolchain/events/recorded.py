"""What recording a program leaves, which imports neither jax nor numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..source import SourceLine
from .sampler import Sample

if TYPE_CHECKING:
    from .runs import Trace


class CompileSpan(NamedTuple):
    """Time in which JAX traced, lowered or compiled, in nanoseconds since 1970."""

    start: int
    end: int


class Recorded(NamedTuple):
    """What a run of a program left.

    Attributes:
        name: of the program.
        started, ended: nanoseconds since 1970.
        trace: the events; times are since `trace.started`.
        samples: of Python's stack, in order.
        compiling: when JAX traced, lowered or compiled.
        called: the user's line of each compiled module by its name; None for several lines.
        compiled: how many programs were compiled.
        notes: for the user.
        lowered: the module that a program was lowered to, by its name and its optimized HLO; None
            if it is not known.
    """

    name: str
    started: int
    ended: int
    trace: Trace
    samples: Sequence[Sample]
    compiling: Sequence[CompileSpan]
    called: Mapping[str, SourceLine | None]
    compiled: int
    notes: Sequence[str] = ()
    lowered: Callable[[str, str], Any] = lambda name, hlo: None

"""The figures of two programs side by side: ops, and what the compiler of a target made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..report.report import Compiled, Refused

Unit = Literal["", "bytes", "flops", "seconds"]


@dataclass(frozen=True)
class Figure:
    """A number of each program.

    Attributes:
        name: in `--json`.
        label: for people.
        unit: of both.
        before, after: None where it is not known.
    """

    name: str
    label: str
    unit: Unit
    before: float | None
    after: float | None

    @property
    def differs(self) -> bool:
        """Whether it tells that the programs differ.

        Seconds always differ; ops are compared one by one; what is known of one alone says nothing.
        """
        if self.unit == "seconds" or self.name == "ops":
            return False
        return self.before is not None and self.after is not None and self.before != self.after

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {"unit": self.unit, "before": self.before, "after": self.after}


def figures_of(
    ops: tuple[int, int], one: Compiled | Refused | None, other: Compiled | Refused | None
) -> list[Figure]:
    """The figures of two programs.

    Args:
        ops: how many each has, calls followed.
        one, other: what a compiler made of each; None where none was asked.
    """
    found = [Figure("ops", "ops", "", *ops)]
    if one is None and other is None:
        return found
    for name, label, unit, read in _ROWS:
        figure = Figure(name, label, unit, _read(read, one), _read(read, other))
        if figure.before is not None or figure.after is not None:
            found.append(figure)
    return found


_Read = Callable[["Compiled"], float | None]


def _read(read: _Read, side: Compiled | Refused | None) -> float | None:
    from ..report.report import Compiled

    return read(side) if isinstance(side, Compiled) else None


def _fusions(compiled: Compiled) -> int:
    computations = compiled.module.computations.values()
    return sum(each.opcode == "fusion" for c in computations for each in c.instructions)


def _has_memory(compiled: Compiled) -> bool:
    """An optimised text alone says nothing of where its values lie."""
    return bool(compiled.build.memory or compiled.build.buffer_assignment)


def _memory(name: str) -> _Read:
    return lambda c: getattr(c.memory, name) if _has_memory(c) else None


_ROWS: Sequence[tuple[str, str, Unit, _Read]] = (
    ("fusions", "fusions", "", _fusions),
    ("kernels", "kernels", "", lambda c: c.totals.launches),
    ("flops", "flops", "flops", lambda c: c.totals.flops),
    ("bytes_moved", "bytes moved", "bytes", lambda c: c.totals.bytes_in + c.totals.bytes_out),
    ("peak_bytes", "memory at peak", "bytes", _memory("peak")),
    ("argument_bytes", "  arguments", "bytes", _memory("arguments")),
    ("output_bytes", "  outputs", "bytes", _memory("outputs")),
    ("temporary_bytes", "  temporaries", "bytes", _memory("temporaries")),
    ("collectives", "collectives", "", lambda c: sum(e.times for e in c.collectives)),
    (
        "collective_bytes",
        "  their bytes",
        "bytes",
        lambda c: sum(e.payload * e.times for e in c.collectives),
    ),
    ("roofline_seconds", "time, roofline", "seconds", lambda c: c.roofline_seconds),
    ("estimated_seconds", "  by the compiler", "seconds", lambda c: c.estimated_seconds),
    ("compile_seconds", "XLA", "seconds", lambda c: c.build.seconds or None),
)

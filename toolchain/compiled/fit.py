"""Whether a program fits into a device's memory, and how to make it smaller.

The verdict comes from the measured memory (`fits`), or from the compiler's error message if it
refused the program (`parse_out_of_memory`). Only the TPU compiler does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..cost.device import Device
from ..ir.locations import primitive_of
from ..units import show_bytes
from .memory import Buffer, Memory

_SHOWN = 3  # buffers named in a piece of advice
_SMALL = 0.01  # of the needed memory: smaller savings are not advised
_GPU_SHARE = 0.75  # of a GPU's memory, what JAX takes unless XLA_PYTHON_CLIENT_MEM_FRACTION is set
_UNITS = {"": 1, "B": 1} | {unit: 1024 ** (i + 1) for i, unit in enumerate("KMGT")}
_SIZE = r"([\d.]+)([BKMGT]?)"
_TOTAL = re.compile(rf"HLO temporaries \({_SIZE}\) exceeds available HBM \({_SIZE}\)")
_USED = re.compile(rf"memory space hbm\. +Used {_SIZE} of {_SIZE} hbm")
_EXCESS = re.compile(rf"Exceeded hbm capacity by {_SIZE}")
_ALLOCATING = re.compile(r"Out of memory (?:while trying to allocate|allocating) (\d+) bytes")


@dataclass(frozen=True)
class Fit:
    """Whether a program fits into the memory of a device.

    Attributes:
        needed: bytes of one device that the program needs.
        available: bytes that the device has; 0 if that is not known.
        largest: descriptions of the largest allocations.
        advice: ways to need less memory, a sentence each.
    """

    needed: int
    available: int
    largest: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether the program fits; None if the device's memory is not known."""
        return self.needed <= self.available if self.available else None

    @property
    def rest(self) -> int:
        """Bytes that stay free; negative if the program does not fit."""
        return self.available - self.needed

    def __str__(self) -> str:
        verdict = "does not fit: " if self.fits is False else "fits: " if self.fits else ""
        if not self.available:
            return f"{verdict}needs {show_bytes(self.needed)}; the device's memory is not known"
        of = f"{show_bytes(self.needed)} of {show_bytes(self.available)}"
        if self.fits:
            return f"{verdict}{of}, {show_bytes(self.rest)} free"
        excess = f", {show_bytes(-self.rest)} too much" if self.rest < 0 else ""
        return f"{verdict}needs {of}{excess}"

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "fits": self.fits,
            "needed_bytes": self.needed,
            "available_bytes": self.available or None,
            "rest_bytes": self.rest if self.available else None,
            "largest": list(self.largest),
            "advice": list(self.advice),
        }


class Refusal(Fit):
    """The verdict when the compiler refused the program: it does not fit."""

    @property
    def fits(self) -> bool | None:
        """False. The compiler's numbers are rounded to three digits, and may look equal."""
        return False


def parse_out_of_memory(message: str) -> Refusal | None:
    """The verdict in a compiler's error message; None if it is about something else.

    XLA's TPU compiler refuses a program that does not fit into a device's main memory ("E1000:
    CompileTimeHbmOom"). Its GPU and CPU compilers never refuse; the message of an allocation that
    fails at run time is parsed too. The largest allocations are those of the dumps, see `fits`.

    Args:
        message: the text of the exception.
    """
    found = _USED.search(message) or _TOTAL.search(message)
    if found is None:
        failed = _ALLOCATING.search(message)
        return Refusal(int(failed[1]), 0) if failed else None
    needed, available = _size(found[1], found[2]), _size(found[3], found[4])
    excess = _EXCESS.search(message)  # more precise: three digits of a smaller number
    needed = available + _size(excess[1], excess[2]) if excess else needed
    return Refusal(needed, available)


def _size(number: str, unit: str) -> int:
    return round(float(number) * float(_UNITS[unit]))


# -- the measured memory --------------------------------------------------------------------------


def fits(memory: Memory, device: Device, refused: Refusal | None = None, scratch: int = 0) -> Fit:
    """Whether a program fits into a device's main memory, with advice if it does not.

    Args:
        memory: of the program.
        device: the device.
        refused: the compiler's verdict, if it refused the program. `memory` is then incomplete, so
            the larger number counts.
        scratch: bytes that libraries take besides, which no buffer has.
    """
    largest = tuple(map(str, memory.buffers[:_SHOWN]))
    if refused is not None:
        needed, available = max(memory.needed, refused.needed), refused.available
        return Refusal(needed, available or device.memory_bytes, largest, tuple(_savings(memory)))
    advice: Iterable[str] = ()
    needed, share = memory.needed + scratch, _GPU_SHARE * device.memory_bytes
    if 0 < device.memory_bytes < needed:
        advice = _savings(memory)
    elif device.kind == "gpu" and needed > share > 0:
        advice = [
            f"JAX takes only {_GPU_SHARE:.0%} of a GPU's memory by default, {show_bytes(share)}: "
            "set XLA_PYTHON_CLIENT_MEM_FRACTION"
        ]
    return Fit(needed, device.memory_bytes, largest, tuple(advice))


def _savings(memory: Memory) -> Iterator[str]:
    """Advice on how to need less memory, a sentence each."""
    small = memory.needed * _SMALL
    temporaries = [b for b in memory.buffers if b.kind == "temporary" and b.bytes > small]
    if temporaries:
        short = [replace(each, name=primitive_of(each.name)) for each in temporaries[:_SHOWN]]
        named = "; ".join(map(str, short))
        yield f"the largest temporaries at the peak: {named}"
    saved = [each for each in temporaries if "jvp(" in each.name and "transpose(" not in each.name]
    if saved:
        size = show_bytes(sum(each.bytes for each in saved))
        yield (
            f"{size} of temporaries are kept for the gradient: `jxc fit` with the same arguments "
            "finds which of them to compute again"
        )
    donable = _donable(memory.buffers)
    if donable > small:
        yield f"donating arguments (donate_argnums) may save up to {show_bytes(donable)}"


def _donable(buffers: Iterable[Buffer]) -> int:
    """Bytes of outputs that would fit into arguments of the same shape that are not donated."""
    of: dict[str, Counter[tuple[str, int]]] = {"argument": Counter(), "output": Counter()}
    for each in buffers:
        if each.kind in of and not each.is_donated:
            of[each.kind][each.shape, each.bytes] += 1
    both = of["argument"] & of["output"]
    return sum(size * count for (_, size), count in both.items())

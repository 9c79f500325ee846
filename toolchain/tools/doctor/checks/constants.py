"""Arrays that became part of the program instead of being passed to it."""

from __future__ import annotations

from collections.abc import Iterator

from ....units import show_bytes
from ..finding import Cost, Finding
from ..program import Program
from ..registry import check
from ..thresholds import LEAST_BYTES


@check
def captured_constants(program: Program) -> Iterator[Finding]:
    """Arrays of 1 MiB and more that the function captured instead of taking them as arguments.

    Each is written into the module and into every executable made of it, is compiled again when it
    is another array, and may be folded by XLA for seconds.
    """
    for constant in program.constants:
        if constant.nbytes < LEAST_BYTES:
            continue
        owner = f", {constant.name}," if constant.name else ""
        yield Finding(
            constant.place or program.defined,
            f"a captured {constant}{owner} of {show_bytes(constant.nbytes)} becomes part of the "
            "module",
            "Pass it as an argument, so that one copy serves every call; or compute it with jnp "
            "inside the function.",
            Cost(bytes=constant.nbytes, how="in each executable"),
        )

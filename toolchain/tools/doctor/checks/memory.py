"""Whether a program fits into the memory of its target."""

from __future__ import annotations

from collections.abc import Iterator

from ....units import show_bytes
from ..finding import Finding, FindingCost, memory_check
from ..program import ExaminedProgram


@memory_check
def exceeds_memory(program: ExaminedProgram) -> Iterator[Finding]:
    """Programs that need more memory than a device of the target has.

    Compilers for CPUs and GPUs make such a program, which then fails when it runs.
    """
    fit = program.fit
    if fit is None or fit.fits is not False:
        return
    advice = fit.advice or ("split it over several devices, or take smaller arguments",)
    yield Finding(
        program.defined,
        f"the program {fit}",
        "".join(f"{text[0].upper()}{text[1:]}. " for text in advice).rstrip(),
        FindingCost(bytes=-fit.rest, how=f"of {show_bytes(fit.needed)}"),
    )

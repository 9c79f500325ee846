"""The stages by name, and which target has which. Importing this imports neither jax nor MLIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import UsageError, did_you_mean
from ..targets import Target

STAGES: Mapping[str, str] = {
    "jaxpr": "0-jaxpr.txt",
    "stablehlo": "1-stablehlo.mlir",
    "hlo-before": "2-hlo-before.txt",
    "hlo": "3-hlo.txt",
    "hlo-proto": "4-hlo.pb",
    "llvm": "5-llvm.ll",
    "asm": "6-asm.s",
    "ptx": "7-ptx.ptx",
    "buffer-assignment": "8-buffer-assignment.txt",
    "executable": "9-executable.bin",
    "cost": "cost.json",
    "memory": "memory.json",
}
"""Every stage in order, and the file that holds it."""

UNCOMPILED = ("jaxpr", "stablehlo", "hlo-before")
"""The stages that need no compiler."""

BINARY = ("hlo-proto", "executable")

_OWN = {"llvm": ("cpu", "gpu"), "asm": ("cpu",), "ptx": ("gpu",)}


def check_stages(stages: Sequence[str], target: Target) -> None:
    """See that a target has all the stages.

    Raises:
        UsageError: it has not, or there is no such stage; the message says which there are.
    """
    for stage in stages:
        if stage not in STAGES:
            raise UsageError(
                f"--emit {stage}: expected one of {', '.join(STAGES)}, or several separated by "
                f"commas.{did_you_mean(stage, list(STAGES))}"
            )
        if target.kind not in _OWN.get(stage, (target.kind,)):
            has = [name for name in STAGES if target.kind in _OWN.get(name, (target.kind,))]
            raise UsageError(
                f"--emit {stage}: the compiler of {target.name} has no such stage; it has "
                f"{', '.join(has)}"
            )

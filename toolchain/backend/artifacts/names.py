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


def stages_of(stages: Sequence[str], target: Target) -> list[str]:
    """Those of `stages` that a target has.

    Raises:
        UsageError: it has none of them, or there is no such stage; the message says which there
            are.
    """
    for stage in stages:
        if stage not in STAGES:
            raise UsageError(
                f"--emit {stage}: expected one of {', '.join(STAGES)}, or several separated by "
                f"commas.{did_you_mean(stage, list(STAGES))}"
            )
    found = [stage for stage in stages if _has(target, stage)]
    if stages and not found:
        raise UsageError(
            f"--emit {','.join(stages)}: the compiler of {target.name} has no such stage; it has "
            f"{', '.join(stage for stage in STAGES if _has(target, stage))}"
        )
    return found


def _has(target: Target, stage: str) -> bool:
    return target.kind in _OWN.get(stage, (target.kind,))

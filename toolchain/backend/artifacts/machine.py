"""The processor that XLA:CPU compiles for: code for one may not run on another."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .header import ArtifactError

_INSTRUCTIONS = (
    *("abm", "adx", "aes", "amx", "avx", "bmi", "f16c", "fma", "gfni", "lzcnt", "movbe", "pclmul"),
    *("popcnt", "sha", "sse", "ssse", "vaes", "vpclmul", "xop"),
    *("asimd", "bf16", "crc32", "dotprod", "fp", "i8mm", "neon", "sm3", "sm4", "sme", "sve"),
)
"""How the names of features begin that add instructions, of x86 and of ARM."""


def this_machine() -> dict[str, Any]:
    """The architecture, and the features that the operating system tells of."""
    return {"architecture": platform.machine(), "features": sorted(_features())}


def check_machine(machine: Mapping[str, Any], path: object) -> None:
    """See that code for that machine runs on this one.

    Raises:
        ArtifactError: this one is of another architecture, or lacks a feature of that one.
    """
    here = this_machine()
    if machine.get("architecture") != here["architecture"]:
        raise ArtifactError(
            f"{path} was compiled for a CPU of architecture {machine.get('architecture')}, and "
            f"this is {here['architecture']}: save it again here"
        )
    if missing := sorted(set(machine.get("features", ())) - set(here["features"])):
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise ArtifactError(
            f"{path} was compiled for a CPU with features that this one lacks: "
            f"{', '.join(missing[:8])}{more}; save it again here"
        )


def _features() -> set[str]:
    """Of Linux; nothing elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return {word for word in value.split() if word.startswith(_INSTRUCTIONS)}
    return set()

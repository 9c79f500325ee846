"""What compiling leaves behind: stages as files, executables that another process can load.

    from jxc.backend.artifacts import load, save

    save(jxc.lower(step, x).opt().compile(), "step.jxc")
    step = load("step.jxc")  # in another process

Importing this imports neither jax nor MLIR; each name does so on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compile_here import compile_with
    from .header import ArtifactError, Header, read_header
    from .hlo_pass import HloPass, compile_through, find_hlo_pass
    from .loading import Loaded, load
    from .names import STAGES, stages_of
    from .resume import Optimised, lowered_from_hlo
    from .saving import save
    from .stages import Artifact, emit
    from .xla_passes import PassRun, XlaPasses, trace_passes

__all__ = [
    "STAGES",
    "Artifact",
    "ArtifactError",
    "Header",
    "HloPass",
    "Loaded",
    "Optimised",
    "PassRun",
    "XlaPasses",
    "compile_through",
    "compile_with",
    "emit",
    "find_hlo_pass",
    "load",
    "lowered_from_hlo",
    "read_header",
    "save",
    "stages_of",
    "trace_passes",
]

_HOME = {
    "STAGES": "names",
    "Artifact": "stages",
    "ArtifactError": "header",
    "Header": "header",
    "HloPass": "hlo_pass",
    "Loaded": "loading",
    "Optimised": "resume",
    "PassRun": "xla_passes",
    "XlaPasses": "xla_passes",
    "compile_through": "hlo_pass",
    "compile_with": "compile_here",
    "emit": "stages",
    "find_hlo_pass": "hlo_pass",
    "load": "loading",
    "lowered_from_hlo": "resume",
    "read_header": "header",
    "save": "saving",
    "stages_of": "names",
    "trace_passes": "xla_passes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""What compiling leaves behind: stages as files, executables that another process can load.

jxc.backend.artifacts.save(jxc.lower(step, x).opt().compile(), "step.jxc")
step = jxc.backend.artifacts.load("step.jxc")  # in another process
"""

from __future__ import annotations

from .header import ArtifactError, Header, read_header
from .hlo_pass import HloPass, compile_through, find_hlo_pass
from .load import Loaded, load
from .resume import lowered_from_hlo
from .save import save
from .stages import STAGES, Artifact, emit

__all__ = [
    "STAGES",
    "Artifact",
    "ArtifactError",
    "Header",
    "HloPass",
    "Loaded",
    "compile_through",
    "emit",
    "find_hlo_pass",
    "load",
    "lowered_from_hlo",
    "read_header",
    "save",
]

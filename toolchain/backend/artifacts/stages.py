"""The forms that a program goes through, each as one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ...errors import JxcError, UsageError
from ...ir.hlo import write_hlo
from ...ir.io import hlo_of_module
from ..lowered import CrossExecutable, Lowered
from ..targets import Target
from ..targets.build import Build, build
from .disassemble import disassemble
from .names import STAGES, UNCOMPILED, stages_of
from .resume import Optimised

_FILES = {"llvm": "*.ir-with-opt.ll", "asm": "*.o", "ptx": "*.ptx"}


@dataclass(frozen=True)
class Artifact:
    """One stage of one program.

    Attributes:
        stage: a key of `STAGES`.
        data: what goes into its file.
    """

    stage: str
    data: str | bytes

    @property
    def file(self) -> str:
        """What its file is called, so that a folder lists the stages in order."""
        return STAGES[self.stage]


def emit(
    lowered: Lowered,
    stages: Sequence[str],
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    whole_constants: bool = False,
) -> list[Artifact]:
    """The stages of a program, compiled for a target where one of them needs it.

    Args:
        lowered: the program, lowered for that target's platform, after our passes.
        stages: keys of `STAGES`.
        target: what for; its compiler must be here where a stage is XLA's.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.
        whole_constants: write large constants out in HLO, so that it can be compiled again.

    Returns:
        The artifacts in the order of `STAGES`, each once.

    Raises:
        UsageError: the target has no such stage, or the program has none.
        MissingTargetError, JxcError: as `build`.
    """
    stages = stages_of(stages, target)
    wanted = [stage for stage in STAGES if stage in stages]
    made: Build | None = None
    if not set(wanted) <= set(UNCOMPILED):
        made = build(
            lowered.module,
            target,
            xla_options={**_dumping(wanted), **(xla_options or {})},
            files=[_FILES[stage] for stage in wanted if stage in _FILES],
            whole_constants=whole_constants,
            hlo_pass=hlo_pass,
            optimised=lowered.proto if isinstance(lowered, Optimised) else None,
        )
    return [Artifact(stage, _form(stage, lowered, made, whole_constants)) for stage in wanted]


def _dumping(stages: Sequence[str]) -> dict[str, Any]:
    """What the newer line wants to be told before it writes what its emitters made."""
    is_newer = jax.__version_info__ >= (0, 11)
    return {"xla_dump_emitter_re": ".*"} if "llvm" in stages and is_newer else {}


def _form(stage: str, lowered: Lowered, made: Build | None, whole_constants: bool) -> str | bytes:
    if isinstance(lowered, Optimised) and stage in UNCOMPILED:
        raise UsageError(f"--emit {stage}: optimised HLO is past that stage")
    if stage == "jaxpr":
        return _jaxpr(lowered)
    if stage == "stablehlo":
        return lowered.as_text("stablehlo", debug_info=whole_constants)
    if stage == "hlo-before" and (made is None or whole_constants):
        return write_hlo(hlo_of_module(lowered.module))
    assert made is not None, "a stage of XLA's was asked for"
    return _of_build(stage, made, lowered)


def _of_build(stage: str, made: Build, lowered: Lowered) -> str | bytes:
    match stage:
        case "hlo-before":
            return made.hlo_before
        case "hlo":
            return made.hlo
        case "hlo-proto":
            return made.hlo_proto
        case "buffer-assignment":
            return _said(made.buffer_assignment, stage, made)
        case "executable":
            return _said(made.executable, stage, made)
        case "cost" | "memory":
            figures = getattr(CrossExecutable(made, lowered), stage)()
            return json.dumps({"schema_version": 1, stage: figures}, indent=2) + "\n"
    files = {n: raw for n, raw in made.files.items() if n.endswith(_FILES[stage][1:])}
    if not files:
        raise JxcError(
            f"--emit {stage}: XLA made no kernel of its own for this program on "
            f"{made.target.name}: it is library calls and copies alone"
        )
    return disassemble(files) if stage == "asm" else _joined(files)


def _jaxpr(lowered: Lowered) -> str:
    if not lowered.has_jaxpr:
        raise UsageError("a module from a file has no jaxpr: name the function that it was made of")
    return lowered.as_text("jaxpr")


def _said(data: Any, stage: str, made: Build) -> Any:
    if not data:
        raise JxcError(f"--emit {stage}: the compiler of {made.target.name} wrote none")
    return data


def _joined(files: Mapping[str, bytes]) -> str:
    """Text files as one, each under its kernel's name."""
    comment = "//" if all(name.endswith(".ptx") for name in files) else ";"
    texts = (f"{comment} {_kernel(n)}\n{raw.decode(errors='replace')}" for n, raw in files.items())
    return "\n".join(texts)


def _kernel(file: str) -> str:
    """`module_0000.jit_f.KERNEL.ir-with-opt.ll` -> KERNEL."""
    return file.split(".", 2)[-1].removesuffix(".ir-with-opt.ll").removesuffix(".ptx")

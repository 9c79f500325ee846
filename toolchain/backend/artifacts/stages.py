"""The forms that a program goes through on its way to machine code, each as one file.

`jxc compile --emit` writes them. StableHLO and what precedes it come from the program; the rest is
what the target's compiler returned or dumped (`targets.build`). XLA writes machine code as object
files only, so `asm` needs a disassembler. Importing this imports neither jax nor MLIR.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import JxcError, UsageError, did_you_mean
from ..targets import Target

if TYPE_CHECKING:
    from ..lowered import Lowered
    from ..targets.build import Build

Data = TypeVar("Data", str, bytes)

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
"""The stages in order, each with the name of its file."""

UNCOMPILED = ("jaxpr", "stablehlo", "hlo-before")
"""The stages that need no compiler."""

BINARY = ("hlo-proto", "executable")

_KINDS = {"llvm": ("cpu", "gpu"), "asm": ("cpu",), "ptx": ("gpu",)}
"""The kinds of targets that have a stage, where not all have it."""


def stages_of(stages: Sequence[str], target: Target) -> list[str]:
    """The stages in `stages` that a target has.

    Raises:
        UsageError: it has none of them, or there is no such stage; the message lists those there
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
    return target.kind in _KINDS.get(stage, (target.kind,))


_FILES = {"llvm": "*.ir-with-opt.ll", "asm": "*.o", "ptx": "*.ptx"}


@dataclass(frozen=True)
class Artifact:
    """One program at one stage.

    Attributes:
        stage: a key of `STAGES`.
        data: the contents of its file.
    """

    stage: str
    data: str | bytes = field(repr=False)

    @property
    def file(self) -> str:
        """The name of its file; names sort in the order of the stages."""
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
    """A program at several stages, compiled once if one of them needs it.

    Args:
        lowered: the program, lowered for that target's platform, after our passes.
        stages: keys of `STAGES`.
        target: the target; its compiler must be installed if a stage is XLA's.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.
        whole_constants: print large constants in HLO, so that it can be compiled again.

    Returns:
        The artifacts in the order of `STAGES`, each once.

    Raises:
        UsageError: the target has no such stage, or the program has none.
        MissingTargetError, JxcError: as `build`.
    """
    from ..targets.build import build
    from .resume import OptimisedProgram

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
            optimised=lowered.proto if isinstance(lowered, OptimisedProgram) else None,
        )
    return [Artifact(stage, _form(stage, lowered, made, whole_constants)) for stage in wanted]


def _dumping(stages: Sequence[str]) -> dict[str, Any]:
    """The XLA options that jaxlib 0.11 and newer need to dump LLVM IR."""
    is_newer = int(version("jaxlib").split(".")[1]) >= 11
    return {"xla_dump_emitter_re": ".*"} if "llvm" in stages and is_newer else {}


def _form(stage: str, lowered: Lowered, made: Build | None, whole_constants: bool) -> str | bytes:
    from ...ir.hlo import write_hlo
    from ...ir.io import hlo_of_module
    from .resume import OptimisedProgram

    if isinstance(lowered, OptimisedProgram) and stage in UNCOMPILED:
        raise UsageError(f"--emit {stage}: optimised HLO is past that stage")
    if stage == "jaxpr" and not lowered.has_jaxpr:
        raise UsageError("a module from a file has no jaxpr: name the function that it was made of")
    if stage == "jaxpr":
        return lowered.as_text("jaxpr")
    if stage == "stablehlo":
        return lowered.as_text("stablehlo", debug_info=whole_constants)
    if stage == "hlo-before" and (made is None or whole_constants):
        return write_hlo(hlo_of_module(lowered.module))
    assert made is not None, "the other stages are XLA's"
    return _of_build(stage, made, lowered)


def _of_build(stage: str, made: Build, lowered: Lowered) -> str | bytes:
    from ..lowered import CrossExecutable

    match stage:
        case "hlo-before":
            return made.hlo_before
        case "hlo":
            return made.hlo
        case "hlo-proto":
            return made.hlo_proto
        case "buffer-assignment":
            return _required(made.buffer_assignment, stage, made)
        case "executable":
            return _required(made.executable, stage, made)
        case "cost" | "memory":
            numbers = getattr(CrossExecutable(made, lowered), stage)()
            return json.dumps({"schema_version": 1, stage: numbers}, indent=2) + "\n"
    files = {n: raw for n, raw in made.files.items() if n.endswith(_FILES[stage][1:])}
    if not files:
        raise JxcError(
            f"--emit {stage}: XLA generated no kernel for this program on "
            f"{made.target.name}: it consists of library calls and copies"
        )
    return disassemble(files) if stage == "asm" else _joined(files)


def _required(data: Data | None, stage: str, made: Build) -> Data:
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


_TOOLS = ("objdump", "llvm-objdump")


def disassemble(files: Mapping[str, bytes]) -> str:
    """The machine code in object files as text, each under its kernel's name.

    Raises:
        JxcError: no disassembler is installed, or it fails.
    """
    tool = next(filter(None, map(shutil.which, _TOOLS)), None)
    if tool is None:
        raise JxcError(
            f"--emit asm: XLA writes object files, and neither {' nor '.join(_TOOLS)} is on the "
            "path to print them: install binutils or LLVM"
        )
    with tempfile.TemporaryDirectory(prefix="jxc-asm-") as folder:
        return "\n".join(_code(tool, Path(folder), name, raw) for name, raw in files.items())


def _code(tool: str, folder: Path, name: str, raw: bytes) -> str:
    (folder / "kernel.o").write_bytes(raw)
    done = subprocess.run(
        [tool, "--disassemble", "--no-show-raw-insn", "kernel.o"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise JxcError(f"--emit asm: {tool} failed on {name}: {done.stderr.strip()}")
    kernel = name.split(".obj-file.")[-1].removesuffix(".o")
    return f"# {kernel}\n{done.stdout.strip()}\n"

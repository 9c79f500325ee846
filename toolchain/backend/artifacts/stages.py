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
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import JxcError, UsageError, did_you_mean
from ..targets import Target

if TYPE_CHECKING:
    from ..lowered import Lowered
    from ..targets.build import Build

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


def emit(
    lowered: Lowered,
    stages: Sequence[str],
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    whole_constants: bool = False,
) -> dict[str, str | bytes]:
    """A program at several stages, compiled once if one of them needs it.

    Args:
        lowered: the program, lowered for that target's platform, after our passes.
        stages: keys of `STAGES`.
        target: the target; its compiler must be installed if a stage is XLA's.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.
        whole_constants: print large constants in HLO, so that it can be compiled again.

    Returns:
        The contents of the file of each stage, in the order of `STAGES`.

    Raises:
        UsageError: the target has no such stage, or the program has none.
        MissingTargetError, JxcError: as `build`.
    """
    from ..targets.build import build
    from .resume import OptimisedProgram

    optimised = lowered.proto if isinstance(lowered, OptimisedProgram) else None
    stages = stages_of(stages, target)
    wanted = [stage for stage in STAGES if stage in stages]
    for stage in UNCOMPILED if optimised else ():
        if stage in wanted:
            raise UsageError(f"--emit {stage}: optimised HLO is past that stage")
    made: Build | None = None
    if not set(wanted) <= set(UNCOMPILED):
        dumping: dict[str, Any] = {}
        if "llvm" in wanted and int(version("jaxlib").split(".")[1]) >= 11:
            dumping["xla_dump_emitter_re"] = ".*"  # else newer ones dump no LLVM IR
        made = build(
            lowered.module,
            target,
            xla_options={**dumping, **(xla_options or {})},
            files=[_FILES[stage] for stage in wanted if stage in _FILES],
            whole_constants=whole_constants,
            hlo_pass=hlo_pass,
            optimised=optimised,
        )
    return {stage: _form(stage, lowered, made, whole_constants) for stage in wanted}


def _form(stage: str, lowered: Lowered, made: Build | None, whole_constants: bool) -> str | bytes:
    from ...ir.hlo import write_hlo
    from ...ir.io import hlo_of_module
    from ..lowered import CrossExecutable

    match stage:
        case "jaxpr":
            if not lowered.has_jaxpr:
                raise UsageError(
                    "a module from a file has no jaxpr: name the function that it was made of"
                )
            return lowered.as_text("jaxpr")
        case "stablehlo":
            return lowered.as_text("stablehlo", debug_info=whole_constants)
        case "hlo-before" if made is None or whole_constants:
            return write_hlo(hlo_of_module(lowered.module))
    assert made is not None, "the other stages are XLA's"
    if stage in ("cost", "memory"):
        numbers = getattr(CrossExecutable(made, lowered), stage)()
        return json.dumps({"schema_version": 1, stage: numbers}, indent=2) + "\n"
    if stage not in _FILES:
        data: str | bytes | None = getattr(made, stage.replace("-", "_"))
        if not data:
            raise JxcError(f"--emit {stage}: the compiler of {made.target.name} wrote none")
        return data
    suffix = _FILES[stage][1:]
    files = {name: raw for name, raw in made.files.items() if name.endswith(suffix)}
    if not files:
        raise JxcError(
            f"--emit {stage}: XLA generated no kernel for this program on "
            f"{made.target.name}: it consists of library calls and copies"
        )
    if stage == "asm":
        return disassemble(files)
    comment = "//" if stage == "ptx" else ";"
    return "\n".join(  # `module_0000.jit_f.KERNEL.ptx`
        f"{comment} {name.split('.', 2)[-1].removesuffix(suffix)}\n{raw.decode(errors='replace')}"
        for name, raw in files.items()
    )


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
    texts = []
    with tempfile.TemporaryDirectory(prefix="jxc-asm-") as folder:
        for name, raw in files.items():
            Path(folder, "kernel.o").write_bytes(raw)
            command = [tool, "--disassemble", "--no-show-raw-insn", "kernel.o"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise JxcError(f"--emit asm: {tool} failed on {name}: {done.stderr.strip()}")
            kernel = name.split(".obj-file.")[-1].removesuffix(".o")
            texts.append(f"# {kernel}\n{done.stdout.strip()}\n")
    return "\n".join(texts)

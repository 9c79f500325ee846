"""Compiling a module for a target, in a process of its own: what the compiler made of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxlib.mlir import ir

from ...errors import JxcError
from ...frontend.mesh import environment_of_host
from ...ir import write_bytecode
from ...ir.shardings import module_device_count
from . import require
from .target import Target

MODULE, REQUEST, RESULT, DUMP, EXECUTABLE, HLO, OPTIMISED = (
    "module.mlirbc",
    "request.json",
    "result.json",
    "dump",
    "executable",
    "hlo.pb",
    "optimised.pb",
)
"""What lies in the folder that both processes know."""

_ASSIGNMENT, _LIVE_RANGES = "*-buffer-assignment.txt", "*-live-range.txt"
_TOLD = 2000  # characters of what a compiler said before it died
_FAILED_CHECK = re.compile(r"^F\d{4} [^\]]*\] *(.+)$", re.MULTILINE)  # as abseil logs it
_OF_A_STACK = re.compile(r" *@ +0x|https://symbolize|\*\*\* |.*\] RAW: |PC: @")


class BuildError(JxcError):
    """The compiler refused the module.

    Attributes:
        target: what it was compiled for.
        compiler_message: what the compiler said, whole.
        hlo: the module as far as the compiler came, as text; empty where it wrote none.
        buffer_assignment: where each value would lie, likewise.
        live_ranges: when each would be needed, likewise.
    """

    def __init__(self, target: Target, compiler_message: str, dump: Path) -> None:
        super().__init__(f"XLA does not compile it for {target.name}: {compiler_message}")
        self.target = target
        self.compiler_message = compiler_message
        self.hlo = _text_of(dump, "*oom_intermediate_module.txt") or _text_of(
            dump, "*after_optimizations.txt"
        )
        self.buffer_assignment = _text_of(dump, _ASSIGNMENT)
        self.live_ranges = _text_of(dump, _LIVE_RANGES)


@dataclass(frozen=True)
class Build:
    """What the compiler of a target made of a module.

    Attributes:
        target: what it was compiled for.
        hlo: the optimised module, scheduled, as text.
        hlo_before: the module as the compiler got it, as text.
        buffer_assignment: where each value lies in memory, in XLA's words; empty where it says not.
        live_ranges: when each is needed, likewise.
        memory: XLA's own count of bytes, by the names of jax's `CompiledMemoryStats`.
        cost: XLA's own count of flops, bytes and the like; None where the compiler makes none.
        seconds: how long the compiler took.
        executable: what can be loaded again where the hardware is; None where it cannot be written.
        hlo_proto: the optimised module as a serialised `HloModuleProto`.
        log: what the compiler said on standard error; timings of passes where they were asked for.
        files: everything that the compiler wrote, by name; filled where it was asked for.
    """

    target: Target
    hlo: str = field(repr=False)
    hlo_before: str = field(repr=False)
    buffer_assignment: str = field(repr=False)
    live_ranges: str = field(repr=False)
    memory: Mapping[str, int]
    cost: Mapping[str, float] | None = field(repr=False)
    seconds: float
    executable: bytes | None = field(repr=False)
    hlo_proto: bytes = field(repr=False, default=b"")
    log: str = field(repr=False, default="")
    files: Mapping[str, bytes] = field(repr=False, default_factory=dict)


def build(
    module: ir.Module,
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    files: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    whole_constants: bool = False,
    hlo_pass: str | None = None,
    optimised: bytes | None = None,
) -> Build:
    """Compile a module as it stands.

    Args:
        module: a module with a public @main, for `mhlo.num_partitions` devices.
        target: what for.
        xla_options: XLA's options by name.
        files: patterns of files to bring back of what the compiler writes, such as "*.ptx".
        environment: variables for the process of the compiler, beside the target's.
        whole_constants: print large constants in `hlo`, which are left out as `{...}` otherwise.
        hlo_pass: a function "file.py:fn" to run on the module inside XLA; see
            `jxc.backend.artifacts.hlo_pass`.
        optimised: an optimised module, a serialised `HloModuleProto` of the same signature as
            `module`, to make code of in its place; for the cpu.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        BuildError: the compiler refuses the module, or it does not fit, or the compiler died.
        JxcError: the module is for more devices than the target has.
    """
    require(target)
    count = module_device_count(module)
    if target.most_devices is not None and count > target.most_devices:
        raise JxcError(
            f"the program is for {count} devices, and {target.name} has {target.most_devices}: "
            "name a larger one, or a smaller mesh"
        )
    request = {
        "target": target.name,
        "devices": count,
        "xla_options": dict(xla_options or {}),
        "whole_constants": whole_constants,
        "hlo_pass": hlo_pass,
    }
    with tempfile.TemporaryDirectory(prefix="jxc-build-") as directory:
        folder = Path(directory)
        (folder / MODULE).write_bytes(write_bytecode(module))
        (folder / REQUEST).write_text(json.dumps(request))
        if optimised is not None:
            (folder / OPTIMISED).write_bytes(optimised)
        log = _compile_in_child(folder, target, count, environment or {})
        return _collect(folder, target, files, log)


def _compile_in_child(
    folder: Path, target: Target, count: int, environment: Mapping[str, str]
) -> str:
    split = environment_of_host(count) if target.kind == "cpu" else {}
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.worker", str(folder)],
        env={**_clean_environment(), **target.environment, **split, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if (folder / RESULT).exists():
        return done.stderr
    how = f"exit code {done.returncode}"
    if done.returncode < 0:
        how = signal.Signals(-done.returncode).name
    raise BuildError(
        target, f"the compiler died ({how}){_last_words(done.stderr or done.stdout)}", folder / DUMP
    )


def _last_words(told: str) -> str:
    """What a compiler that died said of it: its failed check, else the end, without the stack."""
    if failed := _FAILED_CHECK.findall(told):
        return f": {failed[-1].strip()}"
    lines = [line for line in told.splitlines() if line.strip() and not _OF_A_STACK.match(line)]
    last = "\n".join(lines)[-_TOLD:]
    return f"; the end of what it said:\n{last}" if last else ", and said nothing"


def _clean_environment() -> dict[str, str]:
    """This process's, without what would make the child act on its own."""
    ours = ("JXC_PIPELINE", "JAX_COMPILATION_CACHE_DIR")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _collect(folder: Path, target: Target, patterns: Sequence[str], log: str) -> Build:
    told = json.loads((folder / RESULT).read_text())
    if "refused" in told:
        raise JxcError(told["refused"])
    if "error" in told:
        raise BuildError(target, told["error"], folder / DUMP)
    executable = folder / EXECUTABLE
    dump = folder / DUMP
    return Build(
        target,
        told["hlo"],
        _text_of(dump, "*before_optimizations.txt"),
        _text_of(dump, _ASSIGNMENT),
        _text_of(dump, _LIVE_RANGES),
        told["memory"],
        told["cost"],
        told["seconds"],
        executable.read_bytes() if executable.exists() else None,
        (folder / HLO).read_bytes(),
        log,
        {f.name: f.read_bytes() for p in patterns for f in sorted(dump.glob(p)) if f.is_file()},
    )


def _text_of(dump: Path, pattern: str) -> str:
    """The largest file of a pattern: the compiler dumps small programs of its own, too."""
    found = sorted(dump.glob(pattern), key=lambda file: file.stat().st_size)
    return found[-1].read_text() if found else ""

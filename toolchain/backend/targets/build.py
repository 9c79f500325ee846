"""Compiling a module for a target, in a process of its own.

The compilers of TPUs and GPUs read environment variables when they load, hold locks and can abort
the process. So each compilation runs in `worker`, which gets the target's environment. Both
processes use one temporary folder: the parent writes the module and the request, the worker the
executable, the texts and XLA's dump.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jaxlib.mlir import ir

from ...errors import JxcError
from ...frontend.mesh import environment_of_host
from ...ir import write_bytecode
from ...ir.shardings import module_device_count
from . import require
from .target import Target

MODULE, REQUEST, RESULT, DUMP, EXECUTABLE, HLO, OPTIMISED, OUT, LOG = (
    "module.mlirbc",
    "request.json",
    "result.json",
    "dump",
    "executable",
    "hlo.pb",
    "optimised.pb",
    "stdout.txt",
    "stderr.txt",
)
"""The files in the folder that both processes use."""

_ASSIGNMENT, _LIVE_RANGES = "*-buffer-assignment.txt", "*-live-range.txt"
_LAST_CHARACTERS = 2000  # of the compiler's output, quoted if it dies
_FAILED_CHECK = re.compile(r"^F\d{4} [^\]]*\] *(.+)$", re.MULTILINE)  # as abseil logs it
_STACK_LINE = re.compile(r" *@ +0x|https://symbolize|\*\*\* |.*\] RAW: |PC: @")


class BuildError(JxcError):
    """The compiler refused the module.

    Attributes:
        target: what it was compiled for.
        compiler_message: the compiler's whole message.
        hlo: the module at the latest stage that the compiler dumped, as text; may be empty.
        buffer_assignment: the memory of each value, as XLA prints it; may be empty.
        live_ranges: the live range of each value, as XLA prints it; may be empty.
    """

    def __init__(self, target: Target, compiler_message: str, dump: Path) -> None:
        super().__init__(f"XLA does not compile it for {target.name}: {compiler_message}")
        self.target = target
        self.compiler_message = compiler_message
        self.hlo = text_of(dump, "*oom_intermediate_module.txt") or text_of(
            dump, "*after_optimizations.txt"
        )
        self.buffer_assignment = text_of(dump, _ASSIGNMENT)
        self.live_ranges = text_of(dump, _LIVE_RANGES)


@dataclass(frozen=True)
class Build:
    """The output of a target's compiler for one module.

    Attributes:
        target: what it was compiled for.
        hlo: the optimised module, scheduled, as text.
        hlo_before: the module before XLA's passes, as text.
        buffer_assignment: the memory of each value, as XLA prints it; empty if it does not.
        live_ranges: the live range of each value, likewise.
        memory: XLA's count of bytes, by the names of jax's `CompiledMemoryStats`.
        cost: XLA's count of flops, bytes and so on; None if the compiler has none.
        seconds: time of the compilation.
        executable: the serialised executable; None if the compiler does not serialise.
        hlo_proto: the optimised module as a serialised `HloModuleProto`; empty if jaxlib does not
            read what the compiler wrote.
        log: the compiler's standard error.
        files: the requested files of XLA's dump, by name.
        places: of each TPU device its slice, coordinates and core, in the order of the program's
            devices; empty for other devices.
        order: a note on that order; empty if it is that of `jax.make_mesh`.
        note: on options without which the compiler refused the module; empty if there are none.
        orders: for each of `other_meshes`, as text, the numbers of the program's devices in the
            order of that mesh; empty for other than TPU devices.
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
    places: Sequence[Sequence[int]] = field(repr=False, default=())
    order: str = ""
    note: str = ""
    orders: Mapping[str, Sequence[int]] = field(repr=False, default_factory=dict)


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
    mesh: Mapping[str, int] | None = None,
    other_meshes: Sequence[Mapping[str, int]] = (),
    compiler: Callable[[Path], None] | None = None,
) -> Build:
    """Compile a module for a target.

    Args:
        module: a module with a public @main, for `mhlo.num_partitions` devices.
        target: the target.
        xla_options: XLA's options by name.
        files: patterns of files in XLA's dump to return, such as "*.ptx".
        environment: variables for the worker, in addition to the target's.
        whole_constants: print large constants in `hlo` instead of eliding them as `{...}`.
        hlo_pass: a function "file.py:fn" to run on the module inside XLA; see
            `jxc.backend.artifacts.hlo_pass`.
        optimised: a serialised `HloModuleProto` of the same signature as `module`, from which XLA
            generates code in place of `module`; cpu only.
        mesh: the size of each axis, to put the devices in the order of `jax.make_mesh`.
        other_meshes: meshes over the same devices whose order is returned too.
        compiler: `worker.main`, to compile in this process instead of a new one. It must have the
            target's environment, and XLA may end it.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        BuildError: the compiler refuses the module, it does not fit, or the compiler died.
        JxcError: the module is for more devices than the target has.
    """
    request = _request(module, target, xla_options, mesh, other_meshes)
    request |= {"whole_constants": whole_constants, "hlo_pass": hlo_pass}
    directory = _folder_for(module, request)
    folder = Path(directory.name)
    if optimised is not None:
        (folder / OPTIMISED).write_bytes(optimised)
    if compiler is None:
        with _started(directory, target, request["devices"], environment or {}) as running:
            return running.result(files)
    with directory:
        compiler(folder)
        return _collect(folder, target, files, "")


def start_build(
    module: ir.Module,
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    mesh: Mapping[str, int] | None = None,
    other_meshes: Sequence[Mapping[str, int]] = (),
) -> RunningBuild:
    """Start what `build` does, whose arguments and errors these are."""
    request = _request(module, target, xla_options, mesh, other_meshes)
    return _started(_folder_for(module, request), target, request["devices"], {})


class RunningBuild:
    """A compilation in a process of its own.

    Leaving its context ends the process if it still runs, and removes its files.
    """

    def __init__(
        self, folder: TemporaryDirectory[str], target: Target, child: subprocess.Popen[bytes]
    ) -> None:
        self._folder, self._target, self._child = folder, target, child

    def __enter__(self) -> RunningBuild:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()
        self._folder.cleanup()

    @property
    def is_done(self) -> bool:
        """Whether the compiler has ended."""
        return self._child.poll() is not None

    def result(self, files: Sequence[str] = ()) -> Build:
        """Wait for the compiler; arguments and errors are those of `build`."""
        code, folder = self._child.wait(), Path(self._folder.name)
        out, log = ((folder / name).read_text(errors="replace") for name in (OUT, LOG))
        if (folder / RESULT).exists():
            return _collect(folder, self._target, files, log)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        message = f"the compiler died ({how}){_last_output(log or out)}"
        raise BuildError(self._target, message, folder / DUMP)


def _request(
    module: ir.Module,
    target: Target,
    xla_options: Mapping[str, Any] | None,
    mesh: Mapping[str, int] | None,
    other_meshes: Sequence[Mapping[str, int]],
) -> dict[str, Any]:
    """What the worker is asked for, by default; errors as of `build`."""
    require(target)
    count = module_device_count(module)
    if target.most_devices is not None and count > target.most_devices:
        raise JxcError(
            f"the program is for {count} devices, and {target.name} has {target.most_devices}: "
            "use a larger target or a smaller mesh"
        )
    return {
        "target": target.name,
        "devices": count,
        "xla_options": dict(xla_options or {}),
        "mesh": dict(mesh or {}),
        "other_meshes": list(map(dict, other_meshes)),
        "whole_constants": False,
        "hlo_pass": None,
    }


def _folder_for(module: ir.Module, request: Mapping[str, Any]) -> TemporaryDirectory[str]:
    """A folder with what the worker reads."""
    directory = TemporaryDirectory(prefix="jxc-build-")
    (Path(directory.name) / MODULE).write_bytes(write_bytecode(module))
    (Path(directory.name) / REQUEST).write_text(json.dumps(request))
    return directory


def _started(
    directory: TemporaryDirectory[str], target: Target, count: int, environment: Mapping[str, str]
) -> RunningBuild:
    """The worker on the request in a folder, for a program of so many devices."""
    others = ("JXC_PIPELINE", "JAX_COMPILATION_CACHE_DIR")  # would change the compilation
    inherited = {name: value for name, value in os.environ.items() if name not in others}
    split = environment_of_host(count) if target.kind == "cpu" else {}
    folder = Path(directory.name)
    with (folder / OUT).open("wb") as out, (folder / LOG).open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker", str(folder)],
            env={**inherited, **target.environment, **split, **environment},
            stdin=subprocess.PIPE,  # ends with this process, and the worker with it
            stdout=out,
            stderr=log,
        )
    return RunningBuild(directory, target, child)


def _last_output(output: str) -> str:
    """The failed check in the output of a compiler that died, else its end without the stack."""
    if failed := _FAILED_CHECK.findall(output):
        return f": {failed[-1].strip()}"
    lines = [line for line in output.splitlines() if line.strip() and not _STACK_LINE.match(line)]
    last = "\n".join(lines)[-_LAST_CHARACTERS:]
    return f"; the end of its output:\n{last}" if last else " without output"


def _collect(folder: Path, target: Target, patterns: Sequence[str], log: str) -> Build:
    result = json.loads((folder / RESULT).read_text())
    if "refused" in result:
        raise JxcError(result["refused"])
    if "error" in result:
        raise BuildError(target, result["error"], folder / DUMP)
    executable = folder / EXECUTABLE
    dump = folder / DUMP
    return Build(
        target,
        result["hlo"],
        text_of(dump, "*before_optimizations.txt"),
        text_of(dump, _ASSIGNMENT),
        text_of(dump, _LIVE_RANGES),
        result["memory"],
        result["cost"],
        result["seconds"],
        executable.read_bytes() if executable.exists() else None,
        (folder / HLO).read_bytes() if (folder / HLO).exists() else b"",
        log,
        {f.name: f.read_bytes() for p in patterns for f in sorted(dump.glob(p)) if f.is_file()},
        [place for place in result["places"] if place is not None],
        result["order"],
        result["note"],
        result["orders"],
    )


def text_of(dump: Path, pattern: str) -> str:
    """The largest file of a pattern: the compiler also dumps small programs of its own."""
    found = sorted(dump.glob(pattern), key=lambda file: file.stat().st_size)
    return found[-1].read_text() if found else ""

"""Machine code as text, by a disassembler that is installed: XLA writes object files alone."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ...errors import JxcError

_TOOLS = ("objdump", "llvm-objdump")


def disassemble(files: Mapping[str, bytes]) -> str:
    """The code in object files, each under its kernel's name.

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

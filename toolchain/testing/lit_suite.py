"""lit for cases outside this repository: its configuration, the tools of RUN lines, a run of it.

lit runs the `RUN:` lines of each case in a shell of its own. `run_lit` writes a configuration for a
folder that has none, so that `jxc test DIR` needs no `lit.cfg.py`. `configure_lit` gives a
`lit.cfg.py` of the user the same settings.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..distribution import pip_install
from ..errors import MissingTargetError, UsageError
from .warm_client import CODE_OF

CONFIG_NAMES = ("lit.site.cfg", "lit.site.cfg.py", "lit.cfg", "lit.cfg.py")
SUFFIXES = (".mlir", ".test", ".py")

_RUN_LINE = re.compile(rb"^\W*RUN:", re.MULTILINE)
_TOOLS = "_JXC_LIT_TOOLS"  # the folder with the tools of this run, for `configure_lit`
_NOT_SEARCHED = ("Inputs", "build", "dist", "node_modules", "__pycache__", *CONFIG_NAMES)


def require_packages(*names: str) -> None:
    """Check that lit or filecheck is installed.

    Raises:
        MissingTargetError: it is not.
    """
    if missing := [name for name in names if find_spec(name) is None]:
        raise MissingTargetError(
            f"the package {missing[0]} is not installed: {pip_install('testing')}"
        )


def is_case(path: str | Path) -> bool:
    """Whether a file is a case for lit; a Python file is one if it has a RUN line."""
    path = Path(path)
    if path.suffix not in SUFFIXES or path.name.startswith("."):
        return False
    return path.suffix != ".py" or has_run_line(path.read_bytes())


def has_run_line(data: bytes) -> bool:
    """Whether a file has a line with `RUN:`, after characters of a comment."""
    return _RUN_LINE.search(data) is not None


def cases_in(folder: Path) -> Iterator[Path]:
    """The cases in a folder and its subfolders, in order of name."""
    excluded = excludes(folder)
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in excluded)
        paths = (Path(parent, name) for name in sorted(names) if name not in excluded)
        yield from (path for path in paths if is_case(path))


def excludes(folder: Path) -> list[str]:
    """The names that are not searched: hidden folders, virtual environments, build folders."""
    inside = [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    hidden = [p.name for p in inside if p.name.startswith(".") or (p / "pyvenv.cfg").exists()]
    return [*_NOT_SEARCHED, *hidden]


# Configuration


def configure_lit(config: Any) -> None:
    """Configure lit for jxc, in a `lit.cfg.py`:

        config.name = "my passes"
        config.test_source_root = os.path.dirname(__file__)
        config.test_exec_root = os.path.join(config.test_source_root, "build")
        jxc.testing.configure_lit(config)

    Cases are `.mlir` and `.test` files, and `.py` files with a RUN line. RUN lines find `jxc`,
    `filecheck` and `FileCheck` whether or not they are on the user's PATH, and `%s`, `%S`, `%t` and
    `not` are lit's. Programs run on the CPU, unless JAX_PLATFORMS is set; messages are 80 columns
    wide; the conditions of passes use the rates that jxc ships, not those of this machine.

    Args:
        config: lit's `config`. Set `test_source_root` and `test_exec_root` before the call.

    Raises:
        UsageError: `test_exec_root` is not set.
    """
    from .lit_format import CaseFormat

    if not config.test_exec_root:
        raise UsageError("configure_lit: set config.test_exec_root, a folder for outputs, before")
    outputs = Path(config.test_exec_root)
    tools = os.environ.get(_TOOLS)
    if tools is None:
        tools = str(outputs / ".tools")
        write_tools(Path(tools))
    config.test_format = CaseFormat(is_case)
    config.suffixes = list(SUFFIXES)
    config.excludes = excludes(Path(config.test_source_root or "."))
    given = {name: os.environ[name] for name in ("XLA_FLAGS", "VIRTUAL_ENV") if name in os.environ}
    config.environment.update(given)
    config.environment |= {
        "PATH": os.pathsep.join((tools, config.environment.get("PATH", ""))),
        "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "JXC_RATES": "shipped",
        "JXC_CACHE_DIR": str(outputs / ".cache"),
    }


def write_tools(folder: Path, *, load: Sequence[str] = (), record: Path | None = None) -> None:
    """Write the programs that RUN lines call: `jxc`, `filecheck` and `FileCheck`.

    They run in this Python and see its PYTHONPATH, with or without a virtual environment on PATH.

    Args:
        folder: where to write them; it is created.
        load: arguments of `--load-pass` for every `jxc` in a RUN line.
        record: a folder in which `filecheck` saves its input, in place of checking it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    given = {"JXC_LOAD_PASS": shlex.join(load)} if load else {}
    if "PYTHONPATH" in os.environ:
        given["PYTHONPATH"] = os.environ["PYTHONPATH"]
    check = CODE_OF["filecheck"]
    if record is not None:
        check = f"from jxc.testing.filecheck import record; record({str(record)!r})"
    programs = {"jxc": CODE_OF["jxc"], "filecheck": check, "FileCheck": check}
    for name, code in programs.items():
        (folder / name).write_text(_script(name, code, given))
        (folder / name).chmod(0o755)


def _script(name: str, code: str, environment: Mapping[str, str]) -> str:
    # A shell script, because the path of Python may have blanks, which `#!` cannot express
    python = f"import sys; sys.argv[0] = {name!r}; {code}"
    assigned = [f"export {key}={shlex.quote(value)}" for key, value in environment.items()]
    call = f'exec {shlex.join([sys.executable, "-P", "-c", python])} "$@"'
    return "\n".join(["#!/bin/sh", *assigned, call, ""])


# Running


def run_lit(
    paths: Sequence[Path],
    arguments: Sequence[str] = (),
    *,
    load: Sequence[str] = (),
    record: Path | None = None,
    is_quiet: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run lit on folders and cases.

    Args:
        paths: folders and files. One for which lit finds a configuration, in its folder or above,
            uses it; for others lit is configured as by `configure_lit`.
        arguments: of lit, such as "-v".
        load, record: as for `write_tools`.
        is_quiet: capture what lit prints.

    Raises:
        UsageError: a path does not exist, or a folder without a configuration has no cases.
        MissingTargetError: lit or filecheck is not installed.
    """
    require_packages("lit", "filecheck")
    for path in paths:
        _require_cases(path)
    with tempfile.TemporaryDirectory(prefix="jxc-test-") as made:
        folder = Path(made)
        tools = folder / "tools"
        write_tools(tools, load=load, record=record)
        inputs = [
            str(path if own_config(path) else _suite(path, folder / f"suite{number}"))
            for number, path in enumerate(paths)
        ]
        programs = os.pathsep.join((str(tools), os.environ.get("PATH", os.defpath)))
        lit = "import sys; sys.argv[0] = 'lit'; from lit.main import main; main()"
        return subprocess.run(
            [sys.executable, "-P", "-c", lit, *arguments, *inputs],
            env={**os.environ, "PATH": programs, _TOOLS: str(tools)},
            capture_output=is_quiet,
            text=True,
        )


def own_config(path: Path) -> Path | None:
    """The configuration that lit uses for a path: in its folder, or in the nearest one above."""
    path = path.resolve()
    for folder in (path, *path.parents):
        for name in CONFIG_NAMES:
            if (folder / name).is_file():
                return folder / name
    return None


def _require_cases(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.is_dir() and not own_config(path) and next(cases_in(path), None) is None:
        raise UsageError(
            f"{path}: found no tests: expected .mlir or .test files, or .py files with a line "
            "'# RUN: ...'. `jxc new-pass NAME` writes a pass with its tests"
        )


_CONFIG = """
from jxc.testing import configure_lit

config.name = {name!r}
config.test_source_root = {source!r}
config.test_exec_root = {outputs!r}
configure_lit(config)
"""


def _suite(path: Path, folder: Path) -> Path:
    """Write a configuration for the folder of `path`, and return the path that lit is given."""
    path = path.resolve()
    source = path if path.is_dir() else path.parent
    folder.mkdir()
    values = {"name": source.name, "source": str(source), "outputs": str(folder / "outputs")}
    (folder / "lit.cfg.py").write_text(_CONFIG.format(**values))
    return folder / path.relative_to(source)

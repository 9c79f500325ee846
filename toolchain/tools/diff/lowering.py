"""Lowering both sides, each in a process of its own: two revisions share the names of modules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ...errors import JxcError
from ...files import read_input
from ...source import is_user_file
from .revision import Tree, check_out
from .sides import Side

_MAIN = "from jxc.cli import main; main()"
_OPTIONS = {
    "args_from": "--args",
    "static": "--static",
    "transform": "--transform",
    "device": "--device",
    "host_devices": "--host-devices",
    "mesh": "--mesh",
    "in_sharding": "--in-sharding",
    "out_sharding": "--out-sharding",
    "sharding": "--sharding",
}


@dataclass(frozen=True)
class Source:
    """A program before any pass.

    Attributes:
        data: MLIR's text or bytecode, or the text of HLO.
        seconds: "trace" and "lower" of a function.
        root: the folder with a revision's files; empty for the files as they are.
        home: the top of the checkout that they are of.
    """

    data: bytes = field(repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict)
    root: str = ""
    home: str = ""


def sources_of(sides: tuple[Side, Side], flags: Mapping[str, Any], folder: str) -> list[Source]:
    """What both sides name, read or lowered.

    Args:
        sides: the two.
        flags: the options of lowering.
        folder: an empty one, for the files of revisions; messages quote their lines, so that it is
            needed until the end.

    Raises:
        JxcError: a file cannot be read, or a function not be lowered.
    """
    distinct = {_key(side): side for side in sides}
    with ThreadPoolExecutor() as pool:  # both at once: each is a process of its own
        read = {
            key: pool.submit(_source, side, flags, Path(folder, str(number)))
            for number, (key, side) in enumerate(distinct.items())
        }
    return [read[_key(side)].result() for side in sides]


def _key(side: Side) -> tuple[str, ...]:
    """Equal for sides that are read or lowered once."""
    return (side.source,) if side.is_module else side.lowering


def _source(side: Side, flags: Mapping[str, Any], folder: Path) -> Source:
    if side.is_module:
        return Source(read_input(side.source))
    folder.mkdir()
    tree = check_out(side.revision, folder) if side.revision else None
    words = _words(side, flags, folder / "module.mlirbc")
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, *words],
        cwd=tree.folder if tree else None,
        env=_environment(tree) if tree else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise LoweringError(side.spelling, done.stderr.strip())
    sys.stderr.write(done.stderr)
    data, told = (folder / "module.mlirbc").read_bytes(), json.loads(done.stdout)
    if tree is None:
        return Source(data, told["seconds"])
    _warn_of_other_files(side, tree, data)
    return Source(data, told["seconds"], str(tree.root), str(tree.home))


def _environment(tree: Tree) -> dict[str, str]:
    path = [*tree.paths, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _warn_of_other_files(side: Side, tree: Tree, data: bytes) -> None:
    """Say where a revision's program has lines of the checkout, which is not that revision.

    A package that is installed from the checkout is imported from there, unless it lies where
    `Tree.paths` looks. MLIR's bytecode holds the names of files as they are.
    """
    found = re.findall(re.escape(str(tree.home)).encode() + rb"/[\w./-]+?\.py", data)
    files = {file for each in found if is_user_file(file := each.decode())}
    if files:
        click.echo(
            f"jxc: warning: {side.spelling} uses {', '.join(sorted(files))} as it is now, not as "
            f"of {side.revision}: Python imports it from the checkout",
            err=True,
        )


class LoweringError(JxcError):
    """One of the two cannot be lowered; the message is that of `jxc lower`."""

    def __init__(self, spelling: str, said: str) -> None:
        super().__init__(f"{spelling}: {said.removeprefix('jxc: error: ')}")


def _words(side: Side, flags: Mapping[str, Any], output: Path) -> list[str]:
    """The arguments of `jxc lower`."""
    words = ["lower", "--emit", "bytecode", "--debug-info", "-o", str(output), "--json"]
    words += ["--platform", side.target.platform]
    for name, option in _OPTIONS.items():
        value = flags[name]
        for each in value if isinstance(value, tuple) else (value,):
            words += [f"{option}={each}"] if each is not None else []
    words += ["--x64"] if flags["x64"] else []
    return [*words, "--", side.source, *(_absolute(spec, side) for spec in side.specs)]


def _absolute(spec: str, side: Side) -> str:
    """`@x.npy` of a revision is the file that lies here: data is seldom in git."""
    if not (side.revision and spec.startswith("@")):
        return spec
    file, bracket, rest = spec[1:].partition("[")
    return f"@{Path(file).resolve()}{bracket}{rest}"

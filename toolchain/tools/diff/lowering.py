"""The two programs of a comparison: reading or lowering them, and running their pipelines.

Each function is lowered in a process of its own, since both revisions have modules of one name. The
files of a git revision are written to a temporary folder; the user's checkout stays untouched.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...files import input_name, read_input
from ...ir import make_context, read_module
from ...pipeline import Library, make_pipeline, run_pipeline
from ...rewrite import PassContext
from ...source import is_user_file
from .graph import ToQuotedLine, line_reader
from .output import ComparedProgram
from .sides import LOWERING_OPTIONS, DiffSide


@dataclass(frozen=True)
class LoweredSource:
    """A program before any pass.

    Attributes:
        data: MLIR text or bytecode, or HLO text.
        seconds: of "trace" and "lower", if it was a function.
        to_line: quotes the lines of Python that it was lowered from.
    """

    data: bytes = field(repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict)
    to_line: ToQuotedLine = field(default_factory=line_reader, repr=False)


def sources_of(
    sides: tuple[DiffSide, DiffSide], flags: Mapping[str, Any], folder: str
) -> list[LoweredSource]:
    """The sources of both sides, read or lowered.

    Args:
        sides: the two sides.
        flags: the options of lowering.
        folder: an empty folder for the files of revisions. It must exist until the comparison is
            printed, since the text of their lines is read from it.

    Raises:
        JxcError: a file cannot be read, or a function cannot be lowered.
    """
    distinct = {side.key: side for side in sides}
    with ThreadPoolExecutor() as pool:  # in parallel: each is a process of its own
        read = {
            key: pool.submit(_source, side, flags, Path(folder, str(number)))
            for number, (key, side) in enumerate(distinct.items())
        }
    return [read[side.key].result() for side in sides]


def _source(side: DiffSide, flags: Mapping[str, Any], folder: Path) -> LoweredSource:
    if side.is_module:
        return LoweredSource(read_input(side.source))
    folder.mkdir()
    tree = check_out(side.revision, folder) if side.revision else None
    environment = dict(os.environ)
    if tree is not None:
        path = [*tree.paths, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
    arguments = _lower_arguments(side, flags, folder / "module.mlirbc")
    done = subprocess.run(
        [sys.executable, "-c", "from jxc.cli import main; main()", *arguments],
        cwd=tree.folder if tree else None,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        message = done.stderr.strip().removeprefix("jxc: error: ")
        raise JxcError(f"{side.spelling}: {message}")
    sys.stderr.write(done.stderr)
    data, summary = (folder / "module.mlirbc").read_bytes(), json.loads(done.stdout)
    if tree is None:
        return LoweredSource(data, summary["seconds"])
    _warn_of_other_files(side, tree, data)
    to_line = line_reader(str(tree.root), str(tree.home))
    return LoweredSource(data, summary["seconds"], to_line)


def _warn_of_other_files(side: DiffSide, tree: RevisionTree, data: bytes) -> None:
    """Warn about lines of the working tree in a revision's program.

    Python imports a package from the checkout if it is installed from there and is in none of
    `RevisionTree.paths`. MLIR bytecode holds the names of files as plain text.
    """
    found = re.findall(re.escape(str(tree.home)).encode() + rb"/[\w./-]+?\.py", data)
    files = {file for each in found if is_user_file(file := each.decode())}
    if files:
        click.echo(
            f"jxc: warning: {side.spelling} uses {', '.join(sorted(files))} as it is now, not as "
            f"of {side.revision}: Python imports it from the checkout",
            err=True,
        )


def _lower_arguments(side: DiffSide, flags: Mapping[str, Any], output: Path) -> list[str]:
    """The arguments of `jxc lower`."""
    words = ["lower", "--emit", "bytecode", "--debug-info", "-o", str(output), "--json"]
    words += ["--platform", side.target.platform]
    for name, option in LOWERING_OPTIONS.items():
        values = flags[name] if isinstance(flags[name], tuple) else (flags[name],)
        given = (value for value in values if value not in (None, False))
        words += [option if value is True else f"{option}={value}" for value in given]
    words += ["--", side.source]
    for spec in side.specs:
        if side.revision and spec.startswith("@"):  # a file of data, which is seldom in git
            file, bracket, rest = spec[1:].partition("[")
            spec = f"@{Path(file).resolve()}{bracket}{rest}"
        words.append(spec)
    return words


# Git revisions


@dataclass(frozen=True)
class RevisionTree:
    """The files of a git revision.

    Attributes:
        root: the folder with the files.
        folder: the folder there that corresponds to the current directory.
        home: the top folder of the user's checkout.
    """

    root: Path
    folder: Path
    home: Path

    @property
    def paths(self) -> list[str]:
        """The folders to import modules from first: a package may be installed from `home`."""
        home = self.home.resolve()
        listed = [path for entry in sys.path if (path := Path(entry).resolve()) != home]
        ours = [self.root / path.relative_to(home) for path in listed if home in path.parents]
        found = (self.folder, *ours, self.root, self.root / "src", self.root / "lib")
        return [str(path) for path in dict.fromkeys(found) if path.is_dir()]


def check_out(revision: str, root: Path) -> RevisionTree:
    """Write the files of a revision below `root`.

    Neither the checkout nor its repository changes: git gets an index of its own, and registers no
    worktree. Files that git does not track are missing.

    Raises:
        UsageError: git is not installed, this is not a repository, or the revision does not exist.
    """
    here = Path.cwd()
    top = Path(_git("rev-parse", "--show-toplevel", doing=f"{revision}:").strip())
    name = f"{revision}^{{commit}}"
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", name, doing=revision)
    own = {"GIT_INDEX_FILE": str(root / ".git-index")}
    tree = root / "tree"
    _git("read-tree", commit.strip(), cwd=top, doing=revision, **own)
    _git("checkout-index", "--all", "--quiet", f"--prefix={tree}/", cwd=top, doing=revision, **own)
    folder = tree / os.path.relpath(here.resolve(), top.resolve())
    if not folder.is_dir():
        raise UsageError(
            f"{revision} has no folder {os.path.relpath(here, top)}: run it from {top}"
        )
    return RevisionTree(tree, folder, top)


def _git(*words: str, doing: str, cwd: Path | None = None, **environment: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=cwd,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(f"{doing} is read as a git revision, and git is not installed") from None
    if done.returncode:
        message = done.stderr.strip() or "there is no such revision"
        raise UsageError(f"{doing} is read as a git revision, and git says: {message}")
    return done.stdout


# Programs


def programs_of(
    sides: tuple[DiffSide, DiffSide], sources: Sequence[LoweredSource], flags: Mapping[str, Any]
) -> list[ComparedProgram]:
    """Read both sides into one context, and run the pipeline of each.

    Raises:
        JxcError: a source is not a module, or a pass fails.
    """
    library = Library.of_files(flags["load_pass"])
    context = make_context()
    found = [
        _program(side, source, flags, library, context)
        for side, source in zip(sides, sources, strict=True)
    ]
    modules = [program for program in found if program.module is not None]
    if len(modules) == 1 and flags["stage"] == "stablehlo":
        raise UsageError(
            f"{modules[0].name} is StableHLO, and the other program is optimized HLO: compare the "
            "HLO of both with --stage hlo"
        )
    return found


def _program(
    side: DiffSide,
    source: LoweredSource,
    flags: Mapping[str, Any],
    library: Library,
    context: ir.Context,
) -> ComparedProgram:
    name, target = input_name(side.spelling), None if flags["no_compile"] else side.target
    text = source.data[:4096].lstrip()
    if text.startswith(b"HloModule") and b"is_scheduled=true" in text.partition(b"\n")[0]:
        if side.pipeline:
            raise UsageError(
                f"{side.source} is optimized HLO, on which no passes run: leave out -O and -p"
            )
        hlo = source.data.decode(errors="replace")
        return ComparedProgram(name, None, hlo, target=side.target)
    module = read_module(source.data, context, name=input_name(side.source))
    start = perf_counter()
    pass_context = PassContext(side.target.kind, device=side.target.device)
    pipeline = make_pipeline(side.pipeline, library)
    report = run_pipeline(module, pipeline, pass_context, name=input_name(side.source))
    return ComparedProgram(
        name,
        module,
        pipeline=side.pipeline,
        target=target,
        to_line=source.to_line,
        rules=report.hits,
        seconds={**source.seconds, "passes": perf_counter() - start},
    )

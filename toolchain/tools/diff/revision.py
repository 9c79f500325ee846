"""The files of a git revision in a folder of their own: the user's checkout stays untouched."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ...errors import UsageError


@dataclass(frozen=True)
class Tree:
    """A revision's files.

    Attributes:
        root: where they lie.
        folder: what stands for the current directory there.
        home: the top of the user's checkout.
    """

    root: Path
    folder: Path
    home: Path

    @property
    def paths(self) -> list[str]:
        """Where Python is to look for modules first: a package may be installed from `home`."""
        home = self.home.resolve()
        listed = [path for entry in sys.path if (path := Path(entry).resolve()) != home]
        ours = [self.root / path.relative_to(home) for path in listed if home in path.parents]
        found = (self.folder, *ours, self.root, self.root / "src", self.root / "lib")
        return [str(path) for path in dict.fromkeys(found) if path.is_dir()]


def check_out(revision: str, root: Path) -> Tree:
    """Write the files of a revision below `root`.

    Neither the checkout nor anything of its repository changes: the index that this takes is one of
    its own, and no worktree is registered. Files that git does not track are not there.

    Raises:
        UsageError: git is not installed, this is no repository, or there is no such revision.
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
    return Tree(tree, folder, top)


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
        raise UsageError(f"{doing} is a revision, and git is not installed") from None
    if done.returncode:
        said = done.stderr.strip() or "there is no such revision"
        raise UsageError(f"{doing} is taken for a revision of git's, and git says: {said}")
    return done.stdout

"""The Pythons on this machine, and virtual environments made of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MINORS = (11, 12, 13, 14)
"""The minor versions of Python 3 that jxc supports."""


class Failed(Exception):
    """A command in an environment failed; the message holds the command and its output."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a temporary folder, and an empty folder to work in."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "venv" / "bin" / "python")

    @property
    def work(self) -> Path:
        path = self.folder / "work"
        path.mkdir(exist_ok=True)
        return path

    def run(
        self,
        *command: str | Path,
        seconds: int = 900,
        codes: Sequence[int] = (0,),
        cwd: Path | None = None,
    ) -> str:
        """The output of a command, both streams. `jxc`, `lit` and the like are found first.

        Raises:
            Failed: its exit code is not one of `codes`, or it took longer than `seconds`.
        """
        words = [str(word) for word in command]
        try:
            done = subprocess.run(
                words,
                cwd=cwd or self.work,
                env=self._variables(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except (subprocess.TimeoutExpired, FileNotFoundError) as error:
            raise Failed(str(error)) from None
        if done.returncode not in codes:
            shown = " ".join(words)
            raise Failed(f"$ {shown}\n{done.stdout[-6000:]}\nexit code {done.returncode}")
        return done.stdout

    def pip(self, *arguments: str | Path) -> str:
        return self.run(self.python, "-m", "pip", *arguments, seconds=1800)

    def versions(self, *packages: str) -> dict[str, str]:
        """The installed versions of packages, "" for one that is not installed."""
        listed = json.loads(self.pip("list", "--format=json").splitlines()[-1])
        found = {each["name"].lower(): each["version"] for each in listed}
        return {name: found.get(name, "") for name in packages}

    def _variables(self) -> dict[str, str]:
        """This process's variables without those that bring in the checkout or settings of jxc."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("JXC_", "PYTHON", "VIRTUAL_ENV"))
        }
        bin_folder = str(self.folder / "venv" / "bin")
        return {
            **kept,
            "PATH": os.pathsep.join((bin_folder, kept.get("PATH", ""))),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAX_PLATFORMS": "cpu",
            "KERAS_BACKEND": "jax",
            "JXC_CACHE_DIR": str(self.folder / "cache"),
            "JXC_RATES": "shipped",
            "COLUMNS": "80",
        }


def make_environment(python: str, folder: Path) -> Environment:
    """A virtual environment of `python` with nothing but pip, under `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Environment(folder)
    made.run(python, "-m", "venv", folder / "venv", cwd=folder)
    return made


def find_pythons(named: Sequence[str]) -> dict[int, str]:
    """The paths of working Pythons by minor version.

    Those that are named come first, then those on PATH, then those of pyenv. Each is run, because
    pyenv installs shims for versions that are not enabled.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = list(named)
    for minor in MINORS:
        if on_path := shutil.which(f"python3.{minor}"):
            candidates.append(on_path)
        candidates += map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python3")))
    found: dict[int, str] = {}
    for candidate in candidates:
        minor_version = _minor_of(candidate)
        if minor_version in MINORS:
            found.setdefault(minor_version, candidate)
    return found


def _minor_of(python: str) -> int | None:
    """The minor version of a Python 3 that can make environments; None if it does not run."""
    code = "import sys, venv, ensurepip; print(sys.version_info[0] == 3 and sys.version_info[1])"
    command = [python, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.strip()
    return int(text) if done.returncode == 0 and text.isdigit() else None

"""Strict mypy accepts a user's program, except for the lines that are wrong on purpose."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_strict_mypy_accepts_a_program_that_uses_the_public_api(tmp_path):
    pytest.importorskip("mypy")
    package = tmp_path / "jxc"  # the installed layout: toolchain/ is jxc, passes/ is jxc.passes
    package.mkdir()
    for entry in (ROOT / "toolchain").iterdir():
        (package / entry.name).symlink_to(entry)
    (package / "passes").symlink_to(ROOT / "passes")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    command += ["--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache")]
    command += ["--ignore-missing-imports", str(ROOT / "tests/typed_surface.py")]
    environment = {**os.environ, "MYPYPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr

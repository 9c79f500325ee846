"""`jxc lower` in a separate process or on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from jxc.frontend.target import TargetError, resolve_target

JXC = [sys.executable, "-c", "from jxc.cli import main; main()"]
SEED = Path(__file__).parents[2] / "lit_tests/lower/Inputs/seed.py"


def test_help_and_bad_specs_do_not_import_jax():
    for command in (["lower", "--help"], ["lower", "f.py:f", "f33[2]"]):
        script = f"import sys; sys.argv[1:] = {command}\nfrom jxc.cli import main\n"
        script += "try:\n  main()\nfinally:\n  sys.exit(40 + ('jax' in sys.modules))"
        found = subprocess.run([sys.executable, "-c", script], capture_output=True)
        assert found.returncode == 40, found.stderr


def test_lower_writes_no_bytecode_to_a_terminal():
    ours, theirs = pty.openpty()
    command = [*JXC, "lower", f"{SEED}:loss", "f32[4]", "--emit", "bytecode"]
    found = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    os.close(ours)
    assert found.returncode == 2
    assert "bytecode is not written to a terminal: use -o FILE, or a pipe" in found.stderr


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (1, ["predict", "f32[4]", "f32[4]"]),
        (2, ["predct"]),
        (2, ["loss"]),
    ],
)
def test_lower_exit_codes(code, arguments):
    name, *rest = arguments
    found = subprocess.run([*JXC, "lower", f"{SEED}:{name}", *rest], capture_output=True, text=True)
    assert found.returncode == code
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_jxc_pipeline_does_not_change_what_lower_prints():
    command = [*JXC, "lower", f"{SEED}:loss", "f32[4]"]
    plain, under = (
        subprocess.run(command, capture_output=True, env={**os.environ, **extra}, text=True).stdout
        for extra in ({}, {"JXC_PIPELINE": "O2"})
    )
    assert plain == under
    assert "module @jit_loss" in plain


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_lower_imports_a_file_once(written):
    path = written("twice.py", "import twice\ndef f(x): return x\ndef g(x): return twice.f(x)\n")
    assert resolve_target(f"{path}:f").module is resolve_target(f"{path}:g").module


def test_lower_imports_a_file_of_any_name(written):
    assert resolve_target(f"{written('my-model.v2.py', 'def f(x): return x')}:f").function(1) == 1
    path = written("json.py", "def f(x): return x")
    assert resolve_target(f"{path}:f").function(1) == 1
    assert hasattr(sys.modules["json"], "dumps")


def test_lower_supports_relative_imports_in_a_package(written):
    written("pack/__init__.py", "")
    written("pack/util.py", "K = 3")
    path = written("pack/sub/__init__.py", "").parent / "model.py"
    path.write_text("from ..util import K\ndef f(x): return x * K\n")
    assert resolve_target(f"{path}:f").function(2) == 6


def test_lower_rejects_a_folder(tmp_path):
    with pytest.raises(TargetError, match=r"is a folder; expected file\.py:function"):
        resolve_target(f"{tmp_path}:f")


def test_lower_suggests_functions_without_running_the_file(written):
    path = written("trains.py", "raise SystemExit('training')\ndef step(): ...\n")
    with pytest.raises(TargetError, match="It has step"):
        resolve_target(str(path))

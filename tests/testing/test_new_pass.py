"""`jxc new-pass`: its files pass lit, pytest and ruff as they are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jxc.cli.new_pass import new_pass_command
from jxc.errors import UsageError
from jxc.testing.lit_suite import run_lit
from jxc.testing.new_pass import KINDS, write_new_pass


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a pass of each kind."""
    folder = tmp_path_factory.mktemp("project")
    for kind in KINDS:
        write_new_pass(f"my-{kind}", kind, folder)
    return folder


def test_lit_cases_pass(project):
    done = run_lit([project], ["-v"], is_quiet=True)
    assert "Passed: 3 (100.00%)" in done.stdout, done.stdout


def test_pytest_tests_pass(project):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


@pytest.mark.parametrize("length", [88, 100])
def test_files_pass_ruff(project, length):
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    rules = ["--select", "E,F,I,B,UP,SIM,RUF,C4,PIE,RET", "--config", f"line-length={length}"]
    for command in (["check", *rules], ["format", "--check", "--line-length", str(length)]):
        done = subprocess.run(
            [ruff, command[0], "--isolated", *command[1:], "."],
            cwd=project,
            capture_output=True,
            text=True,
            env={**os.environ, "RUFF_NO_CACHE": "true"},
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_command_prints_what_to_run_next(tmp_path):
    result = CliRunner().invoke(new_pass_command, ["my-rule", "-C", str(tmp_path / "new")])
    assert result.exit_code == 0
    assert f"jxc test {tmp_path}/new/my_rule.mlir" in result.output
    assert all(len(line) <= 80 for line in result.output.replace(str(tmp_path), "").splitlines())


def test_existing_file_is_kept(tmp_path):
    (tmp_path / "test_my_rule.py").write_text("mine")
    with pytest.raises(UsageError, match=r"test_my_rule\.py exists; nothing was written"):
        write_new_pass("my-rule", folder=tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("simplify", "there is a pass or rule of this name"),
        ("add-zero", "there is a pass or rule of this name"),
        ("symbol-dce", "there is a pass or rule of this name"),
        ("json", r"json\.py would hide the installed module json"),
        ("numpy", r"numpy\.py would hide the installed module numpy"),
        ("2nd", "expected a name such as my-rule"),
        ("a/b", "expected a name such as my-rule"),
        ("class", "expected a name such as my-rule"),
    ],
)
def test_name_that_cannot_be_used_is_refused(tmp_path, name, message):
    with pytest.raises(UsageError, match=message):
        write_new_pass(name, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []

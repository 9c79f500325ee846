"""`jxc test` and `jxc filecheck` on folders outside this repository, with nothing on PATH."""

import os
import subprocess
import sys

import pytest

from jxc.errors import MissingTargetError
from jxc.testing import lit_suite

RULE = """
from jaxlib.mlir.dialects.stablehlo import AbsOp, ExpOp
import jxc


@jxc.rule(jxc.exact)
def my_abs_of_exp(op: AbsOp):
    '''|exp x| -> exp x.'''
    return op.operand if isinstance(op.operand.owner, ExpOp) else None
"""
CASE = """
// RUN: jxc opt -p my-abs-of-exp %s > %t
// RUN: filecheck %s --input-file=%t
// RUN: not jxc opt -p no-such-pass %s 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK-LABEL: @f(
// CHECK-NEXT: stablehlo.exponential
// CHECK-NEXT: return
// ERROR: unknown pass or level 'no-such-pass'
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
PYTHON_CASE = """
# RUN: jxc lower %s:f 'f32[4]' | jxc opt -p my-abs-of-exp | filecheck %s
import jax.numpy as jnp


def f(x):
    # CHECK: stablehlo.exponential
    # CHECK-NOT: stablehlo.abs
    return jnp.abs(jnp.exp(x))
"""


def jxc(*arguments, folder, stdin=None):
    """Run `jxc` without the folder of its programs on PATH."""
    code = "import sys; sys.argv[0] = 'jxc'; from jxc.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PATH": os.defpath, "COLUMNS": "80"},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def project(tmp_path):
    """A folder with a rule and two cases."""
    folder = tmp_path / "project"
    (folder / "tests").mkdir(parents=True)
    (folder / "rules.py").write_text(RULE)
    (folder / "tests/rule.mlir").write_text(CASE)
    (folder / "tests/rule_in_python.py").write_text(PYTHON_CASE)
    return folder


def test_cases_run_with_the_rules_of_a_file(project):
    done = jxc("test", "-v", "--load-pass", "rules.py", "tests", folder=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: tests :: rule.mlir" in done.stdout
    assert "PASS: tests :: rule_in_python.py" in done.stdout
    assert "Passed: 2 (100.00%)" in done.stdout
    assert sorted(path.name for path in (project / "tests").iterdir()) == [
        "rule.mlir",
        "rule_in_python.py",
    ]


def test_failed_case_shows_the_directive_and_the_text(project):
    (project / "tests/rule_in_python.py").unlink()
    case = project / "tests/rule.mlir"
    case.write_text(case.read_text().replace("CHECK-NEXT: return", "CHECK-NEXT: stablehlo.abs"))
    done = jxc("test", "--load-pass", "rules.py", ".", folder=project)
    assert done.returncode == 1
    assert "FAIL: project :: tests/rule.mlir" in done.stdout
    assert "tests/rule.mlir:8: error: Couldn't match" in done.stdout


def test_case_without_run_line_fails(project):
    (project / "tests/rule.mlir").write_text("func.func @f() { return }\n")
    done = jxc("test", "tests/rule.mlir", folder=project)
    assert done.returncode == 1
    assert "Test has no 'RUN:' line" in done.stdout


OF_JXC = "import jxc.testing; jxc.testing.configure_lit(config)"
PLAIN = """
import lit.formats
config.suffixes = [".mlir"]
config.test_format = lit.formats.ShTest(execute_external=False)
"""


@pytest.mark.parametrize("settings", [OF_JXC, PLAIN])
def test_configuration_of_the_user_is_respected(project, settings):
    config = f"""
import os

config.name = "mine"
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.test_source_root, "out")
{settings}
config.substitutions.append(("%my-pass", "my-abs-of-exp"))
"""
    (project / "tests/lit.cfg.py").write_text(config)
    case = project / "tests/rule.mlir"
    case.write_text(CASE.replace("-p my-abs-of-exp", "-p %my-pass"))
    done = jxc("test", "-v", "--load-pass", "rules.py", "tests/rule.mlir", folder=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: mine :: rule.mlir" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty"], "empty: found no tests: expected .mlir or .test files, or .py files with a"),
        (["absent"], "absent: no such file or folder"),
        (["--load-pass", "absent.py", "tests"], "--load-pass: no file 'absent.py'"),
    ],
)
def test_folder_without_tests_is_an_error(project, arguments, message):
    (project / "empty/.venv").mkdir(parents=True)
    (project / "empty/.venv/installed.mlir").write_text(CASE)
    (project / "empty/helper.py").write_text("import jax\n")
    done = jxc("test", *arguments, folder=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("package", ["lit", "filecheck"])
def test_missing_package_is_named(project, monkeypatch, package):
    monkeypatch.setattr(lit_suite, "find_spec", lambda name: None if name == package else True)
    with pytest.raises(MissingTargetError, match=f"{package} is not installed: pip install"):
        lit_suite.run_lit([project])


def test_filecheck_needs_nothing_on_path(tmp_path):
    (tmp_path / "checks").write_text("// CHECK: a{{.}}c\n")
    assert jxc("filecheck", "checks", folder=tmp_path, stdin="abc\n").returncode == 0
    assert jxc("filecheck", "checks", folder=tmp_path, stdin="abd\n").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], "filecheck: absent: No such file"),
        (["checks", "--no-such-option"], "filecheck: Unconsumed arguments"),
        (["checks", "--input-file=latin"], "filecheck: expected texts in UTF-8; found byte 0xe9"),
    ],
)
def test_filecheck_reports_a_bad_command_line(tmp_path, arguments, message):
    (tmp_path / "checks").write_text("// CHECK: a\n")
    (tmp_path / "latin").write_bytes("é\n".encode("latin-1"))
    done = jxc("filecheck", *arguments, folder=tmp_path, stdin="a\n")
    assert done.returncode == 2
    assert done.stderr.startswith(f"jxc: error: {message}")

"""The check of private names that `scripts/canary.py` runs first."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.canary import is_failure, jax_arguments
from scripts.release.private_names import missing, names_used, private_files

ROOT = Path(__file__).parent.parent

ROOM = """\
import jax
import numpy as np
from jax._src import compiler as _compiler, no_such_module
from jax._src.interpreters import pxla as _pxla

POINTS = {{
    "compile": (_compiler, "{function}"),
    "load": (_pxla.UnloadedMeshExecutable, "{method}"),
}}


def key(lowered):
    return lowered._lowering.{attribute}, np.no_such_function, _compiler.{function}


def read(traced, self):
    return getattr(traced, "{private}", ()), self.public_name, traced.__doc__
"""


def absent(folder, **names):
    path = folder / "room" / "_private.py"
    path.parent.mkdir()
    path.write_text(ROOM.format(**names))
    (found,) = private_files(folder)
    return {str(each): int(each.where.rpartition(":")[2]) for each in missing(names_used(found))}


def test_names_that_exist_are_not_reported(tmp_path):
    names = {"function": "compile_or_get_cached", "method": "load", "private": "_consts"}
    found = absent(tmp_path, attribute="compile_args", **names)
    assert found == {"jax._src.no_such_module": 3}


def test_doctored_names_are_reported_with_their_lines(tmp_path):
    names = {"function": "compile_no_more", "method": "unload", "private": "_no_such_field"}
    assert absent(tmp_path, attribute="no_such_args", **names) == {
        "jax._src.no_such_module": 3,
        "jax._src.compiler.compile_no_more": 7,
        "jax._src.interpreters.pxla.UnloadedMeshExecutable.unload": 8,
        "(a value of jax)._lowering.no_such_args": 13,
        "(a value of jax)._no_such_field": 17,
    }


def test_this_jax_has_all_private_names():
    script = ROOT / "scripts" / "release" / "private_names.py"
    command = [sys.executable, str(script), str(ROOT / "toolchain")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rooms = {file.parent.name for file in private_files(ROOT / "toolchain")}
    assert {"backend", "frontend", "ir", "patterns"} <= rooms


@pytest.mark.parametrize(
    "line",
    [
        "jax._src.a.b: missing, used at toolchain/ir/_private.py:3",
        "FAILED tests/test_files.py::test_read - OSError",
        "FAIL: jxc :: opt/crash.test (1 of 2)",
        "no tests ran in 0.01s",
    ],
)
def test_is_failure_reads_each_summary(line):
    assert is_failure(line)
    assert not is_failure("12 passed, 1 skipped in 3.00s")
    assert not is_failure("Passed: 12 (100.00%)")


def test_jax_arguments_of_a_version_and_of_nightly_builds():
    assert jax_arguments("0.12.0", pre=False, nightly=False)[-2:] == [
        "jax==0.12.0",
        "jaxlib==0.12.0",
    ]
    assert "--pre" in jax_arguments(None, pre=False, nightly=True)

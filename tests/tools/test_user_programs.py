"""What `jxc explain` and `jxc profile` share: modules of `-m`, and streams that programs close."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

JXC = str(Path(sys.executable).parent / "jxc")

verbs = pytest.mark.parametrize("verb", ["explain", "profile"])


def run(folder, *command):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


def write(folder, **files):
    """Write packages: `pkg__main="..."` is the file pkg/__main__.py."""
    for name, text in files.items():
        package, _, module = name.partition("__")
        (folder / package).mkdir(exist_ok=True)
        (folder / package / f"__{module}__.py").write_text(text)


@verbs
def test_package_is_imported_while_its_output_is_kept_apart(tmp_path, verb):
    write(tmp_path, pkg__init="print('init')", pkg__main="import jax")
    done = run(tmp_path, JXC, verb, "--json", "-", "-m", "pkg")
    assert isinstance(json.loads(done.stdout), dict)
    assert "init" in done.stderr


def test_programs_of_a_package_are_recorded_and_arguments_are_those_of_python(tmp_path):
    init = "import sys, jax\nprint(sys.argv)\njax.jit(lambda x: x + 1)(1.0)\n"
    write(tmp_path, pkg__init=init, pkg__main="import sys\nprint(sys.argv, __package__)\n")
    done = run(tmp_path, JXC, "explain", "-m", "pkg", "a")
    assert done.stdout == run(tmp_path, sys.executable, "-m", "pkg", "a").stdout
    assert "__init__.py:3" in done.stderr


@pytest.mark.parametrize("name", ["spaces.tool", "spaces.inner", "spaces.inner.__main__"])
def test_modules_of_namespace_packages_run(tmp_path, name):
    (tmp_path / "spaces/inner").mkdir(parents=True)
    for file in ("spaces/tool.py", "spaces/inner/__main__.py"):
        (tmp_path / file).write_text("import jax\nprint(__file__, __spec__.name, __package__)\n")
    plain = run(tmp_path, sys.executable, "-m", name)
    assert run(tmp_path, JXC, "explain", "-m", name).stdout == plain.stdout != ""


@verbs
@pytest.mark.parametrize("name", [".pkg", "", "a..b", "pkg.", "pkg.none", "none.x"])
def test_names_of_no_module_are_usage_errors(tmp_path, verb, name):
    write(tmp_path, pkg__init="", pkg__main="print('ran')")
    done = run(tmp_path, JXC, verb, "-m", name)
    assert (done.returncode, done.stdout) == (2, "")
    expected = f"-m {name or repr(name)}: expected a module that Python can run, found none"
    assert done.stderr == f"jxc: error: {expected}\n"


@verbs
@pytest.mark.parametrize("init", ["raise ValueError('mine')", "import missing_module"])
def test_error_of_a_package_is_shown_as_by_python(tmp_path, verb, init):
    write(tmp_path, pkg__init=init, pkg__main="")
    done, plain = run(tmp_path, JXC, verb, "-m", "pkg"), run(tmp_path, sys.executable, "-m", "pkg")
    assert done.returncode == plain.returncode == 1
    *traceback, message = done.stderr.splitlines()
    assert traceback == [line for line in plain.stderr.splitlines() if "<frozen" not in line]
    assert message == f"jxc {verb}: the program did not import jax"


CLOSED = {
    "sys.stdout.close()": True,
    "sys.stderr.close()": True,
    "sys.stderr.close(); sys.stdout.close(); sys.exit('a text')": True,
    "sys.stderr = None": True,
    "os.close(1); os.close(2)": False,
}
"""Ends of programs, and whether there is a descriptor for the report afterwards."""


@verbs
@pytest.mark.parametrize("end", CLOSED)
def test_report_is_written_after_the_program_closed_its_streams(tmp_path, verb, end):
    (tmp_path / "script.py").write_text(f"import os, sys, jax\njax.jit(abs)(1.0)\n{end}\n")
    plain = run(tmp_path, sys.executable, "script.py")
    done = run(tmp_path, JXC, verb, "--json", "p.json", "script.py")
    assert (done.returncode, done.stdout) == (plain.returncode, "")
    assert done.stderr.startswith(f"jxc {verb}: ") == CLOSED[end]
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "p.json").read_text())["schema_version"]

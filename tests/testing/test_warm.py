"""Programs in forks of one process behave as in processes of their own."""

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from jxc.testing import warm

MODULE = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


@pytest.fixture(scope="module")
def jxc():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = shlex.split(warm.command(warm.started(environment), "jxc"))

    def run(*arguments, **options):
        given = {"env": environment, "capture_output": True, "text": True, "timeout": 100}
        return subprocess.run([*command, *arguments], **(given | options))

    return run


def test_streams_and_arguments(jxc):
    done = jxc("opt", "-", "-p", "cse", input=MODULE)
    assert (done.returncode, done.stderr) == (0, "")
    assert "return %arg0" in done.stdout


def test_files_as_streams(jxc, tmp_path: Path):
    (tmp_path / "in.mlir").write_text(MODULE)
    with (tmp_path / "in.mlir").open() as given, (tmp_path / "out.mlir").open("w") as taken:
        done = jxc("opt", capture_output=False, stdin=given, stdout=taken, cwd=tmp_path)
    assert done.returncode == 0
    assert "return %arg0" in (tmp_path / "out.mlir").read_text()


@pytest.mark.parametrize("arguments,code", [(["--version"], 0), (["opt", "none.mlir"], 2)])
def test_exit_codes(jxc, arguments, code, tmp_path: Path):
    done = jxc(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert (done.stderr == "") == (code == 0)
    assert "Traceback" not in done.stderr


def test_requests_do_not_see_each_other(jxc, tmp_path: Path):
    for name, size in (("a", 3), ("b", 4)):
        (tmp_path / name).mkdir()
        program = f"import jax.numpy as jnp\ndef f():\n    return jnp.ones({size})\n"
        (tmp_path / name / "program.py").write_text(program)
        done = jxc("lower", "program.py:f", cwd=tmp_path / name)
        assert f"tensor<{size}xf32>" in done.stdout


def test_a_program_ends_with_its_client(jxc, tmp_path: Path):
    program = "import os, time\nopen('started', 'w').write(str(os.getpid()))\ntime.sleep(100)\n"
    (tmp_path / "program.py").write_text(program)
    with pytest.raises(subprocess.TimeoutExpired):
        jxc("lower", "program.py:f", cwd=tmp_path, timeout=10)
    process = int((tmp_path / "started").read_text())
    until = time.monotonic() + 60
    while time.monotonic() < until and Path(f"/proc/{process}").exists():
        time.sleep(0.1)
    assert not Path(f"/proc/{process}").exists()


def test_a_program_that_a_signal_ends(jxc, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"
    )
    assert jxc("lower", "program.py:f", cwd=tmp_path).returncode == -15


def test_what_jax_reads_at_import_starts_another_process(jxc, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import jax.numpy as jnp\ndef f():\n    return jnp.arange(3.0)\n"
    )
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
    assert "f64" in jxc("lower", "program.py:f", env=environment, cwd=tmp_path).stdout
    assert "f64" not in jxc("lower", "program.py:f", cwd=tmp_path).stdout

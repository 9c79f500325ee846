"""`jxc report` and `jxc doctor` end with the command that makes a program fit."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jxc.cli.options import PassOptions, fit_command
from jxc.frontend import LowerRequest

MODEL = """
import jax
import jax.numpy as jnp


def loss(params, x):
    for up, down in params:
        x = x + jax.nn.gelu(x @ up) @ down
    return jnp.mean(x**2)


def step(params, x):
    return jax.value_and_grad(loss)(params, x)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def jxc(folder, *words):
    command = [Path(sys.executable).parent / "jxc", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_command_of_report_makes_a_plan(folder):
    layers = ", ".join(4 * ["(f32[64,256], f32[256,64])"])
    specs = [f"[{layers}]", "f32[1024,64]"]
    ran = jxc(folder, "report", "model.py:step", *specs, "--max-memory", "12MiB", "-O1")
    assert ran.returncode == 1
    line = ran.stdout.splitlines()[-1]
    name, *words = shlex.split(line)
    assert (name, words[:2], words[2:4]) == ("jxc", ["fit", "model.py:step"], specs)
    fitted = jxc(folder, *words)
    assert fitted.returncode == 0, fitted.stderr
    assert "O1" in (folder / "plan.toml").read_text()


def test_doctor_reports_a_program_that_exceeds_memory(folder):
    large = ["(f32[16384,1048576], f32[1048576,16384])", "f32[16777216,16384]"]
    ran = jxc(folder, "doctor", "model.py:loss", f"[{large[0]}]", large[1], "--only=exceeds-memory")
    assert "the program does not fit: needs" in ran.stdout, ran.stderr
    assert shlex.split(ran.stdout.splitlines()[-1])[:3] == ["jxc", "fit", "model.py:loss"]
    small = jxc(folder, "doctor", "model.py:loss", "[(f32[8,8], f32[8,8])]", "f32[8,8]")
    assert "exceeds-memory" not in small.stdout


def test_fit_command_repeats_the_options():
    request = LowerRequest(
        "model.py:step",
        args_from="model.py:make",
        static=("train=True",),
        mesh="data=4",
        sharding=("x=data", "y="),
        x64=True,
    )
    line = fit_command(request, "tpu:v5e:2x2", 3 << 30, PassOptions(level="1", assume=("no-nans",)))
    assert line == (
        "jxc fit model.py:step --args model.py:make --static train=True --mesh data=4 --sharding "
        "x=data --sharding y= --x64 --assume=no-nans -p O1 --target tpu:v5e:2x2 --max-memory "
        "3072MiB -o plan.toml"
    )

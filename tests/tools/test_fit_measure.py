"""`jxc fit --measure`: the measured peak and time stand beside the promised ones."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.errors import UsageError
from jxc.events.resident import peak_growth

MIB = 2**20


def loss(params, x):
    for up, down in params:
        x = x + jax.nn.gelu(x @ up) @ down
    return jnp.mean(x**2)


def step(params, x):
    return jax.tree.map(lambda p, g: p - g, params, jax.grad(loss)(params, x))


def arguments(rows=2048):
    shapes = (128, 512), (512, 128), (rows, 128)
    up, down, batch = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    return [(up, down)] * 6, batch


def test_peak_growth_counts_the_result_and_the_temporaries_of_a_call():
    program = jax.jit(lambda x: jnp.flip(jnp.full((8, MIB), x)), compiler_options={})
    found = peak_growth(lambda: lambda: program(1.0))
    assert found is None or 0.9 * 32 * MIB < found < 1.3 * 64 * MIB
    assert peak_growth(lambda: lambda: None) in (None, *range(MIB))


def test_measured_peaks_are_near_the_promised_ones():
    found = jxc.fit(step, *arguments(), max_memory="40MiB", measure=True)
    assert found.plan is not None
    for trial in (found.base, found.chosen):
        assert trial.measured.seconds > 0
        if trial.measured.needed is not None:
            assert 0.8 * trial.needed < trial.measured.needed < 1.3 * trial.needed
    assert "measured on this machine" in str(found)
    assert found.chosen in found.trials
    assert found.as_json()["chosen"]["measured_seconds"] == found.chosen.measured.seconds


def test_donated_arguments_are_measured():
    donating = jax.jit(step, donate_argnums=0)
    found = jxc.fit(donating, *arguments(rows=512), max_memory="1GiB", measure=True)
    assert found.base.measured is not None and found.chosen is found.base


def test_measure_needs_the_cpu_target():
    with pytest.raises(UsageError, match=r"expected the target cpu.* found tpu:v5e"):
        jxc.fit(step, *arguments(), target="tpu:v5e", measure=True)


def test_measure_on_the_command_line(tmp_path):
    path = tmp_path / "model.py"
    path.write_text("import jax.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x).sum()\n")
    flags = ["fit", f"{path}:f", "f32[64,64]", "--max-memory", "1MiB", "--measure"]
    assert "measured on this machine" in jxc_output(*flags)
    assert json.loads(jxc_output(*flags, "--json"))["chosen"]["measured_seconds"] > 0


def jxc_output(*flags):
    command = [Path(sys.executable).parent / "jxc", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

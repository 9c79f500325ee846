"""Versions for this CPU run: each as it is compiled, and with `--measure` all of them in turn."""

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
from jxc.tools.fit import clock, measure
from jxc.tools.fit.candidates import fastest
from jxc.tools.fit.clock import Clock
from jxc.tools.fit.measure import Measurement
from jxc.tools.fit.result import MeasuredRun, Trial

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


def test_versions_are_timed_as_they_are_compiled():
    found = jxc.fit(step, *arguments(), max_memory="40MiB")
    assert found.plan is not None
    for trial in (found.base, found.chosen):
        assert trial.is_timed and trial.measured is None
        assert trial.seconds == trial.as_json()["timed_seconds"] > 0
        assert trial.as_json()["estimated_seconds"] == trial.compiled.seconds
    assert "time, measured" in str(found) and "roofline" not in str(found)


def test_fastest_timed_version_is_chosen(monkeypatch):
    monkeypatch.setattr(Clock, "seconds", lambda self, lowered, found: 1 / found.roofline_seconds)
    found = jxc.fit(step, *arguments(), max_memory="40MiB", pipeline="O0")
    fit = [trial for trial in found.trials if trial.needed <= 40 * MIB]
    assert len(fit) > 1 and found.chosen is min(fit, key=lambda trial: trial.seconds)


def test_version_that_does_not_run_has_a_time_by_the_model(monkeypatch):
    times = iter([1.0])
    monkeypatch.setattr(Clock, "seconds", lambda self, lowered, found: next(times, None))
    found = jxc.fit(step, *arguments(), max_memory="40MiB")
    assert found.base.is_timed and not any(trial.is_timed for trial in found.trials)
    assert found.chosen.seconds == 1.0 + found.chosen.choice.seconds


def doubled_until(x, limit):
    return jax.lax.while_loop(lambda y: y.sum() < limit, lambda y: 2 * y, x)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: jax.debug.callback(called.append, x.sum()),
        lambda x: jax.pure_callback(called.append, jax.ShapeDtypeStruct((), x.dtype), x.sum()),
        lambda x: doubled_until(x, -jnp.inf),
    ],
    ids=["effect", "callback", "loop of unknown trip count"],
)
def test_program_that_must_not_run_is_not_timed(program):
    found = jxc.fit(program, jax.ShapeDtypeStruct((64, 64), jnp.float32), max_memory="1MiB")
    assert not found.base.is_timed and not called
    assert "time: the roofline, a lower bound, since the program was not run" in str(found)


called = []


def test_program_larger_than_half_of_the_free_memory_is_not_timed(monkeypatch):
    monkeypatch.setattr(clock, "free_bytes", lambda: 100 * MIB)
    found = jxc.fit(step, *arguments(), max_memory="40MiB")
    assert not found.base.is_timed and not found.chosen.is_timed
    assert found.base.as_json()["timed_seconds"] is None


def test_fastest_measured_version_is_chosen(monkeypatch):
    seconds = {"no plan": 1.0}

    def runs(self, trials, rewritten):
        names = sorted((trial.seconds, trial.name) for trial in trials[1:])
        seconds.update({name: 1.0 / (i + 1) for i, (_, name) in enumerate(names)})
        return [MeasuredRun(trial.needed, seconds[trial.name]) for trial in trials]

    monkeypatch.setattr(Measurement, "runs", runs)
    monkeypatch.setattr(Clock, "seconds", lambda self, lowered, found: None)
    given = {"max_memory": "40MiB", "pipeline": "O0"}
    promised, measured = (jxc.fit(step, *arguments(), **given, measure=m) for m in (False, True))
    fit = [trial for trial in measured.trials if trial.measured]
    assert len(fit) > 1 and all(trial.needed <= 40 * MIB for trial in fit)
    slowest = max(fit, key=lambda trial: trial.seconds)
    assert measured.chosen is slowest and promised.chosen.name != slowest.name
    assert "measured on this machine; the fastest is chosen" in str(measured)


def test_measured_peak_over_the_budget_counts():
    def trial(name, seconds, measured):
        return Trial(name, 50, 1.0, measured=MeasuredRun(measured, seconds))

    trials = [trial("larger", 1.0, 90), trial("slower", 2.0, 60), Trial("not run", 50, 0.1)]
    assert fastest(trials, 70).name == "slower"
    assert fastest(trials[:1], 70).name == "larger"


def test_versions_larger_than_the_free_memory_are_not_run(monkeypatch):
    monkeypatch.setattr(measure, "free_bytes", lambda: 45 * MIB)
    found = jxc.fit(step, *arguments(), max_memory="40MiB", measure=True)
    assert found.base.measured is None and found.chosen.measured is not None
    assert found.unmeasured == ("no plan",)
    assert "not measured, since this machine has too little free memory: no plan" in str(found)


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

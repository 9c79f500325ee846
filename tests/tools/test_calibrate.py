"""`jxc calibrate`: rates are measured, saved, and read by the passes whose guards use them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest
from jaxlib.mlir.dialects.stablehlo import AddOp, MulOp
from jaxlib.mlir.ir import Value

import jxc
from jxc.cost.cpu import COMPILE_KERNEL
from jxc.cost.rates import Rate, Rates, rates_of
from jxc.errors import MissingTargetError, UsageError
from jxc.rewrite import PassContext, apply_rules
from jxc.tools.calibrate import all_rates
from jxc.tools.calibrate.calibrate import calibrate, save_rates
from jxc.tools.calibrate.probes import PROBES, Probe

ADDITION = Rate("addition", "one addition of two floats, in ns", shipped=1.0)


def additions(count):
    return Probe(ADDITION, lambda: (lambda x: x + 1, (jnp.ones(count),)), count)


def test_calibrate_gives_nanoseconds_per_unit():
    large = calibrate(seconds=0, probes=[additions(1 << 20)])["addition"]
    small = calibrate(seconds=0, probes=[additions(1)])["addition"]
    assert 0.001 < large < 100 < small  # a call with one addition measures only overhead


def test_calibrate_reports_progress_and_rejects_missing_targets():
    reported = []
    calibrate(seconds=0, probes=[additions(8)], progress=lambda *what: reported.append(what))
    assert reported[0] == ("compiling addition", 0, 1) and reported[-1][0] == "measuring"
    with pytest.raises(MissingTargetError, match="target 'gpu': JAX finds none here"):
        calibrate("gpu", probes=[])


def test_probes_measure_exactly_the_declared_rates():
    measured = {probe.rate.name for probe in PROBES} | {COMPILE_KERNEL.name}
    assert measured == set(all_rates()) != set()


def test_saved_rates_are_read_back(tmp_path, monkeypatch):
    file = tmp_path / "deep" / "rates.json"
    save_rates(file, "cpu", {"addition": 3.5})
    save_rates(file, "cpu", {"addition": 4.5})
    monkeypatch.setenv("JXC_RATES", str(file))
    assert PassContext("cpu").rates[ADDITION] == 4.5
    assert rates_of("gpu")[ADDITION] == 1.0 and not rates_of("gpu").decides
    saved = json.loads(file.read_text())
    assert saved["schema_version"] == 1 and saved["measured"]["cpu"]["jaxlib"]


def test_a_damaged_rates_file_is_rejected(tmp_path, monkeypatch):
    file = tmp_path / "rates.json"
    file.write_text('{"targets": 3}')
    monkeypatch.setenv("JXC_RATES", str(file))
    with pytest.raises(UsageError, match=r"rates.json: expected rates that `jxc calibrate`"):
        PassContext("cpu")
    with pytest.raises(UsageError, match="delete the file"):
        save_rates(file, "cpu", {})
    assert file.read_text() == '{"targets": 3}'


@jxc.rule(jxc.exact, targets=("cpu",), by_rates=True)
def sum_of_same(op: AddOp, context: PassContext) -> Value | None:
    """x + x -> 2 * x, if additions are slow."""
    from jxc.ir import build

    if op.lhs != op.rhs or context.rates[ADDITION] < 2:
        return None
    return MulOp(op.lhs, build.splat(2, op.lhs.type)).result


@pytest.mark.parametrize(
    ("target", "measured", "fires"),
    [
        ("cpu", {}, 0),
        ("cpu", {"addition": 3.0}, 1),
        ("gpu", {}, 0),
        ("gpu", {"addition": 3.0}, 1),
        ("gpu", {"addition": 1.0}, 0),
    ],
)
def test_rules_use_measured_rates_of_their_target(target, measured, fires):
    module = jxc.lower(lambda x: x + x, jnp.ones(4)).module
    context = PassContext(target, rates=Rates(target, measured))
    counts = apply_rules(module.operation, [sum_of_same], context)
    assert sum(count.hits for count in counts) == fires


def jxc_calibrate(*args, **env):
    command = [Path(sys.executable).parent / "jxc", "calibrate", *args]
    return subprocess.run(command, capture_output=True, text=True, env=_environment(env))


def _environment(changes):
    return {key: value for key, value in {**os.environ, **changes}.items() if value is not None}


def test_calibrate_shows_the_rates_file(tmp_path):
    file = tmp_path / "rates.json"
    shown = jxc_calibrate("--show", "--json", JXC_RATES=None, JXC_CONFIG_DIR=str(tmp_path))
    assert json.loads(shown.stdout)["source"] == ""
    name = next(iter(all_rates()))
    save_rates(file, "cpu", {name: 123.0})
    shown = json.loads(jxc_calibrate("--show", "--json", JXC_RATES=str(file)).stdout)
    assert shown["source"] == str(file)
    assert [row["here"] for row in shown["rates"] if row["rate"] == name] == [123.0]
    assert jxc_calibrate(JXC_RATES="shipped").returncode == 2


def test_a_missing_rates_file_is_an_error_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("JXC_RATES", str(tmp_path / "misspelt.json"))
    with pytest.raises(UsageError, match=r"JXC_RATES=.*misspelt\.json: no such file"):
        rates_of("cpu")
    with pytest.raises(UsageError, match=r"misspelt\.json"):
        jxc.lower(lambda x: x + x, jnp.ones(4)).opt("O2")
    shown = jxc_calibrate("--show", JXC_RATES=str(tmp_path / "misspelt.json"))
    assert shown.returncode == 2 and "misspelt.json: no such file" in shown.stderr


def test_rates_are_kept_in_the_configuration_directory(tmp_path):
    file = tmp_path / "jxc" / "rates.json"
    save_rates(file, "cpu", {next(iter(all_rates())): 1.0})
    shown = jxc_calibrate("--show", JXC_RATES=None, JXC_CONFIG_DIR=None, XDG_CONFIG_HOME=tmp_path)
    if sys.platform == "linux":
        assert f"target cpu: {file}" in shown.stdout

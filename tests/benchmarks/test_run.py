"""The command `run.py` on the smallest model, and with a missing package."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest
from install import bench_extras
from models import MODELS, SIZES
from run import chosen, options

ROOT = Path(__file__).parent.parent.parent


def run_script(*arguments, script="run.py", **settings):
    command = [sys.executable, str(ROOT / "benchmarks" / script), *map(str, arguments)]
    environment = {**os.environ, **settings}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_run_writes_all_files_for_a_model(tmp_path):
    files = {name: tmp_path / name for name in ("raw", "history", "results")}
    done = run_script(
        *("--models", "k-means", "--levels", "O0,O2", "--processes", 1, "--seconds", 0.2, "--json"),
        *(f"--{name}={file}" for name, file in files.items()),
        JXC_PIPELINE="O2",  # must not apply to plain jax.jit
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    [model] = printed["models"]
    assert model["model"] == "k-means"
    plain, same, ours = (model["contenders"][name] for name in ("plain", "O0", "O2"))
    assert plain["ops"] == same["ops"] != ours["ops"]
    assert same["error"] == 0 and ours["agrees"] and ours["rules"] and not plain["rules"]
    assert printed["summary"]["O2"]["models"] == 1
    assert json.loads(files["history"].read_text())["commit"] == printed["commit"]
    assert "| k-means |" in files["results"].read_text()
    again = run_script("--read", files["raw"], "--levels", "O0,O2", "--json")
    assert json.loads(again.stdout) == printed


def test_run_skips_models_of_a_missing_package_with_the_reason(tmp_path):
    (tmp_path / "equinox.py").write_text("raise ImportError('no equinox here')")
    done = run_script("--models", "equinox-*", "--processes", 2, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "2 skipped" in done.stdout
    assert "equinox-mixer-training: ImportError: no equinox here" in done.stdout


def test_run_counts_a_process_that_exits_and_fails(tmp_path):
    (tmp_path / "equinox.py").write_text("raise SystemExit('gone')")
    done = run_script("--models", "equinox-mixer-training", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "1 broken" in done.stdout
    assert "equinox-mixer-training: exit code 1: gone" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "nothing"], "no model is called 'nothing'"),
        (["--sizes", "small,huge"], "expected some of small, usual, large, found 'huge'"),
        (["--levels", "O9"], "expected some of O0, O1, O2, O3, enzyme, found 'O9'"),
    ],
)
def test_wrong_option_value_is_a_usage_error(arguments, message):
    done = run_script(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def family(model):
    return getattr(model.build, "func", model.build).__module__


def test_quick_models_cover_every_family():
    assert {family(m) for m in MODELS.values() if m.quick} == {family(m) for m in MODELS.values()}
    assert sum(model.quick for model in MODELS.values()) <= 20


def test_sizes_choose_models_unless_a_pattern_names_one():
    assert chosen("k-means,signal@small", ["large"], quick=False) == [
        "signal@small",
        "k-means@large",
    ]
    assert chosen("k-*", SIZES, quick=True) == ["k-means"]


@pytest.mark.parametrize("name", ["k-means", "lstm-training", "word2vec-training"])
def test_larger_sizes_of_a_model_take_more_memory(name):
    args = [MODELS[f"{name}{size}"]()[1] for size in ("@small", "", "@large")]
    small, usual, large = (sum(x.nbytes for x in jax.tree.leaves(each)) for each in args)
    assert small < usual < large


def test_every_bench_extra_has_a_lower_bound():
    pyproject = ROOT / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    assert "bench-keras" in bench_extras(pyproject)
    assert all(">=" in need for name in bench_extras(pyproject) for need in extras[name])


@pytest.mark.parametrize(
    ("arguments", "usual", "large"),
    [((), "O1,O2,O3,enzyme", "O1,O2"), (("--levels", "O3,enzyme"), "O3,enzyme", "O3")],
)
def test_other_sizes_are_measured_without_o3_unless_it_is_named(
    arguments, usual, large, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    given = options()
    assert ",".join(given.levels) == usual
    assert ",".join(x for x in given.levels if x not in given.left_out) == large

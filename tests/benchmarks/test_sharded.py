"""Models over meshes: their shardings, and what counts as worse."""

import json

import pytest
from accelerators_worker import lowered_over
from jax.sharding import PartitionSpec as P
from meshes import MESHES, SHARDED, program_of, shardings_of
from models import MODELS
from sharded import Comparison, lines_of, table

from jxc.ir.shardings import parse_mesh

from .test_run import run_script


def metrics(**changed):
    """The metrics that `accelerators_worker.py` prints for one contender."""
    found = {"name": "plain", "collectives": 3, "collective_bytes": 3e3, "peak": 2**26}
    found |= {"seconds": 1e-4, "arguments": ["{replicated}"], "results": ["{replicated}"]}
    return found | {"rules": {}} | changed


def record(*contenders, mesh="data=4"):
    about = {"model": "k-means", "mesh": mesh, "target": "cpu"}
    return about | {"contenders": list(contenders)}


@pytest.mark.parametrize(
    ("changed", "losses"),
    [
        ({"collectives": 2, "collective_bytes": 2e3, "agrees": True, "error": 1e-7}, []),
        ({"collectives": 4}, ["collectives 1.333x"]),
        ({"collective_bytes": 3.3e3}, ["collective_bytes 1.100x"]),
        ({"peak": 1.018 * 2**26, "seconds": 1.005e-4}, []),
        ({"peak": 1.03 * 2**26, "seconds": 1.02e-4}, ["peak 1.030x", "seconds 1.020x"]),
        ({"results": ["{devices=[4]<=[4]}"]}, ["1 shardings"]),
        ({"agrees": False, "error": 0.5}, ["values DIFFER by 0.5"]),
    ],
)
def test_losses_of_communication_memory_time_shardings_and_values(changed, losses):
    assert Comparison(record(metrics(), metrics(**changed))).losses == losses


def test_peak_that_grows_by_less_than_a_mebibyte_is_listed_but_not_worse():
    for growth, is_worse in ((2**20 - 1, False), (2**20, True)):
        found = Comparison(record(metrics(peak=2**21), metrics(peak=2**21 + growth)))
        assert found.grew_little != is_worse and bool(found.losses) == is_worse
        assert ("peak grows by 1024 KiB" in table([found])) != is_worse


def test_measured_time_counts_in_place_of_the_roofline():
    def found(*spent):
        before = metrics(run_seconds=[1.0] * len(spent))
        return Comparison(record(before, metrics(seconds=2e-4, run_seconds=[*spent])))

    assert found(0.4, 0.5, 0.6).losses == []
    assert "| 2.00 [1.67, 2.50] |" in table([found(0.4, 0.5, 0.6)])
    assert found(0.9, 1.1, 1.2).losses == []  # within noise
    assert found(1.2, 1.3, 1.4).losses == ["measured time 1.300x"]


def test_table_begins_with_those_that_are_worse_and_lists_missing_ones():
    better, worse = metrics(collectives=2), metrics(collectives=4)
    missing = {"model": "signal", "mesh": "data=4", "target": "cpu", "skipped": "no jax_md"}
    records = [record(metrics(), better), record(metrics(), worse, mesh="data=2"), missing]
    lines = table([Comparison(each) for each in records]).splitlines()
    assert lines[0] == "1 of 2 are worse."
    assert lines[4].startswith("| k-means over data=2 | 3 -> 4 |") and "**worse**" in lines[4]
    assert lines[5].startswith("| k-means over data=4 | 3 -> 2 |")
    assert lines[-1] == "- no result: signal over data=4, cpu: no jax_md"


def test_blame_lists_rules_that_change_a_metric():
    without = metrics(name="O2 -a", collectives=3, seconds=2e-4)
    contenders = [metrics(), metrics(name="O2", collectives=4), without]
    same = metrics(name="O2 -b", collectives=4)
    lines = lines_of(Comparison(record(*contenders, same)))
    assert "  O2 -a: 3 collectives with 3 KB, peak 1.000x, time 2.000x" in lines
    assert not any("O2 -b" in line for line in lines)


def test_script_compiles_and_runs_a_model_over_cpu_devices(tmp_path):
    raw, results = tmp_path / "raw", tmp_path / "results.md"
    names = ("k-means", "--targets", "cpu", "--raw", raw, "--results", results)
    done = run_script(*names, script="sharded.py")
    assert "k-means over data=4, cpu" in done.stdout, done.stderr
    _, found = map(json.loads, raw.read_text().splitlines())
    plain, after = found["contenders"]
    split, whole = plain["arguments"]  # written otherwise by each jax
    assert plain["collectives"] == 3 and split != whole and "replicated" in whole
    assert after["agrees"] and after["results"] == plain["results"] == [whole]
    assert "| k-means over data=4 | 3 |" in results.read_text()


def test_unknown_model_is_a_usage_error():
    done = run_script("no-such", script="sharded.py")
    assert done.returncode == 2
    assert "is called ['no-such']" in done.stderr and "Traceback" not in done.stderr


def test_models_over_meshes_are_registered_and_axes_that_a_mesh_lacks_are_left_out():
    assert SHARDED.keys() <= MODELS.keys()
    program = program_of("transformer-training")
    both = shardings_of("transformer-training", {"data", "model"}, program)
    assert both["parameters['layers'][*]['up']"] == P(None, "model")
    one = shardings_of("transformer-training", {"data"}, program)
    assert one["parameters['layers'][*]['up']"] == P(None, None)
    assert (one["inputs[0]"], one["moments"]) == (P("data"), P())


@pytest.mark.parametrize("mesh", MESHES)
def test_model_over_a_mesh_is_lowered_for_all_of_its_devices(mesh):
    lowered = lowered_over(mesh, "mlp-training", program_of("mlp-training"))
    assert dict(lowered.mesh) == parse_mesh(mesh)

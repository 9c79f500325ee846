"""Programs that need much memory: their variants compute the same, and records make a report."""

import json

import jax
import numpy as np
import pytest
from fit import records, registry, report, worker
from fit.programs import PROGRAMS
from fit.variants import parse_variant

TINY = {
    "lstm": {"steps": 12, "width": 8, "inputs": 4, "batch": 4},
    "wave": {"steps": 12, "side": 16},
    "mixture-of-experts": {"layers": 1, "width": 16, "heads": 2, "experts_count": 4}
    | {"length": 16, "words": 32, "batch": 4, "dtype": "float32"},
}
CHANGES = {"block", "nested", "parts:2", "nested+parts:4", "block+parts:4"}


@pytest.mark.parametrize("name", TINY)
def test_variants_compute_the_same_parameters(name):
    program = PROGRAMS[name]

    def parameters(variant):
        step, args = program.step(variant, TINY[name])
        return jax.tree.leaves(jax.jit(step)(*registry.values_of(args))[0])

    plain = parameters("plain")
    for variant in CHANGES.intersection(program.variants):
        for one, other in zip(plain, parameters(variant), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6, err_msg=variant)


def test_parse_variant_names_what_it_expects():
    found = parse_variant("block:dots_saveable+parts:4")
    assert (found.blocks, found.whole, found.parts) == ("dots_saveable", None, 4)
    with pytest.raises(ValueError, match="expected plain, block"):
        parse_variant("block:everything")


def test_every_program_has_sizes_for_each_device():
    for program in PROGRAMS.values():
        small, large, largest = (program.sizes(each << 30) for each in (0, 16, 80))
        assert set(small) == set(large) == set(largest)
        assert large != largest


def test_report_marks_what_does_not_fit_and_can_be_read_back(tmp_path):
    about = {"jax": "0", "commit": "c", "compile_seconds": 1.0}
    kinds = {"compilations": 5, "search_seconds": 7.0}
    made = {
        "plain": {"peak": 31 << 30, "fits": False},
        "nested": {"peak": 2 << 30, "fits": True, "seconds": 0.5},
        worker.FITTED: {"peak": 3 << 30, "fits": True, "seconds": 0.4} | kinds,
        worker.EQUAL: {"failed": "no plan fits: the least is 3 GiB"},
    }
    keys = {records.key_of("wave", name, "tpu:v5e"): each | about for name, each in made.items()}
    text = report.section("tpu:v5e", keys)
    assert (
        "| wave | **31 GiB** |  | nested | 2 GiB | 500 | nested | 2 GiB | 500 | 3 GiB | 400 |"
        in text
    )
    assert "Plain does not fit for 1 of 1 programs." in text
    assert "The fitted plan fits for 1 of 1." in text
    file = tmp_path / "FIT.md"
    file.write_text(text)
    found = records.read_table(file)
    assert found[records.key_of("wave", worker.FITTED, "tpu:v5e")]["search_seconds"] == 7.0
    assert report.section("tpu:v5e", found) == text


def test_run_goes_on_after_the_rows_of_the_file(tmp_path):
    file = tmp_path / "fit.jsonl"
    key = records.key_of("wave", "plain", "tpu:v5e")
    file.write_text(
        json.dumps({"key": key, "peak": 1}) + "\n" + json.dumps({"key": key, "peak": 2})
    )
    assert records.read_records(file)[key]["peak"] == 2

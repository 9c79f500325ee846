"""The survey: each function of JAX is called or has a reason, and rows are measured and shown."""

import json

import jax
import pytest
from survey import report, run
from survey.cases import UNKNOWN, Case, surveyed

SINE = Case("jax.numpy", "sin", "f(x)", size="tiny")
SAME = Case("jax.lax", "sin", "f(x)", size="tiny")
ENDS = Case("jax.numpy", "sin", "__import__('os')._exit(1)", size="tiny")
SORTS = Case("jax.numpy", "sort", "f(x, axis=0)", mode="gradient", size="tiny")
WHOLE = Case("jax.numpy", "bitwise_not", "f(i)", mode="gradient", size="tiny")


def test_no_function_is_left_out_without_a_reason():
    cases, skipped = surveyed()
    assert {"jax.numpy", "jax.lax", "jax.scipy.stats.norm"} <= {case.module for case in cases}
    unknown = [name for name, why in skipped.items() if why == UNKNOWN]
    if jax.__version__ != "0.10.2" and unknown:
        pytest.skip(f"calls.toml was written for jax 0.10.2, not {jax.__version__}: {unknown}")
    assert not unknown


def test_keys_are_unique():
    every = [case.key for case in run.rows(surveyed()[0], quick=False)]
    assert len(every) == len(set(every))


@pytest.fixture(scope="module")
def records():
    cases = [SINE, ENDS, SAME, SORTS, WHOLE]
    return {record["key"]: record for record in run.measure(cases, {}, {})}


def test_row_has_times_errors_and_the_other_library(records):
    record = records[SINE.key]
    assert len(record["seconds"]["plain"]) == len(record["seconds"]["numpy"])
    assert 0 < record["errors"]["plain"] < 1e-6
    assert 0 < record["limit"] < min(record["seconds"]["plain"])
    assert record["O2"]["passes"]


def test_same_program_is_measured_once(records):
    assert records[SAME.key]["same"] == SINE.key


def test_crash_costs_one_row(records):
    assert "crashed" in records[ENDS.key]["failed"]
    assert records[SORTS.key]["agrees"]


def test_gradient_of_integers_is_not_taken(records):
    assert records[WHOLE.key]["failed"].startswith("not taken")


def test_known_program_is_not_measured_again(records):
    known = {SORTS.key: records[SORTS.key]["optimised"]}
    (again,) = run.measure([SORTS], {}, known)
    assert again == {"key": SORTS.key, "unchanged": True}


def _record(plain, ours, *, numpy, agrees=True):
    costs = {"passes": [0.01], "xla": [0.1]}
    return {
        "plain": costs | {"passes": [0.0]},
        "O2": costs,
        "seconds": {"plain": [plain] * 3, "O2": [ours] * 3, "numpy": [numpy] * 3},
        "ratio": [plain / ours] * 3,
        "rules": {"sort-to-packed": 1},
        "agrees": agrees,
        "error": 0.5,
        "limit": 1e-4,
    }


def test_report_counts_and_ranks(tmp_path, monkeypatch):
    cases = [Case("jax.numpy", name, "f(x)") for name in ("sin", "sort", "cos", "tan")]
    found = [
        _record(4e-3, 1e-3, numpy=1e-4),
        _record(1e-3, 2e-3, numpy=1e-3),
        _record(1e-3, 1e-3, numpy=1e-3, agrees=False),
    ]
    records = {case.key: record for case, record in zip(cases[:3], found, strict=True)}
    records[cases[3].key] = {"failed": "TypeError: a | b"}
    file = tmp_path / "survey.jsonl"
    lines = [json.dumps({"key": key} | record) for key, record in records.items()]
    file.write_text("\n".join(lines))
    results = tmp_path / "SURVEY.md"
    monkeypatch.setattr("sys.argv", ["report", str(file), "--results", str(results)])
    assert report.main() == 0
    text = results.read_text()
    assert "3 rows measured" in text
    assert "1 faster, 1 equal, 1 slower; geometric mean 1.26" in text
    assert "more than 5 times slower than the other library: 1 of 3 rows plain, 1 at O2" in text
    assert "| `jax.numpy.sort(x)` | forward, usual | 1 | 2 | 0.50 [0.50, 0.50] |" in text
    assert "wrong: 1" in text
    assert r"1 rows: TypeError: a \| b" in text

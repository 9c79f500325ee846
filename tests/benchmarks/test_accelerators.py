"""Estimates for models on accelerators: losses, summaries and tables; no compiler is needed."""

import json

import pytest
from accelerators_report import (
    contender_lines,
    name_of,
    outcome,
    rule_lines,
    summary_lines,
    table,
)
from accelerators_worker import changed

from .test_run import run_script

TPU, GPU = "tpu:v5e:2x2", "gpu:h100"


def metrics(name="plain", seconds=1e-4, peak=10 * 2**20, **others):
    """The metrics that `accelerators_worker.py` prints for one contender."""
    records = {"name": name, "ops": 50, "xla_seconds": 1.5, "cycles": 1e9 * seconds, "kernels": 12}
    records |= {"without_estimate": {"sort": 2}, "seconds": seconds, "bytes": 3e6, "peak": peak}
    return records | {"temporaries": 2**20, "passes_seconds": 0.01, "rules": {}} | others


def process(model, *contenders, target=TPU):
    return {"model": model, "target": target, "contenders": list(contenders)}


@pytest.mark.parametrize(
    ("seconds", "peak", "losses"),
    [
        (1.005e-4, 10 * 2**20, []),
        (1.02e-4, 10 * 2**20, ["estimated time 1.020x"]),
        (0.5e-4, int(10.1 * 2**20), []),
        (0.5e-4, 11 * 2**20, ["peak memory 1.100x"]),
    ],
)
def test_losses_begin_at_one_percent_of_time_or_two_of_memory(seconds, peak, losses):
    found = outcome(process("a", metrics(), metrics("O2", seconds, peak)))
    assert found.losses == losses


def test_summary_lists_small_growth_of_the_peak_without_counting_it():
    few, many = ([metrics(peak=2**20), metrics("O2", peak=2**20 + more)] for more in (2**15, 2**20))
    lines = summary_lines(TPU, [outcome(process("few", *few)), outcome(process("many", *many))])
    assert lines[:3] == [
        f"{TPU}: 1 of 2 models are worse",
        f"{TPU}: WORSE: many: peak memory 2.000x",
        f"{TPU}: few: peak memory grows by 32 KiB, which does not count as worse",
    ]


def test_summary_begins_with_losses_and_lists_every_model():
    records = [
        process("better", metrics(), metrics("O2", 0.5e-4)),
        process("same", metrics(), metrics("O2")),
        process("worse", metrics(), metrics("O2", 2e-4)),
        {"model": "not-there", "target": TPU, "skipped": "ImportError: no keras"},
        process("refused", metrics(), {"name": "O2", "failed": "out of memory"}),
    ]
    lines = summary_lines(TPU, [outcome(each) for each in records])
    assert lines == [
        f"{TPU}: 1 of 3 models are worse",
        f"{TPU}: WORSE: worse: estimated time 2.000x",
        f"{TPU}: estimated time 1.000x better over 3 models, peak memory 1.000x (geometric means)",
        f"{TPU}: 1 models gain more than 1%: better 2.00",
        f"{TPU}: no result: not-there: ImportError: no keras",
        f"{TPU}: no result: refused: O2: out of memory",
    ]


def test_table_sorts_by_gain_and_shows_cycles_or_kernels():
    slow = outcome(process("slow", metrics(), metrics("O2", 2e-4)))
    fast = outcome(process("fast", metrics(), metrics("O2", 0.5e-4)))
    head, _, first, second = table([slow, fast]).splitlines()
    assert "kcycles" in head and "kernels" not in head
    assert first.startswith("| fast | 100 -> 50 | 2.000 | 100 -> 50 | 2 sort |")
    assert second.startswith("| slow |") and second.endswith("**worse** |")
    gpu = outcome(process("a", metrics(cycles=0.0), metrics("O2", cycles=0.0), target=GPU))
    assert "| kernels | MB moved |" in table([gpu])


def test_rule_lines_count_models_and_rewrites():
    both = [process(name, metrics(), metrics("O2", rules={"a": 3})) for name in ("x", "y")]
    assert "| a | 2 | 6 |" in rule_lines([outcome(each) for each in both])


def test_contender_lines_compare_with_the_level():
    base, without = metrics("O2", 2e-4), metrics("O2 -a", 1e-4)
    records = [process("x", metrics(), base, without, metrics("O2 -b", 2e-4))]
    assert contender_lines(records) == [f"x, {TPU}: O2 -a: time 0.500x, peak 1.000x that of O2"]


def test_name_of_lists_switched_rules():
    assert name_of("O0", ()) == "plain"
    assert name_of("O2", ["-a", "+b"]) == "O2 -a +b"


def test_changed_switches_rules_on_for_every_target_and_off():
    changes = ["+running-reduction-to-loop", "-transpose-of-dot"]
    steps = {step.name: step.python for step in changed("O2", changes).steps if step.python}
    rules = {rule.name: rule for name in ("scans", "simplify") for rule in steps[name].rules}
    assert rules["running-reduction-to-loop"].targets is None
    assert rules["running-sum-to-loop"].targets == ("cpu",)
    assert "transpose-of-dot" not in rules
    with pytest.raises(SystemExit, match=r"expected \+RULE or -RULE, found '-nothing'"):
        changed("O2", ["-nothing"])


def test_read_uses_the_last_record_of_each_model(tmp_path):
    about = {"date": "today", "commit": "c", "python": "3", "versions": {"jax": "1"}}
    about |= {"compilers": "libtpu 1"}
    lines = [{"about": about}, process("k-means", metrics(), metrics("O2", 2e-4))]
    lines += [{"about": about | {"commit": "d"}}]
    lines += [process("k-means", metrics(), metrics("O2", 0.5e-4))]  # the last record
    raw, results = tmp_path / "raw", tmp_path / "results.md"
    raw.write_text("".join(json.dumps(line) + "\n" for line in lines))
    names = ("--models", "k-means,signal", "--targets", TPU)
    done = run_script(*names, "--read", raw, "--results", results, script="accelerators.py")
    assert done.returncode == 0, done.stderr
    assert f"{TPU}: 0 of 1 models are worse" in done.stdout
    assert f"{TPU}: no result: signal: not run" in done.stdout
    assert "| k-means | 100 -> 50 |" in results.read_text()
    assert "- today, commit c, d, Python 3" in results.read_text()


def test_run_records_a_model_without_a_rule(tmp_path):
    raw = tmp_path / "raw"
    names = ("--models", "k-means", "--targets", "cpu", "--rules=-rearranged-splat")
    done = run_script(*names, "--raw", raw, script="accelerators.py", JXC_PIPELINE="O2")
    assert done.returncode == 0, done.stderr
    _, records = map(json.loads, raw.read_text().splitlines())
    base, without = records["contenders"]
    assert [base["name"], without["name"]] == ["O2", "O2 -rearranged-splat"]
    assert base["rules"].keys() - without["rules"].keys() == {"rearranged-splat"}
    assert base["kernels"] > 0 and base["seconds"] > 0 and base["peak"] > base["temporaries"]


def test_run_fails_and_names_a_process_that_exits(tmp_path):
    (tmp_path / "equinox.py").write_text("raise SystemExit('gone')")
    names = ("--models", "equinox-mixer-training", "--targets", "cpu")
    done = run_script(*names, script="accelerators.py", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "cpu: no result: equinox-mixer-training: exit code 1: gone" in done.stdout


def test_unknown_target_is_a_usage_error():
    done = run_script("--targets", "gpu:h1000", script="accelerators.py")
    assert done.returncode == 2
    assert "no GPU 'h1000' is known" in done.stderr and "Traceback" not in done.stderr

"""The records of several processes combined: ratios, verdicts, summaries, tables."""

import json
from dataclasses import asdict

import pytest
from plot import draw
from report import markdown_runs, markdown_tuning, run_table, summary_lines
from results import gather, summarise
from results_file import write_results, write_section
from rich.console import Console
from warm_start import CONTENDERS, markdown


def contender(seconds, *, xla=1.0, passes=0.0, **more):
    compiled = {"lower": [0.1], "passes": [passes], "xla": [xla]}
    return {"ops": 10, "temporaries": 0, "rules": {}, **compiled, "seconds": seconds, **more}


def printed_records(ours, *, model="some-model", **more):
    return {
        "model": model,
        "contenders": {"plain": contender([0.4, 0.5, 0.6]), "O2": contender(ours, **more)},
    }


def result(ours, *, model="some-model", windows=False, **more):
    return gather(model, windows, [printed_records(ours, model=model, **more)] * 2)


def test_ratio_divides_seconds_of_the_same_round():
    found = result([0.2, 0.25, 0.3]).contenders["O2"]
    assert found.ratio.median == pytest.approx(2)
    assert found.verdict == ""


def test_verdict_is_slower_if_the_interval_is_below_the_limit():
    assert result([0.5, 0.62, 0.75]).contenders["O2"].verdict == "slower"
    assert result([0.4, 0.5, 0.9]).contenders["O2"].verdict == ""


def test_verdict_is_wrong_if_one_process_disagrees():
    right, wrong = (
        printed_records([0.2] * 3, agrees=True),
        printed_records([0.2] * 3, agrees=False, error=0.5),
    )
    found = gather("some-model", False, [right, wrong])
    assert found.contenders["O2"].verdict == "WRONG"
    assert found.contenders["O2"].error == 0.5
    assert summarise([found], "O2").wrong == ["some-model"]
    assert "O2: 1 WRONG, beyond" in "\n".join(summary_lines([found], ["O2"]))


def test_compile_ratio_includes_passes():
    found = result([0.4, 0.5, 0.6], xla=0.9, passes=0.3).contenders["O2"]
    assert found.compile_ratio == pytest.approx(1.2)
    assert found.total == pytest.approx(1.3)


def test_contender_that_fails_in_one_process_is_failed():
    broken = {"model": "some-model", "contenders": dict(printed_records([0.2] * 3)["contenders"])}
    broken["contenders"]["O2"] = {"failed": "ValueError: no"}
    found = gather("some-model", False, [printed_records([0.2] * 3), broken])
    assert found.contender("O2") is None
    assert summarise([found], "O2").failed == {"some-model": "ValueError: no"}
    assert "O2: some-model failed: ValueError: no" in summary_lines([found], ["O2"])
    assert "| some-model | 500 | - | **O2 failed** |" in markdown_runs([found], ["O2"])


def test_contender_that_was_not_run_is_no_failure():
    found = gather("some-model", False, [printed_records([0.2] * 3)])
    assert "| some-model | 500 | 2.50 [2.00, 3.00] | - |  |" in markdown_runs([found], ["O2", "O3"])


def test_processes_without_a_contender_add_to_the_others():
    two = {"model": "some-model", "contenders": dict(printed_records([0.2] * 3)["contenders"])}
    two["contenders"]["O3"] = two["contenders"]["O2"]
    found = gather("some-model", False, [two, printed_records([0.25] * 3)])
    assert found.contenders["O2"].run == pytest.approx(0.225)
    assert found.contenders["O3"].run == pytest.approx(0.2)


def test_summary_counts_skipped_and_broken_models_with_reasons():
    skipped = gather("a", False, [{"model": "a", "skipped": "No module named 'x'"}])
    broken = gather(
        "b", False, [printed_records([0.2] * 3, model="b"), {"model": "b", "broken": "died"}]
    )
    lines = summary_lines([skipped, broken], [])
    assert lines == ["1 skipped", "a: No module named 'x'", "1 broken", "b: died"]


def test_summary_has_geometric_means_overall_and_for_windows():
    results = [result([0.1, 0.125, 0.15], model="a", windows=True), result([0.4, 0.5, 0.6])]
    found = summarise(results, "O2")
    assert found.ratio == pytest.approx(2)
    assert found.windows == pytest.approx(4)
    assert found.models == 2


def against(enzyme):
    both = printed_records([0.2, 0.25, 0.3])
    both["contenders"]["enzyme"] = contender(enzyme)
    return gather("some-model", False, [both])


def test_against_compares_enzyme_with_o2_per_round():
    assert against([0.4, 0.5, 0.6]).against.median == pytest.approx(2)
    lines = "\n".join(summary_lines([against([0.1, 0.12, 0.14])], ["O2", "enzyme"]))
    assert "faster on 0, slower on 1" in lines
    assert "enzyme is faster than O2 on: some-model" in lines


def test_table_lists_losses_after_gains():
    results = [result([0.5, 0.62, 0.75], model="lost"), result([0.2, 0.25, 0.3], model="won")]
    rows = markdown_runs(results, ["O2"]).splitlines()[2:]
    assert [row.split()[1] for row in rows] == ["won", "lost"]
    assert rows[1].endswith("**O2 slower** |")


def test_table_fits_80_columns():
    names = ["O1", "O2", "O3", "enzyme"]
    wide = printed_records([0.5, 0.62, 0.75], model="overlapping-max-pool-training")
    for name in names:
        agrees = name != "O2"
        wide["contenders"][name] = contender([0.6, 0.75, 0.9], agrees=agrees)
    found = gather(wide["model"], True, [wide])
    console = Console(width=80)
    with console.capture() as captured:
        console.print(run_table([found], names))
    shown = captured.get()
    assert "overlapping-max-pool-training" in shown
    assert shown.count("0.67 !") == 3 and shown.count("0.67 WRONG") == 1
    assert max(map(len, shown.splitlines())) <= 80


def test_result_is_json():
    assert json.loads(json.dumps(asdict(against([0.4, 0.5, 0.6]))))["against"]["median"] > 1


def test_plot_names_every_model(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "ratios.svg"
    draw([result([0.2, 0.25, 0.3], model="won")], ["O2"], file, "title")
    assert "<!-- won -->" in file.read_text()


def test_summary_gives_the_speed_up_at_each_size():
    half = [0.2, 0.25, 0.3]
    lines = summary_lines([result(half), result([0.4, 0.5, 0.6], model="some-model@small")], ["O2"])
    assert "O2, usual: 2.00x over 1 models, compile time 1.00x" in lines
    assert "O2, small: 1.00x over 1 models, compile time 1.00x" in lines
    assert not any("O2, usual" in line for line in summary_lines([result(half)], ["O2"]))


def test_write_section_replaces_the_section_of_its_title(tmp_path):
    file = tmp_path / "RESULTS.md"
    file.write_text("# Results\n\n## One\n\nold\n\n## Two\n\nkept\n")
    write_section(file, "One", "new")
    assert file.read_text() == "# Results\n\n## Two\n\nkept\n\n## One\n\nnew\n"


def tuned(choices):
    """A model with a small size, of which O3 was tuned in one process for each choice."""
    records = [printed_records([0.2, 0.25, 0.3], passes=0.05) for _ in choices]
    for each, choice in zip(records, choices, strict=True):
        each["contenders"]["O3"] = contender([0.1, 0.1, 0.1], tuning=12.5, choice=choice)
    small = printed_records([0.2, 0.25, 0.3], model="some-model@small", passes=0.05)
    return [gather("some-model", False, records), gather("some-model@small", False, [small])]


def test_tuning_lists_the_candidate_of_o3_where_it_was_measured():
    row = markdown_tuning(tuned(["O2", "plain", "O2"])).splitlines()[2:]
    assert len(row) == 1
    assert row[0].startswith("| some-model | O2, plain | 12.5 | 5.00 [")


def test_results_have_sizes_compile_time_and_tuning(tmp_path):
    file = tmp_path / "RESULTS.md"
    about = dict.fromkeys(("date", "commit", "machine", "load", "python", "rates"), "-")
    about |= {"versions": {"jax": "1"}, "not_installed": {}}
    write_results(file, tuned(["O2"]), ["O2", "O3"], about, "")
    text = file.read_text()
    assert "O2, small: 2.00x over 1 models, compile time 1.05x" in text
    assert "passes take 5.0% of plain's XLA time at the median" in text
    assert "## Compilation with O3" in text and "## Tuning by O3" in text


def test_warm_start_has_a_row_for_each_contender():
    numbers = {"process": 2.0, "process, ratio": 1.04, "first call": 0.5, "first call, ratio": 1.2}
    rows = markdown([{"model": "m"} | dict.fromkeys(CONTENDERS, numbers)], 7).splitlines()
    assert "| m | O2 | 2.00 | 1.04 | 0.50 | 1.20 |" in rows
    assert sum(row.startswith("| m |") for row in rows) == len(CONTENDERS)

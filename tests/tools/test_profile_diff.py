"""`jxc diff` of two profiles: what is matched, per step, and what is within the spread."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jxc.cli import cli
from jxc.errors import UsageError
from jxc.tools.diff.profiles import compare_profiles

from .profiles import made


def write(folder, name, profile):
    path = folder / name
    path.write_text(json.dumps(profile.as_json()))
    return str(path)


@pytest.fixture
def files(tmp_path):
    """A run of 10 steps, and one of 20 whose product takes half the time."""
    return [
        write(tmp_path, "a.json", made(tmp_path, steps=10)),
        write(tmp_path, "b.json", made(tmp_path, steps=20, dot_ms=2)),
    ]


def line(found, number):
    return next(r for r in found.rows["line"] if r.name.endswith(f"train.py:{number}") and r.part)


def test_seconds_are_those_of_a_step(files):
    found = compare_profiles(files)
    product = line(found, 2)
    assert found.is_by_step and product.differs
    assert (product.before, product.after) == pytest.approx((0.004, 0.002))
    assert product.ratio == pytest.approx(0.5)
    negation = line(found, 3)
    assert negation.is_within_spread and not negation.differs
    assert {row.name for row in found.rows["program"]} >= {"jit_step"}  # its number is left out


def test_difference_within_the_quartiles_of_steps_does_not_count(tmp_path):
    files = [
        write(tmp_path, "a.json", made(tmp_path, steps=30, jitter=10)),
        write(tmp_path, "b.json", made(tmp_path, steps=30, dot_ms=4.4, jitter=10)),
        write(tmp_path, "c.json", made(tmp_path, steps=30, dot_ms=6.5, jitter=10)),
    ]
    near, far = (line(compare_profiles([files[0], each]), 2) for each in files[1:])
    assert near.before != near.after and near.is_within_spread
    assert far.is_within_spread is False


def test_moved_and_edited_lines_are_matched_and_others_appear_or_vanish(files, tmp_path):
    after = json.loads((tmp_path / "b.json").read_text())
    for row in after["by"]["line"]:
        if row["line"] and row["line"]["line"] == 3:
            row["line"]["line"], row["name"] = 7, row["name"].replace(":3", ":7")
        elif row["line"] and row["line"]["line"] == 2:
            row["line"]["text"] = "y = x @ x.T"
            row["name"] = row["name"].replace(":2", ":8")
    new = next(row for row in after["by"]["line"] if row["name"].endswith(":8"))
    other = {"file": new["line"]["file"], "line": 9, "text": "z = unlike(anything)"}
    after["by"]["line"].append({**new, "name": "train.py:9", "line": other})
    before = json.loads((tmp_path / "a.json").read_text())
    before["by"]["layer"] = [r for r in before["by"]["layer"] if r["name"] != "encoder"]
    (tmp_path / "a.json").write_text(json.dumps(before))
    (tmp_path / "b.json").write_text(json.dumps(after))
    found = compare_profiles(files)
    assert line(found, 7).before_name.endswith(":3")
    assert line(found, 8).before_name.endswith(":2") and line(found, 8).detail == "y = x @ x.T"
    assert line(found, 9).before is None and line(found, 9).ratio is None
    assert next(r for r in found.rows["layer"] if r.name == "encoder").before is None


def test_runs_without_steps_are_compared_as_a_whole(files, tmp_path):
    for name in files:
        found = json.loads(Path(name).read_text())
        found["steps"] = []
        for rows in found["by"].values():
            for row in rows:
                row["step_seconds"] = None
        Path(name).write_text(json.dumps(found))
    found = compare_profiles(files)
    assert not found.is_by_step
    assert line(found, 2).before == pytest.approx(0.04)
    assert line(found, 2).is_within_spread is None
    assert "the spread is not known" in CliRunner().invoke(cli, ["diff", *files]).output


def test_command_prints_json_and_tables_and_exits_with_the_result(files):
    run = CliRunner()
    same = run.invoke(cli, ["diff", files[0], files[0]])
    assert same.exit_code == 0 and "by line" not in same.output
    done = run.invoke(cli, ["diff", *files], env={"COLUMNS": "80"})
    assert done.exit_code == 1 and "by line, median of a step" in done.output
    assert "0.50  train.py:2" in done.output
    assert max(map(len, done.output.splitlines())) <= 80
    found = json.loads(run.invoke(cli, ["diff", "--json", *files]).output)
    assert (found["per"], found["same"], found["before"]["steps"]) == ("step", False, 9)


def test_other_files_and_options_are_refused(files, tmp_path):
    (tmp_path / "x.json").write_text('{"schema_version": 1, "by": {}}')
    (tmp_path / "y.json").write_text("text")
    for words, message in (
        ([files[0]], "expected two files"),
        ([files[0], str(tmp_path / "x.json")], "expected the key 'program', found none"),
        ([files[0], str(tmp_path / "y.json")], "is not JSON"),
        ([files[0], str(tmp_path / "absent.json")], "cannot read"),
    ):
        with pytest.raises(UsageError, match=message):
            compare_profiles(words)
    for option in (["-O2"], ["--no-compile"], ["--html", "d.html"]):
        done = CliRunner().invoke(cli, ["diff", *files, *option])
        assert isinstance(done.exception, UsageError) and "is a profile" in str(done.exception)

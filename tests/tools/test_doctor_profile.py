"""`jxc doctor --profile`: measured seconds order findings, and bound their estimated cost."""

import json
import linecache

import pytest
from click.testing import CliRunner

from jxc.cli import cli
from jxc.errors import UsageError
from jxc.events.profile_file import read_profile
from jxc.source import SourceLine
from jxc.tools.doctor.finding import Finding, FindingCost
from jxc.tools.doctor.measured import MeasuredLines, with_profile
from jxc.tools.doctor.run import DoctorResult

from .profiles import made


@pytest.fixture
def profile(tmp_path):
    """10 runs of `jit_step`: 4 ms on line 2 and 1 ms on line 3 of train.py in each."""
    return json.loads(json.dumps(made(tmp_path).as_json()))


def finding(tmp_path, line, seconds=None):
    place = SourceLine(str(tmp_path / "train.py"), line)
    return Finding(place, "a message", "a fix", FindingCost(seconds=seconds, how="measured"), "x")


def result(*found):
    return DoctorResult(
        found, program="jit_step", target="cpu", silenced=(), ran=("x",), skipped={}
    )


def test_findings_are_ordered_by_measured_seconds(profile, tmp_path):
    nowhere = Finding(None, "a message", "a fix")
    found = [finding(tmp_path, 1), nowhere, finding(tmp_path, 3), finding(tmp_path, 2)]
    ordered = with_profile(result(*found), profile)
    assert [each.place and each.place.line for each in ordered] == [2, 3, 1, None]
    assert [each.measured_seconds for each in ordered] == [
        pytest.approx(0.04),
        pytest.approx(0.01),
        0.0,
        None,
    ]
    text = ordered.as_text()
    assert "measured: 40 ms in 10 runs, 40% of the running time" in text
    assert "measured: the line takes no time when the program runs" in text
    assert "measured: not known, because the finding has no line" in text


def test_estimated_cost_is_at_most_the_measured_time_of_a_run(profile, tmp_path):
    lines = MeasuredLines(profile, "jit_step")
    large = lines.applied_to(finding(tmp_path, 2, seconds=0.5)).cost
    assert large.seconds == pytest.approx(0.004)
    assert str(large).endswith("(measured, but at most the measured time of the line)")
    small = lines.applied_to(finding(tmp_path, 2, seconds=0.001)).cost
    assert (small.seconds, small.how) == (0.001, "measured")


def test_line_that_moved_is_found_by_its_text(profile, tmp_path):
    source = tmp_path / "train.py"
    source.write_text("\n\n" + source.read_text())
    linecache.checkcache(str(source))
    lines = MeasuredLines(profile, "jit_step")
    assert lines.seconds_of(SourceLine(str(source), 4)) == pytest.approx(0.04)
    assert lines.seconds_of(SourceLine(str(source), 2)) == 0.0


def test_profile_of_another_program_says_so_and_bounds_nothing(profile, tmp_path):
    found = MeasuredLines(profile, "jit_other").applied_to(finding(tmp_path, 2, seconds=0.5))
    assert found.measured == "the program did not run in the profile"
    assert found.cost.seconds == 0.5


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "p.json"
    for text, message in (("text", "is not JSON"), ("{}", "expected in"), ("[1]", "expected in")):
        path.write_text(text)
        with pytest.raises(UsageError, match=message):
            read_profile(str(path))
    with pytest.raises(UsageError, match="cannot read"):
        read_profile(str(tmp_path / "absent.json"))


def test_command_reads_the_profile(profile, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gathers.py").write_text(
        "import jax.numpy as jnp\n\n\ndef step(x):\n    return x[jnp.arange(0, 512, 2)] * 2\n"
    )
    (tmp_path / "p.json").write_text(json.dumps(profile))
    words = [
        "doctor",
        "gathers.py:step",
        "f32[512,1024]",
        "--only",
        "gather-as-slice",
        "--profile",
        "p.json",
    ]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1 and "the line takes no time when the program runs" in done.output
    found = json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)["findings"]
    assert found[0]["measured_seconds"] == 0.0

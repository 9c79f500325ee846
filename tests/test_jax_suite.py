"""`scripts/jax_suite.py` on a small tree of tests in place of JAX's repository."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep

import pytest

from scripts.suite.running import Outcome, Record, read_record
from scripts.suite.table import Compared, Reason, read_reasons, table

SCRIPT = Path(__file__).parent.parent / "scripts" / "jax_suite.py"

TESTS = """
import os
import pytest
import warnings

UNDER_JXC = os.environ.get("JXC_PIPELINE")

def test_passes(): pass
def test_fails_everywhere(): assert False, "everywhere"
def test_fails_under_jxc(): assert not UNDER_JXC, "pipeline " + UNDER_JXC
def test_crashes_under_jxc():
    if UNDER_JXC:
        os.abort()
def test_after_the_crash(): pass
@pytest.mark.skip(reason="a test of the script")
def test_is_skipped(): pass
def test_is_skipped_under_jxc():
    if UNDER_JXC:
        pytest.skip("finds another compiler")
def test_ignores_a_warning_of_jxc():
    if UNDER_JXC:
        from jxc.source import JxcWarning
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn_explicit("a pass failed", JxcWarning, "file.py", 1)
def test_is_explained(): assert not UNDER_JXC, "counts compilations"
"""

REASONS = """
[[difference]]
tests = "*::test_is_explained"
message = "compilations"
reason = "It counts compilations."
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "jax"
    (folder / "tests").mkdir(parents=True)
    (folder / "jax").mkdir()
    (folder / "jax" / "version.py").write_text(f'_version = "{version("jax")}"\n')
    (folder / "tests" / "small_test.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder.parent / "reasons.toml").write_text(REASONS)
    return folder


def _command(checkout: Path, *options: str) -> list[str]:
    out, reasons = checkout.parent / "out", checkout.parent / "reasons.toml"
    fixed = [f"--out={out}", f"--reasons={reasons}", "--jobs=1"]
    return [sys.executable, str(SCRIPT), str(checkout), *fixed, *options]


def _suite(checkout: Path, *options: str) -> tuple[int, str, str]:
    done = subprocess.run(_command(checkout, *options), capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def _records(checkout: Path, pipeline: str) -> list[Path]:
    return list((checkout.parent / "out").rglob(f"{pipeline}/small_test.jsonl"))


def test_table_sets_shared_failures_apart(checkout: Path) -> None:
    code, output, _ = _suite(checkout, "--pipelines=O1")
    assert code == 1
    row = next(line for line in output.splitlines() if line.startswith("small_test"))
    #                        passed failed crashed skipped plain
    assert row.split()[1:7] == ["O1", "2", "4", "1", "2", "1"]
    assert "4 differences without a reason" in output
    assert "test_fails_under_jxc\n    AssertionError: pipeline O1" in output
    assert "test_crashes_under_jxc\n    SIGABRT" in output
    assert "test_ignores_a_warning_of_jxc\n    warning: a pass failed" in output
    assert "test_is_skipped_under_jxc\n    skipped; plain JAX runs it" in output
    assert "test_is_skipped\n" not in output
    assert "1 of *::test_is_explained\n    It counts compilations." in output
    assert "everywhere" not in output
    assert not list(checkout.rglob("__pycache__"))


def test_only_tests_that_do_not_pass_run_without_a_pipeline(checkout: Path) -> None:
    _suite(checkout, "--pipelines=O1")
    [plain] = _records(checkout, "plain")
    assert {name.split("::")[1] for name in read_record(plain).outcomes} == {
        *("test_fails_everywhere", "test_fails_under_jxc", "test_crashes_under_jxc"),
        *("test_ignores_a_warning_of_jxc", "test_is_explained"),
        *("test_is_skipped", "test_is_skipped_under_jxc"),
    }


def test_kept_outcomes_are_not_run_again(checkout: Path) -> None:
    _suite(checkout, "--pipelines=O1")
    (checkout / "tests" / "small_test.py").write_text("def test_other(): pass\n")
    code, output, errors = _suite(checkout, "--pipelines=O1")
    assert (code, errors) == (1, "")
    assert "test_crashes_under_jxc" in output
    code, output, errors = _suite(checkout, "--pipelines=O1", "--again")
    assert (code, errors) == (0, "small_test O1: 0 failures\n")


def test_interrupted_run_goes_on_where_it_stopped(checkout: Path) -> None:
    slow = "import os, time\ndef test_first(): pass\ndef test_slow():\n    time.sleep({})\n"
    file = checkout / "tests" / "small_test.py"
    file.write_text(slow.format(600))
    process = subprocess.Popen(_command(checkout, "--pipelines=O1"))
    limit = monotonic() + 120
    while monotonic() < limit and not any(
        "test_slow" in read_record(record).running for record in _records(checkout, "O1")
    ):
        sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    [record] = _records(checkout, "O1")
    assert [each.outcome for each in read_record(record).outcomes.values()] == ["passed"]
    file.write_text(slow.format(0).replace("pass", "os.abort()"))
    code, _, _ = _suite(checkout, "--pipelines=O1")
    assert code == 0
    assert [each.outcome for each in read_record(record).outcomes.values()] == ["passed"] * 2


def test_hanging_test_is_ended(checkout: Path) -> None:
    (checkout / "tests" / "small_test.py").write_text(
        "import os, time\ndef test_hangs():\n    if 'JXC_PIPELINE' in os.environ:\n"
        "        time.sleep(600)\ndef test_after(): pass\n"
    )
    code, output, _ = _suite(checkout, "--pipelines=O1", "--seconds=5")
    assert code == 1
    assert "test_hangs\n    after 5 s" in output
    assert "1 difference without" in output


def test_file_that_cannot_be_collected_is_compared(checkout: Path) -> None:
    (checkout / "tests" / "small_test.py").write_text("import not_there\n")
    code, output, _ = _suite(checkout, "--pipelines=O1")
    assert code == 0
    assert output.splitlines()[1].split()[2:7] == ["0", "1", "0", "0", "1"]


def test_pipeline_without_effect_is_a_difference(checkout: Path) -> None:
    (checkout / "tests" / "small_test.py").write_text(
        "import jax, os\ndef test_it():\n    jax.devices()\n    if 'JXC_PIPELINE' in os.environ:\n"
        "        from jxc.backend.registered import set_default\n        set_default(None)\n"
    )
    code, output, _ = _suite(checkout, "--pipelines=O1")
    assert code == 1
    assert "JXC_PIPELINE had no effect" in output


@pytest.mark.parametrize("tag", ["0.1.2", "9.9.9"])
def test_another_version_is_refused(checkout: Path, tag: str) -> None:
    (checkout / "jax" / "version.py").write_text(f'_version = "{tag}"\n')
    code, output, errors = _suite(checkout)
    assert (code, output) == (2, "")
    assert f"is version {tag} of JAX, and {version('jax')} is installed" in errors
    assert _suite(checkout, "--any-version", "--pipelines=O1")[0] == 1


def test_wrong_arguments_are_refused(checkout: Path) -> None:
    assert "is not a checkout of JAX's repository" in _suite(checkout / "jax")[2]
    assert (
        "unknown: O7 other_test; pipelines are"
        in _suite(checkout, "--pipelines=O7", "--files=other_test")[2]
    )


def test_record_that_ends_in_half_a_line_is_read(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    file.write_text('{"start": "a"}\n{"test": "a", "outcome": "passed"}\n{"start": "b"}\n{"te')
    record = read_record(file)
    assert record.running == "b"
    assert record.outcomes == {"a": Outcome("a", "passed")}
    assert not record.is_complete


def test_reason_of_another_message_explains_nothing() -> None:
    record = Record({"a::b": Outcome("a::b", "failed", "wrong result")})
    compared = [Compared("a", "O1", record, {})]
    assert table(compared, [Reason("a::*", "It counts.", "compilations")])[1] == 1
    assert table(compared, [Reason("a::*", "It counts.")])[1] == 0


def test_listed_reasons_can_be_read() -> None:
    for reason in read_reasons():
        assert reason.tests.startswith("tests/") and reason.reason.endswith("."), reason

"""Environments that `scripts/check_dist.py` and `scripts/canary.py` make, and their summaries."""

import sys
from pathlib import Path

import pytest

from scripts.check_dist import MISSING, OLDEST, TESTS, Row
from scripts.release.environments import MINORS, Environment, Failed, find_pythons

ROOT = Path(__file__).parent.parent


@pytest.fixture
def env(tmp_path):
    """An environment whose Python is the running one."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    return Environment(tmp_path)


def test_find_pythons_takes_a_named_one_first():
    minor = sys.version_info[1]
    assert find_pythons([sys.executable])[minor] == sys.executable


def test_find_pythons_skips_what_does_not_run(tmp_path):
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    found = find_pythons([str(broken), str(tmp_path / "absent")])
    assert str(broken) not in found.values()
    assert set(found) <= set(MINORS)


def test_run_raises_with_the_command_and_its_output(env):
    with pytest.raises(Failed, match=r"(?s)boom.*exit code 3"):
        env.run(env.python, "-c", "print('boom'); raise SystemExit(3)")
    assert env.run(env.python, "-c", "raise SystemExit(3)", codes=(3,)) == ""


def test_run_ends_a_command_that_takes_too_long(env):
    with pytest.raises(Failed, match="timed out"):
        env.run(env.python, "-c", "import time; time.sleep(60)", seconds=1)


def test_run_hides_settings_of_jxc_and_of_the_checkout(env, monkeypatch):
    monkeypatch.setenv("JXC_PIPELINE", "O2")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = "import os; print('JXC_PIPELINE' in os.environ, 'PYTHONPATH' in os.environ)"
    assert env.run(env.python, "-S", "-c", code).split() == ["False", "False"]


def test_the_chosen_tests_exist():
    assert [name for name in TESTS if not (ROOT / "tests" / name).exists()] == []


def test_the_oldest_jax_is_that_of_the_metadata():
    assert f'"jax>={OLDEST}"' in (ROOT / "pyproject.toml").read_text()
    assert "jxc-compiler[html]" in MISSING


def test_a_row_of_the_summary_is_aligned_with_its_header():
    assert str(Row("3.13.0", "0.12.0.1", "passed: imports", 62.4)) == (
        "3.13.0   0.12.0.1        62  passed: imports"
    )

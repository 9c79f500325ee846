"""Options of `jxc profile` and `jxc explain` that are refused before the program runs."""

import pytest
from click.testing import CliRunner

from jxc.cli import cli
from jxc.errors import UsageError


def refused(tmp_path, monkeypatch, *arguments):
    """The message with which a command refuses its options; its program does not run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit('the program ran')")
    done = CliRunner().invoke(cli, arguments)
    assert "the program ran" not in done.output
    if isinstance(done.exception, UsageError):
        return str(done.exception)
    assert done.exit_code == 2
    return done.output


@pytest.mark.parametrize("option", ["--html", "--perfetto"])
def test_pages_and_traces_do_not_go_to_stdout(tmp_path, monkeypatch, option):
    found = refused(tmp_path, monkeypatch, "profile", option, "-", "train.py")
    assert found == f"{option} -: expected the name of a file; --json can be '-'"


@pytest.mark.parametrize(
    ("verb", "first", "second"),
    [
        ("profile", "--json", "--html"),
        ("profile", "-o", "--json"),
        ("profile", "--json", "--perfetto"),
        ("explain", "-o", "--json"),
        ("explain", "--json", "--html"),
    ],
)
def test_two_options_need_two_files(tmp_path, monkeypatch, verb, first, second):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    found = refused(tmp_path, monkeypatch, verb, second, "./a", first, "link", "train.py")
    assert found.startswith(f"{first} and {second} name the same file, ")


def test_devices_may_be_named_twice(tmp_path, monkeypatch):
    command = ["profile", "--json", "/dev/null", "-o", "/dev/null", "absent.py"]
    assert "absent.py: expected a Python program" in refused(tmp_path, monkeypatch, *command)


@pytest.mark.parametrize(
    "command",
    [
        ("profile", "--seconds", "{}", "train.py"),
        ("lsp", "--time-limit", "{}"),
    ],
)
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_seconds_are_a_finite_number(tmp_path, monkeypatch, command, number):
    found = refused(tmp_path, monkeypatch, *(each.format(number) for each in command))
    assert f"{number} is not in the range" in found or f"{float(number)} is not in" in found

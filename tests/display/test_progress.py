"""The line of progress: on a terminal and in a notebook, after a while, and nowhere else."""

import os
import pty
import subprocess
import sys
import threading
import time

import pytest

from jxc.display import progress as module
from jxc.display.progress import progress

PROGRAM = """
import time
from jxc.display.progress import progress
with progress("first", delay={delay}) as show:
    time.sleep(1)
    show("second [bold]")
    time.sleep(1.5)
"""


class FakeLine:
    """A line that keeps what it shows."""

    def __init__(self):
        self.shown, self.removed, self.is_shown = [], 0, threading.Event()

    def show(self, text, seconds):
        self.shown.append(text)
        self.is_shown.set()

    def remove(self):
        self.removed += 1


@pytest.fixture
def line(monkeypatch):
    found = FakeLine()
    monkeypatch.setattr(module, "line_of_process", lambda: found)
    return found


def run(delay, **environment):
    """What a program shows on a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", closefd=True) as terminal:
        known = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(delay=delay)],
            stderr=theirs,
            stdout=theirs,
            env={**known, "TERM": "xterm", **environment},
        )
        os.close(theirs)
        read = bytearray()
        while True:
            try:
                read += (data := os.read(terminal.fileno(), 4096))
            except OSError:  # Linux reports the end of a terminal as an error
                break
            if not data:
                break
    assert done.wait(timeout=60) == 0
    return read.decode()


def test_terminal_shows_the_line():
    shown = run(0.1)
    assert "first" in shown
    assert "second [bold]" in shown


@pytest.mark.parametrize(
    ("delay", "environment"), [(0.1, {"CI": "true"}), (0.1, {"TERM": "dumb"}), (60, {})]
)
def test_ci_and_short_work_show_nothing(delay, environment):
    assert run(delay, **environment) == ""


def test_pipe_shows_nothing():
    command = [sys.executable, "-c", PROGRAM.format(delay=0)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_inner_block_changes_the_line_of_the_outer_one(line):
    with progress("outer", delay=0):
        assert line.is_shown.wait(60)
        with progress("inner"):
            line.is_shown.clear()
            until(lambda: "inner" in line.shown)
        until(lambda: line.shown[-1] == "outer")
    assert line.removed == 1
    assert set(line.shown) == {"outer", "inner"}


def test_empty_text_removes_the_line_until_the_next_one(line):
    with progress("working", delay=0) as show:
        assert line.is_shown.wait(60)
        show("")
        until(lambda: line.removed == 1)
    assert line.removed == 1


def test_line_is_removed_after_an_error_and_the_next_block_has_its_own(line):
    for _ in range(2):
        with pytest.raises(ValueError, match="fails"), progress("working", delay=0):
            until(lambda: line.shown)
            raise ValueError("fails")
        line.shown.clear()
    assert line.removed == 2


def until(holds):
    """Wait for a condition, for at most a minute."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)

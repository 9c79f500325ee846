"""A child process that one thread asks and another ends."""

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest

from jxc.child import Child, ChildLost

WORKERS = """
import os, pathlib, time
from jxc.child import serve


def answer(request):
    if request is not None:
        pathlib.Path(request).touch()
        time.sleep(600)


def main():
    serve(answer)

"""


TRUNCATED = """
import os


def main():
    os.write(1, (100).to_bytes(8, "little") + b"a part of the answer")
"""


READING = """
import sys
from jxc.child import serve


def main():
    serve(lambda _: sys.stdin.read())
"""


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """The modules above, importable in children."""
    (tmp_path / "workers.py").write_text(WORKERS)
    (tmp_path / "truncated.py").write_text(TRUNCATED)
    (tmp_path / "reading.py").write_text(READING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")


def test_close_ends_the_request_of_another_thread(workers, tmp_path):
    child = Child("workers", 60)
    with ThreadPoolExecutor(1) as thread:
        for number in range(20):
            answer = thread.submit(child.ask, str(tmp_path / str(number)))
            until = monotonic() + 60
            while not (tmp_path / str(number)).exists():
                assert monotonic() < until, "the child has not received the request"
                sleep(0.01)
            child.close()
            with pytest.raises(ChildLost, match="SIGKILL"):
                answer.result(60)
            assert child.ask(None) is None  # in a new process
            child.close()


def test_child_that_ends_within_an_answer_is_lost(workers):
    child = Child("truncated", 60)
    with pytest.raises(ChildLost, match="died: exit code 0"):
        child.ask(None)


def test_code_that_reads_standard_input_gets_no_request(workers):
    child = Child("reading", 60)
    assert [child.ask("first"), child.ask("second")] == ["", ""]
    child.close()


def test_files_of_the_current_directory_hide_no_module(workers, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "pickle.py").write_text("raise SystemExit('the wrong pickle')")
    monkeypatch.chdir(folder)
    child = Child("reading", 60)
    assert child.ask(None) == ""
    child.close()

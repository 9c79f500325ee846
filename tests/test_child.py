"""A child process that one thread asks and another ends."""

import subprocess
import sys
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


ECHOING = """
import os
from jxc.child import serve


def main():
    serve(lambda _: os.getpid())
"""


FORKING = """
import os
from jxc.child import Child

child = Child("echoing", 60)
first = child.ask(None)
read, write = os.pipe()
if not os.fork():
    os.write(write, str(child.ask(None)).encode())
    child.close()
    os._exit(0)
other = int(os.read(read, 100))
os.wait()
print(first != other, child.ask(None) == first)
child.close()
"""


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """The modules above, importable in children."""
    (tmp_path / "workers.py").write_text(WORKERS)
    (tmp_path / "truncated.py").write_text(TRUNCATED)
    (tmp_path / "reading.py").write_text(READING)
    (tmp_path / "echoing.py").write_text(ECHOING)
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


def test_forked_process_starts_a_child_of_its_own(workers):
    # In a process of its own: to fork this one, which has threads, is not safe.
    command = [sys.executable, "-c", FORKING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True True\n", done.stderr

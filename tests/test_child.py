"""A child process that one thread asks and another ends."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from jxc.child import Child, ChildLost

SLOW = "import time\nfrom jxc.child import serve\ndef main():\n    serve(time.sleep)\n"


def test_close_ends_the_request_of_another_thread(tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text(SLOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with ThreadPoolExecutor(1) as thread:
        for _ in range(20):
            child = Child("slow", 60)
            child.ask(0)
            answer = thread.submit(child.ask, 30)
            with pytest.raises(TimeoutError):
                answer.result(0.1)
            child.close()
            with pytest.raises(ChildLost, match="SIGKILL"):
                answer.result(20)
            assert child.ask(0) is None  # in a new process
            child.close()

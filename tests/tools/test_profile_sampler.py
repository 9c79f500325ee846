"""Samples of Python's stack: what they say, and that reading a stack is never interrupted."""

import dis
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jxc.events import sampler
from jxc.events.sampler import StackSampler


def test_a_stack_is_read_without_calls_and_loops():
    """CPython switches threads only there; 3.11 then crashes, once in about a hundred runs."""
    names = [each.opname for each in dis.get_instructions(sampler._walk)]
    switching = ("CALL", "PRECALL", "JUMP_BACKWARD", "FOR_ITER", "SEND", "YIELD", "INSTRUMENTED")
    assert [name for name in names if name.startswith(switching)] == []
    assert len(names) > 500


def test_frames_are_those_of_the_threads():
    (frame,) = (
        each for ident, each in sampler._threads.frames.items() if ident == threading.get_ident()
    )
    assert frame.f_code.co_name == "test_frames_are_those_of_the_threads"


def test_stack_has_the_innermost_frames_first():
    def inner():
        return sampler._stack_of(threading.get_ident())

    def deep(n):
        return deep(n - 1) if n else inner()

    found = deep(50)
    assert [code.co_name for code, _ in found[:4]] == ["walk", "_stack_of", "inner", "deep"]
    assert sum(code.co_name == "deep" for code, _ in found) == 51
    outer = next(line for code, line in found if "innermost_frames" in code.co_name)
    assert outer > 0


def test_only_the_innermost_frames_of_a_very_deep_stack_are_read():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)

    def deep(n):
        return deep(n - 1) if n else sampler._stack_of(threading.get_ident())

    try:
        assert len(deep(1500)) == sampler._MOST_FRAMES
    finally:
        sys.setrecursionlimit(before)


def test_thread_that_has_ended_has_no_stack():
    assert sampler._stack_of(-1) == ()


def test_samples_tell_the_line_that_waits():
    taken = StackSampler()
    taken.start()
    time.sleep(0.3)  # sampled
    taken.stop()
    lines = [each.line.text for each in taken.samples if each.line]
    assert "time.sleep(0.3)  # sampled" in lines


def _samples_of_sum(taken):
    texts = [each.line.text for each in [*taken.samples] if each.line]
    return sum(text.startswith("sum(") for text in texts)


def test_line_that_keeps_the_gil_is_sampled():
    taken = StackSampler()
    before = sys.getswitchinterval()
    taken.start()
    until = time.monotonic() + 60  # on a busy machine; 50 times suffice on an idle one
    while _samples_of_sum(taken) < 3 and time.monotonic() < until:
        for _ in range(50):
            sum(range(300_000))  # keeps the GIL for some milliseconds
            time.sleep(0)
    taken.stop()
    assert _samples_of_sum(taken) >= 3
    assert sys.getswitchinterval() == before


def test_switch_interval_of_the_program_stays():
    before = sys.getswitchinterval()
    taken = StackSampler()
    taken.start()
    assert sys.getswitchinterval() < before
    sys.setswitchinterval(0.02)
    taken.stop()
    try:
        assert sys.getswitchinterval() == 0.02
    finally:
        sys.setswitchinterval(before)


def test_another_thread_is_sampled_while_the_main_thread_waits_for_it():
    def work():
        time.sleep(0.3)  # in a thread

    taken = StackSampler()
    taken.start()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    taken.stop()
    lines = [each.line.text for each in taken.samples if each.line]
    assert "time.sleep(0.3)  # in a thread" in lines


def test_idle_workers_do_not_replace_the_line_that_waits():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        taken = StackSampler()
        taken.start()
        threading.Event().wait(0.3)  # for nothing
        taken.stop()
    lines = {each.line.text for each in taken.samples if each.line}
    assert "threading.Event().wait(0.3)  # for nothing" in lines
    assert not any("work_queue" in line for line in lines)


def test_wait_for_a_thread_that_makes_batches_is_of_the_input_pipeline():
    batches = queue.Queue(1)

    def make():
        for _ in range(10):
            time.sleep(0.03)  # makes a batch
            batches.put(1)
        batches.put(None)

    def take():
        while (batch := batches.get()) is not None:  # waits for a batch
            yield batch

    threading.Thread(target=make).start()
    taken = StackSampler()
    taken.start()
    assert sum(take()) == 10
    taken.stop()
    waiting = [each for each in taken.samples if each.line and "makes" in each.line.text]
    assert waiting and {each.kind for each in waiting} == {"input pipeline"}
    assert {each.own.text for each in waiting} == {
        "while (batch := batches.get()) is not None:  # waits for a batch"
    }


def test_frames_of_jxc_are_left_out():
    def code(name, file):
        return compile(f"def {name}(): 0", file, "exec").co_consts[0]

    user, runner = code("f", "/home/me/train.py"), "/x/events/script.py"
    hook, run = code("exec_module", runner), code("run", runner)
    command = code("profile_command", "/x/cli/profile.py")
    stack = ((user, 1), (hook, 2), (user, 3), (run, 4), (command, 5))
    assert sampler._of_program(stack) == stack[:3]
    assert sampler._of_program(stack[4:]) == ()
    assert sampler._of_program(stack[:1]) == stack[:1]


@pytest.mark.skipif(not sampler.can_sample(), reason="this Python has no GIL")
def test_collector_stays_as_it_was():
    import gc

    gc.disable()
    try:
        sampler._stack_of(threading.get_ident())
        assert not gc.isenabled()
    finally:
        gc.enable()
    sampler._stack_of(threading.get_ident())
    assert gc.isenabled()


def test_python_without_the_gil_is_not_sampled(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    taken = StackSampler()
    taken.start()
    taken.stop()
    assert taken.samples == []

"""Which kernel each thread of the host computes: from events made by hand, and measured."""

import os
import subprocess
import sys
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from jxc.events.threads import Made, Regions, Spans, Task, Thread, work_of as work_of_columns
from jxc.events.trace import read_trace

from .test_profile_trace import kernel
from .xspaces import Plane, space


class Kernel(NamedTuple):
    start: int
    end: int
    key: object
    number: int | None = None  # of its "end:" event


class Work(NamedTuple):
    start: int
    end: int
    key: object


made = Made


def work_of(threads, ends):
    """`threads.work_of` on events made by hand, whose kernels have names."""
    kernels = [each for thread in threads for each in thread if isinstance(each, Kernel)]
    columns, count = [], 0
    for thread in threads:
        own = [each for each in thread if isinstance(each, Kernel)]
        rows = [(each.start, each.end, count + n) for n, each in enumerate(own)]
        count += len(own)
        spans = Spans(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)
        tasks = [each for each in thread if isinstance(each, Task)]
        columns.append(Thread(spans, tasks, [each for each in thread if isinstance(each, Made)]))
    finished = [max(each.end, ends.get(each.number, 0)) for each in kernels]
    found = work_of_columns(columns, np.array(finished, dtype=np.int64))
    for start, end, key in zip(*(column.tolist() for column in found), strict=True):
        yield Work(start, end, kernels[key].key)


def test_task_belongs_to_the_kernel_that_made_it():
    starter = [Kernel(0, 10, "dot", 1), made(2, 7), Kernel(10, 30, "sine")]
    worker = [Task(4, 20, 7)]
    assert sorted(work_of([starter, worker], {1: 40})) == [
        Work(0, 10, "dot"),
        Work(4, 20, "dot"),
        Work(10, 30, "sine"),
    ]


def test_task_made_in_a_task_belongs_to_the_same_kernel():
    starter = [Kernel(0, 10, "dot", 1), made(2, 7)]
    first, second = [Task(3, 20, 7), made(5, 8)], [Task(6, 25, 8)]
    found = list(work_of([second, first, starter], {1: 30}))
    assert sorted(found) == [Work(0, 10, "dot"), Work(3, 20, "dot"), Work(6, 25, "dot")]


def test_innermost_event_counts():
    # a task of "dot" that starts "sine", which waits and runs a task of its own
    worker = [Task(0, 50, 7), Kernel(10, 40, "sine", 2), made(12, 9), Task(20, 30, 9)]
    starter = [Kernel(-5, 2, "dot", 1), made(0, 7)]
    found = sorted(work_of([starter, worker], {1: 60, 2: 40}))
    assert found == [
        Work(-5, 2, "dot"),
        Work(0, 10, "dot"),
        Work(10, 20, "sine"),
        Work(20, 30, "sine"),
        Work(30, 40, "sine"),
        Work(40, 50, "dot"),
    ]


def test_task_counts_until_its_kernel_ends():
    threads = [[Kernel(0, 10, "dot", 1), made(2, 7)], [Task(4, 90, 7)], [Task(50, 60, 7)]]
    assert sorted(work_of(threads, {1: 40})) == [Work(0, 10, "dot"), Work(4, 40, "dot")]


def test_task_made_when_its_kernel_ends():
    threads = [[Kernel(0, 10, "dot", 1), made(10, 7)], [Task(12, 20, 7)]]
    assert sorted(work_of(threads, {1: 40})) == [Work(0, 10, "dot"), Work(12, 20, "dot")]


def test_long_chain_of_tasks():
    threads = [[Kernel(0, 1, "dot", 1), made(0, 0)]]
    for n in range(20_000):
        threads.append([Task(2 * n, 2 * n + 2, n), made(2 * n + 1, n + 1)])
    assert sum(1 for _ in work_of(threads, {1: 100_000})) == 20_001


def test_tasks_of_unknown_origin_are_left_out():
    assert list(work_of([[Task(0, 10, 7)], [made(0, 8), Task(2, 4, 8)]], {})) == []


def test_tasks_that_made_one_another_end():
    assert list(work_of([[Task(0, 10, 7), made(1, 8)], [Task(2, 9, 8), made(3, 7)]], {})) == []


def test_regions_without_their_other_half_are_left_out():
    thread = Thread()
    regions = Regions(thread)
    regions.add("ThreadpoolListener::StopRegion", 1, {})
    regions.add("ThreadpoolListener::Record", 2, {})
    regions.add("ThreadpoolListener::StartRegion", 3, {"_c": 5})
    assert thread.tasks == []
    regions.add("ThreadpoolListener::StopRegion", 4, {})
    assert thread.tasks == [Task(3, 4, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_work_of_one_thread_never_overlaps(seed):
    draw = np.random.default_rng(seed)

    def nested(start, end, depth):
        at = start
        while at < end and depth < 5:
            first = at + int(draw.integers(0, 5))
            last = first + int(draw.integers(1, 40))
            if last > end:
                return
            number = int(draw.integers(0, 9))
            yield Kernel(first, last, (first, last)) if number < 5 else Task(first, last, number)
            yield made(first, number)
            yield from nested(first, last, depth + 1)
            at = last

    thread = list(nested(0, 300, 0))
    found = sorted(work_of([thread], {}))
    assert found
    assert all(a.end <= b.start for a, b in pairwise(found))
    kernels = [each for each in thread if isinstance(each, Kernel)]
    covered = {at for each in found for at in range(each.start, each.end)}
    assert covered <= {at for each in kernels for at in range(each.start, each.end)}


def test_trace_tells_the_threads_of_a_kernel():
    plane = Plane("/host:CPU")
    plane.line(
        "tf_XLAPjRtCpuClient/1",
        kernel("dot.1", 100, 110, _p=5, _pt=0),
        ("ThreadpoolListener::Record", 104, 104, {"_p": 6, "_pt": 15}),
        kernel("sine", 110, 200, _p=8, _pt=0),
        ("end: sine", 200, 201, {"_c": 8, "_ct": 0}),
    )
    plane.line(
        "tf_XLAEigen/1",
        ("ThreadpoolListener::StartRegion", 106, 106, {"_c": 6, "_ct": 15}),
        ("ThreadpoolListener::StopRegion", 305, 305, {}),
        ("end: dot.1", 300, 301, {"_c": 5, "_ct": 0}),
    )
    assert sorted((op.op, op.start, op.end) for op in read_trace(space(plane)).work) == [
        ("dot.1", 100, 110),
        ("dot.1", 106, 300),
        ("sine", 110, 200),
    ]


PARALLEL = """
import sys, jax, jax.numpy as jnp, numpy as np
from jax.profiler import start_trace, stop_trace
from pathlib import Path
from jxc.events.trace import read_trace

x = np.ones((1 << 22,), np.float32)
f = jax.jit(jnp.sin)
f(x).block_until_ready()
start_trace(sys.argv[1])
for _ in range(3):
    f(x).block_until_ready()
stop_trace()
trace = read_trace(next(Path(sys.argv[1]).rglob("*.xplane.pb")).read_bytes())
print(len(trace.ops), len(trace.work))
"""


CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.mark.skipif(CORES < 2, reason="one core: XLA makes no tasks")
def test_pool_of_this_jaxlib_is_understood(tmp_path):
    """A large kernel is computed by tasks; if the pool's events change, this says so."""
    command = [sys.executable, "-c", PARALLEL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    ops, work = done.stdout.split()
    assert int(ops) == 3
    assert int(work) > 3

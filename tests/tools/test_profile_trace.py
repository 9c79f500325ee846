"""Reading traces: those of CPUs, GPUs and TPUs, made by hand and by this machine."""

import functools

import pytest
from jaxlib import _hlo

from jxc.backend.targets import find_target
from jxc.events.recorded import CompileSpan, Recorded
from jxc.events.runs import HostSpan, OpRun, OpRuns, Trace
from jxc.events.trace import read_trace
from jxc.events.wall import shares
from jxc.events.wire import count_events, hlo_modules_of
from jxc.tools.profile.build import build

from .xspaces import Plane, space

HLO = """HloModule jit_step, is_scheduled=true

ENTRY %main (x: f32[8,128]) -> f32[8,128] {
  %x = f32[8,128]{1,0} parameter(0)
  ROOT %fusion.1 = f32[8,128]{1,0} negate(%x), metadata={op_name="jit(step)/neg"}
}
"""


@functools.cache  # a module is not always serialised in the same order
def hlo_proto():
    return _hlo.hlo_module_from_text(HLO).as_serialized_hlo_module_proto()


def kernel(name, start, end, **stats):
    more = {"hlo_op": name, "hlo_module": "jit_step", "program_id": 4, "run_id": 7}
    return name, start, end, more | stats


def test_shares_add_up_to_the_union_of_the_spans():
    # a loop (level 1) around two kernels that overlap, and the host below
    starts, ends, levels = [0, 10, 20, 0], [100, 40, 60, 120], [1, 2, 2, 0]
    given = shares(starts, ends, levels)
    assert given.tolist() == [50.0, 20.0, 30.0, 20.0]
    assert given.sum() == 120


def test_shares_of_no_spans_and_of_empty_spans():
    assert shares([], [], []).tolist() == []
    assert shares([5, 9], [5, 3], [0, 1]).tolist() == [0.0, 0.0]


def test_cpu_kernel_lasts_until_its_end_event():
    plane = Plane("/host:CPU").line(
        "tf_XLAEigen/1",
        kernel("dot.1", 100, 110, _p=5, _pt=0),
        ("end: dot.1", 300, 301, {"_c": 5, "_ct": 0}),
        ("ThreadpoolListener::Record", 100, 100, {"_p": 6, "_pt": 15}),
    )
    trace = read_trace(space(plane))
    assert [tuple(op) for op in trace.ops] == [("cpu:0", "jit_step(4)", "dot.1", 100, 300)]
    assert [tuple(run) for run in trace.runs] == [("cpu:0", "jit_step(4)", 100, 300)]


def test_cpu_host_events_and_steps():
    plane = Plane("/host:CPU").line(
        "python",
        ("PjitFunction(step)", 10, 30, {}),
        ("backend_compile_and_load", 12, 20, {}),
        ("np.asarray(jax.Array)", 40, 50, {}),
        ("train", 5, 60, {"_r": 1, "step_num": 3}),
        ("eval", 62, 70, {"_r": 1}),
        ("ParseArguments", 11, 12, {}),
    )
    trace = read_trace(space(plane))
    assert [each.kind for each in trace.host] == ["dispatch", "compilation", "transfers"]
    assert [tuple(each) for each in trace.steps] == [("train", 3, 5, 60), ("eval", 1, 62, 70)]


def test_programs_of_one_name_are_told_apart():
    host = Plane("/host:CPU").line(
        "tf_XLAEigen/1",
        kernel("a", 0, 10),
        kernel("a", 20, 30, program_id=8, run_id=9),
    )
    metadata = Plane("/host:metadata")
    metadata.program("jit_step(4)", hlo_proto()).program("jit_step(8)", hlo_proto())
    trace = read_trace(space(host, metadata))
    assert {op.program for op in trace.ops} == {"jit_step(4)", "jit_step(8)"} == set(trace.modules)
    assert trace.modules["jit_step(4)"] == hlo_proto()


def test_gpu_streams():
    plane = Plane("/device:GPU:0")
    plane.line("Stream #13(Compute)", kernel("fusion.1", 0, 10), kernel("dot.2", 10, 40))
    plane.line("Stream #14(MemcpyH2D)", ("MemcpyH2D", 5, 8, {"memcpy_details": "size:8"}))
    trace = read_trace(space(plane))
    assert [(op.device, op.program, op.op) for op in trace.ops] == [
        ("gpu:0", "jit_step(4)", "fusion.1"),
        ("gpu:0", "jit_step(4)", "dot.2"),
        ("gpu:0", "", "MemcpyH2D"),
    ]
    assert [tuple(run) for run in trace.runs] == [("gpu:0", "jit_step(4)", 0, 40)]


def test_gpu_runs_begin_with_the_first_kernel():
    plane = Plane("/device:GPU:1").line(
        "Stream #13(Compute)",
        *(kernel(name, at, at + 5) for at, name in ((0, "a"), (5, "b"), (20, "a"), (25, "b"))),
    )
    spans = [(run.start, run.end) for run in read_trace(space(plane)).runs]
    assert spans == [(0, 10), (20, 30)]


def test_tpu_ops_belong_to_the_module_around_them():
    plane = Plane("/device:TPU:0")
    plane.line("XLA Modules", ("jit_step(77)", 0, 50, {}), ("jit_eval(78)", 60, 90, {}))
    plane.line(
        "XLA Ops",
        ("%fusion.1 = f32[8,128]{1,0} fusion(%x), kind=kLoop", 0, 20, {"flops": 1024}),
        ("%while.2 = (f32[8]) while(%t)", 60, 90, {}),
        ("%add.3 = f32[8] add(%a, %b)", 65, 70, {}),
        start=0,
    )
    plane.line("Steps", ("1", 0, 50, {}))
    trace = read_trace(space(plane))
    assert [(op.program, op.op) for op in trace.ops] == [
        ("jit_step(77)", "fusion.1"),
        ("jit_eval(78)", "while.2"),
        ("jit_eval(78)", "add.3"),
    ]
    assert [run.program for run in trace.runs] == ["jit_step(77)", "jit_eval(78)"]


def test_start_of_the_session():
    environment = Plane("Task Environment").stat("profile_start_time", 1234)
    assert read_trace(space(environment)).started == 1234


def test_statistics_of_an_event_may_be_texts_or_negative_numbers():
    plane = Plane("/host:CPU").line(
        "tf_XLAEigen/1", kernel("a", 0, 1 << 40, run_id=-5), kernel("b" * 300, 7, 8, run_id=-5)
    )
    trace = read_trace(space(plane))
    assert [(op.op, op.end) for op in trace.ops] == [("a", 1 << 40), ("b" * 300, 8)]
    assert [tuple(run)[2:] for run in trace.runs] == [(0, 1 << 40)]
    assert trace.events == count_events(space(plane)) == 2


def test_sessions_are_joined_by_the_time_at_which_they_began():
    traces = []
    for started, name in ((1000, "a"), (5000, "b")):
        host = Plane("/host:CPU").line(
            "tf_XLAEigen/1", kernel(name, 10, 20), ("step", 5, 30, {"_r": 1, "step_num": started})
        )
        environment = Plane("Task Environment").stat("profile_start_time", started)
        traces.append(read_trace(space(host, environment)))
    joined = Trace()
    for each in traces:
        joined.join(each)
    assert (joined.started, joined.events) == (1000, 4)
    assert [(op.op, op.start) for op in joined.ops] == [("a", 10), ("b", 4010)]
    assert [(op.op, op.start) for op in joined.work] == [("a", 10), ("b", 4010)]
    assert [(step.number, step.start) for step in joined.steps] == [(1000, 5), (5000, 4005)]
    assert [run.start for run in joined.runs] == [10, 4010]


def test_runs_keep_their_programs_new_names():
    runs = OpRuns()
    for program in ("jit_f(1)", "jit_g(2)", "jit_f(1)"):
        runs.append(OpRun("cpu:0", program, "dot", 0, 1))
    runs.rename({"jit_f(1)": "jit_f(3)"})
    runs.append(OpRun("cpu:0", "jit_f(3)", "dot", 2, 3))
    assert [run.program for run in runs] == ["jit_f(3)", "jit_g(2)", "jit_f(3)", "jit_f(3)"]
    assert len(runs.keys) == 2


@pytest.mark.parametrize("cut", [1, 5, 50])
def test_truncated_trace_is_refused(cut):
    data = space(Plane("/host:metadata").program("jit_step(4)", hlo_proto()))
    with pytest.raises(ValueError, match=r"truncated|expected an XSpace"):
        hlo_modules_of(data[:-cut])


def test_call_that_compiles_is_no_dispatch():
    ms = 1_000_000
    host = [HostSpan("dispatch", "PjitFunction(f)", 0, 9 * ms)]  # compiles from 2 to 7
    host.append(HostSpan("dispatch", "PjitFunction(f)", 20 * ms, 21 * ms))
    trace = Trace(started=ms, host=host)
    compiling = [CompileSpan(3 * ms, 8 * ms)]
    recorded = Recorded("a.py", ms, 31 * ms, trace, [], compiling, {}, compiled=1)
    parts = build(recorded, find_target("cpu").device).parts
    assert parts["compilation"] == pytest.approx(9e-3)
    assert parts["dispatch"] == pytest.approx(1e-3)

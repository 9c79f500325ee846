"""Programs that were loaded from a cache or a file get the lines of their own HLO."""

from jxc.events.identity import ExecutableNames, TracedExecutable, modules_of
from jxc.events.trace import read_trace

from .test_profile_trace import hlo_proto, kernel
from .xspaces import Plane, space

HLO = "ENTRY %main {\n  %a = f32[] parameter(0)\n  ROOT %b.1 = f32[] negate(%a)\n}\n"
OTHER = HLO.replace("b.1", "c")


def traced(started, op):
    return TracedExecutable(started, {op})


def test_runs_far_apart_are_of_different_executables():
    names = ExecutableNames()
    runs = [-5, -4, 1_000_000_000, 6, 1_000_000_001, 0]
    found = [names.name("jit_step(4)", run) for run in runs]
    second = "jit_step(4.2)"
    assert found == ["jit_step(4)"] * 2 + [second, "jit_step(4)", second, "jit_step(4)"]
    assert names.name("jit_step(5)", -5) == "jit_step(5)"


def test_programs_compiled_here_keep_their_names():
    programs = {"jit_f(9)": traced(5, "b.1"), "jit_f(2)": traced(7, "b.1")}
    texts = {"jit_f(2)": HLO, "jit_f(9)": HLO}
    assert modules_of(programs, texts, ()) == ({}, [])


def test_loaded_programs_are_found_by_their_kernels_and_by_order():
    programs = {
        "jit_f(9)": traced(7, "b.1"),
        "jit_f(9.2)": traced(5, "b.1"),
    }
    programs |= {"jit_f(11)": traced(1, "c"), "jit_g(3)": traced(0, "b.1")}
    texts = {"jit_f(20)": HLO, "jit_f(11)": HLO, "jit_f(21)": OTHER, "jit_g(3)": OTHER}
    found, unclear = modules_of(programs, texts, {"jit_f", "jit_g"})
    assert found == {"jit_f(9.2)": "jit_f(11)", "jit_f(9)": "jit_f(20)", "jit_f(11)": "jit_f(21)"}
    assert unclear == []


def test_modules_that_were_not_loaded_keep_their_names():
    programs = {"jit_f(9)": traced(7, "b.1"), "jit_f(2)": traced(9, "b.1")}
    programs["jit_ones(0)"] = traced(1, "c")
    texts = {"jit_f(2)": HLO, "jit_f(9)": HLO, "jit_ones(4)": OTHER}
    found = modules_of(programs, texts, {"jit_ones"})
    assert found == ({"jit_ones(0)": "jit_ones(4)"}, [])


def test_number_of_fitting_modules_is_noted():
    texts = {"jit_f(2)": HLO, "jit_f(3)": HLO}
    found, unclear = modules_of({"jit_f(9)": traced(0, "b.1")}, texts, {"jit_f", "jit_g"})
    assert (found, unclear) == ({"jit_f(9)": "jit_f(2)"}, ["jit_f"])


def test_trace_names_loaded_programs_as_their_hlo():
    host = Plane("/host:CPU").line("tf_XLAEigen/1", kernel("fusion.1", 0, 10))
    metadata = Plane("/host:metadata").program("jit_step(12)", hlo_proto())
    trace = read_trace(space(host, metadata))
    assert {each.program for each in [*trace.ops, *trace.runs]} == {"jit_step(12)"}
    assert trace.notes == []

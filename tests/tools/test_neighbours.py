"""Neighbouring kernels of real HLO that did not fuse, and why."""

from __future__ import annotations

import json

import pytest

from jxc.compiled.kernels import kernels_of
from jxc.compiled.neighbours import unfused_neighbours
from jxc.hlo import parse_hlo

from .small_hlo import program


def pairs(name: str, before: str | None = None) -> dict[tuple[str, str], str]:
    found = unfused_neighbours(program(name), program(before) if before else None)
    return {(each.producer, each.consumer): each.reason for each in found}


def test_library_call_prevents_fusion() -> None:
    found = pairs("predict.cpu")
    assert set(found.values()) == {"a library call stands between"}
    assert ("ynn_fusion.2", "add_tanh_fusion.1") in found
    assert len(found) == 5


def test_pairs_are_ordered_by_bytes() -> None:
    found = unfused_neighbours(program("predict.cpu"))
    assert [pair.bytes for pair in found] == [128 * 512 * 4] * 4 + [128 * 10 * 4]
    assert str(found[0].shape) == "f32[128,512]"
    as_json = json.loads(json.dumps(found[0].as_json()))
    assert as_json["producer_line"] == "/home/user/model.py:5"
    assert (as_json["bytes"], as_json["on_chip"]) == (128 * 512 * 4, False)


def test_reductions_end_fusions_and_copies_between_memories_do_not() -> None:
    """The argument is copied to on-chip memory and read there: no pair."""
    found = pairs("softmax.tpu")
    assert found == {
        ("fusion", "fusion.2"): "a reduction ends the fusion",
        ("fusion", "fusion.1"): "a reduction ends the fusion",
        ("fusion.2", "fusion.1"): "a reduction ends the fusion",
    }
    assert all(pair.on_chip for pair in unfused_neighbours(program("softmax.tpu")))


def test_loop_boundary_prevents_fusion() -> None:
    found = pairs("nested_loops.tpu")
    assert found["fusion.2", "fusion.2"] == "a loop's boundary"
    assert found["copy.19", "copy.4"].startswith("a layout change")
    assert found["fusion.2", "copy.19"] == "a loop's boundary"
    assert found["copy.1", "fusion.2"] == "a loop's boundary"


def test_value_of_the_previous_iteration_is_read_in_each_iteration() -> None:
    found = {(p.producer, p.consumer): p for p in unfused_neighbours(program("nested_loops.tpu"))}
    assert found["fusion.2", "fusion.2"].bytes == 90 * 4 * 256 * 256
    assert found["copy.1", "fusion.2"].bytes == 4 * 256 * 256, "the first iteration only"


def test_optimization_barriers_are_read_from_the_unoptimized_module() -> None:
    """XLA removes optimization barriers at the end of its pipeline."""
    (pair,) = pairs("barrier.gpu").items()
    assert pair[1] == "the compiler decided so"
    assert pairs("barrier.gpu", "barrier.before") == {pair[0]: "an optimization barrier"}


def test_layout_change_prevents_fusion() -> None:
    found = pairs("cholesky.cpu")
    assert found["broadcast_select_fusion", "wrapped_copy"].startswith("a layout change")
    assert found["multiply_copy_fusion", "cholesky.0"] == "a library call stands between"


HEAD = "HloModule m, is_scheduled=true\n\n"
NEGATE = """%negate{0} (a: f32[64]) -> f32[64] {{
  %a{0} = f32[64]{{0}} parameter(0)
  ROOT %n{0} = f32[64]{{0}} negate(%a{0})
}}

"""
ADD = "%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n"
ADD += "  %b = f32[] parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}\n\n"


def small(body: str, kernels: int, root: str = "f32[64]") -> dict[tuple[str, str], str]:
    others = "".join(NEGATE.format(number) for number in range(kernels))
    module = parse_hlo(f"{HEAD}{others}{ADD}ENTRY %main (p: f32[64]) -> {root} {{\n{body}\n}}\n")
    return {(each.producer, each.consumer): each.reason for each in unfused_neighbours(module)}


def fusion(name: str, operand: str, number: int) -> str:
    return f"  %{name} = f32[64]{{0}} fusion(%{operand}), kind=kLoop, calls=%negate{number}\n"


def test_several_users_and_outputs_prevent_fusion() -> None:
    start = "  %p = f32[64]{0} parameter(0)\n" + fusion("x", "p", 0)
    two = start + fusion("y", "x", 1) + fusion("z", "x", 2)
    pair = "  ROOT %t = (f32[64]{0}, f32[64]{0}) tuple(%"
    assert small(two + pair + "y, %z)", 3) == {("x", "y"): "2 users", ("x", "z"): "2 users"}
    one = start + fusion("y", "x", 1)
    kept = small(one + pair + "x, %y)", 2)
    assert kept == {("x", "y"): "the value is an output too"}
    assert small(one + pair + "y, %y)", 2) == {("x", "y"): "the compiler decided so"}


def test_collective_prevents_fusion() -> None:
    body = "  %p = f32[64]{0} parameter(0)\n" + fusion("x", "p", 0)
    body += "  %s = f32[64]{0} all-reduce-start(%x), replica_groups={}, to_apply=%add\n"
    body += "  %d = f32[64]{0} all-reduce-done(%s)\n"
    body += fusion("y", "d", 1).replace("  %y", "  ROOT %y")
    assert small(body, 2) == {("x", "s"): "a collective", ("s", "y"): "a collective"}


def test_copy_in_the_same_layout_keeps_a_value() -> None:
    body = "  %p = f32[64]{0} parameter(0)\n" + fusion("x", "p", 0)
    body += "  ROOT %c = f32[64]{0} copy(%x)"
    assert small(body, 1) == {("x", "c"): "a copy that keeps a value from being overwritten"}


def test_copy_to_main_memory_and_back_is_off_chip() -> None:
    chip, main, mark = "f32[64]{0:T(128)S(1)}", "f32[64]{0:T(128)}", "u32[]{:S(2)}"
    there = "  %p = f32[64]{0} parameter(0)\n" + fusion("x", "p", 0).replace("f32[64]{0}", chip)
    moved = f"  %s = ({main}, {chip}, {mark}) copy-start(%x)\n  %d = {main} copy-done(%s)\n"
    moved += f"  %t = ({chip}, {main}, {mark}) copy-start(%d)\n  %e = {chip} copy-done(%t)\n"
    for middle, value in ((moved, "e"), ("", "x")):
        last = fusion("y", value, 1).replace("  %y", "  ROOT %y")
        others = NEGATE.format(0) + NEGATE.format(1)
        text = f"{HEAD}{others}ENTRY %m (p: f32[64]) -> f32[64] {{\n{there}{middle}{last}}}\n"
        (pair,) = unfused_neighbours(parse_hlo(text))
        assert (pair.producer, pair.consumer, pair.on_chip) == ("x", "y", not middle)
        assert pair.reason == ("a move between memories" if middle else "the compiler decided so")


@pytest.mark.parametrize("way", ["call", "async"])
def test_kernels_of_a_called_computation_are_in_call_order(way: str) -> None:
    inner = "%inner (q: f32[64]) -> f32[64] {\n  %q = f32[64]{0} parameter(0)\n"
    inner += fusion("x", "q", 0).replace("  %x", "  ROOT %x") + "}\n\n"
    body = "  %p = f32[64]{0} parameter(0)\n" + fusion("w", "p", 1)
    if way == "call":
        body += "  %d = f32[64]{0} call(%w), to_apply=%inner\n"
    else:
        body += "  %s = ((f32[64]{0}), f32[64]{0}, u32[]) async-start(%w), calls=%inner\n"
        body += "  %d = f32[64]{0} async-done(%s)\n"
    body += fusion("y", "d", 2).replace("  %y", "  ROOT %y")
    others = "".join(NEGATE.format(number) for number in range(3))
    text = f"{HEAD}{others}{inner}ENTRY %m (p: f32[64]) -> f32[64] {{\n{body}}}\n"
    module = parse_hlo(text)
    assert [each.name for each in kernels_of(module)] == ["w", "x", "y"]
    found = unfused_neighbours(module)
    assert [(each.producer, each.consumer) for each in found] == [("w", "x"), ("x", "y")]


def test_scalars_are_no_pairs() -> None:
    body = "  %p = f32[] parameter(0)\n  %x = f32[] negate(%p)\n  ROOT %y = f32[] negate(%x)"
    assert small(body, 0, "f32[]") == {}

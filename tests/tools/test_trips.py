"""How often instructions run in loops and branches."""

from __future__ import annotations

import pytest

from jxc.hlo import parse_hlo
from jxc.hlo.work import executed, flops_of, totals_of
from jxc.hlo.work.trips import trip_count

from .small_hlo import PROGRAMS, entry, program, runs


def test_trip_counts_of_tpu_loops_are_computed_from_conditions() -> None:
    """`fori_loop(0, 5, ...)` around `fori_loop(2, 20, ...)`, which XLA changes to `0 .. 18`."""
    found = runs("nested_loops.tpu")
    assert found["fusion.2"].times == 5 * 18
    assert found["copy.4"].times == 5
    assert found["lt.5"].times == 5 + 1, "the condition runs once more than the body"
    assert found["lt.4"].times == 5 * (18 + 1)
    assert found["copy.1"].times == 1
    assert not any(each.assumed for each in found.values())


def test_trip_counts_of_gpu_loops_come_from_their_annotation() -> None:
    module = program("nested_loops.gpu")
    found = executed(module)
    assert "known_trip_count" in (PROGRAMS / "nested_loops.gpu.hlo").read_text()
    times = {each.times for each in found}
    assert 90.0 in times
    assert times <= {1.0, 5.0, 90.0}
    stated = [each for each in found if flops_of(each.instruction).transcendentals]
    assert [each.times for each in stated] == [90.0]


def test_stated_trip_count_takes_precedence_over_the_condition() -> None:
    text = (PROGRAMS / "nested_loops.gpu.hlo").read_text()
    assert '"n":"18"' in text
    stated = parse_hlo(text.replace('"n":"18"', '"n":"7"'))
    assert max(each.times for each in executed(stated)) == 35
    silent = parse_hlo(text.replace("known_trip_count", "unknown_trip_count"))
    assert max(each.times for each in executed(silent)) == 5 * (18 + 1)


def test_trip_count_with_a_negative_step() -> None:
    """20, 17, 14, 11, 8, 5, 2 are above 0."""
    found = runs("counting_down.tpu")
    assert found["fusion.8"].times == 7
    assert found["gt.0"].times == 8


def test_unknown_trip_count_is_one_and_marked_as_assumed() -> None:
    found = runs("unknown_length.tpu")
    inside = [each for each in found.values() if each.assumed]
    assert {each.instruction.opcode for each in inside} >= {"fusion", "compare"}
    assert max(each.times for each in inside) == 2, "the condition of a loop with one iteration"
    assert found["copy-start"].assumed is False
    assert totals_of(found.values()).assumed


def test_costliest_branch_is_counted_and_marked() -> None:
    """One branch multiplies matrices, the other adds one."""
    found = runs("branches.gpu")
    assert set(found) == {"gemm_fusion_dot", "loop_reduce_fusion"}
    assert {each.branch for each in found.values()} == {"the costliest of 2 branches"}
    assert totals_of(found.values()).branches == 2


def test_costliest_branch_is_counted_in_any_position() -> None:
    text = (PROGRAMS / "branches.gpu.hlo").read_text()
    one, other = "true_computation=%region_1.2", "false_computation=%region_0.1"
    assert f"{one}, {other}" in text
    swapped = text.replace(one, "true_computation=%region_0.1")
    swapped = swapped.replace(other, "false_computation=%region_1.2")
    names = {each.instruction.name for each in executed(parse_hlo(swapped))}
    assert names == {"gemm_fusion_dot", "loop_reduce_fusion"}


LOOP = """
%body (s: (s32[], s32[])) -> (s32[], s32[]) {{
  %s = (s32[], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%one, %i)
  %changed = s32[] add(%n, %one)
  ROOT %t = (s32[], s32[]) tuple(%next, %{kept})
}}

%condition (c: (s32[], s32[])) -> pred[] {{
  %c = (s32[], s32[]) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %m = s32[] get-tuple-element(%c), index=1
  %nine = s32[] constant(9)
  ROOT %go = pred[] compare({compared}), direction={direction}
}}
"""
START = """  %zero = s32[] constant(2)
  %end = s32[] constant(7)
  %start = (s32[], s32[]) tuple(%zero, %end)
  %w = (s32[], s32[]) while(%start), condition=%condition, body=%body
  ROOT %r = s32[] get-tuple-element(%w), index=0"""


@pytest.mark.parametrize(
    ("kept", "compared", "direction", "times"),
    [
        ("n", "%j, %nine", "LT", 7),
        ("n", "%nine, %j", "GT", 7),
        ("n", "%j, %m", "LT", 5),  # the loop carries the limit unchanged
        ("n", "%m, %j", "GE", 6),
        ("changed", "%j, %m", "LT", None),
        ("n", "%m, %nine", "LT", None),  # no operand of the comparison changes
        ("n", "%j, %nine", "EQ", None),
    ],
)
def test_trip_counts_by_condition(
    kept: str, compared: str, direction: str, times: int | None
) -> None:
    found = executed(entry(START, LOOP.format(kept=kept, compared=compared, direction=direction)))
    (turn,) = [each for each in found if each.instruction.name == "next"]
    assert (turn.times, turn.assumed) == ((times or 1), times is None)


def test_unchanged_element_of_an_outer_loop_is_a_constant() -> None:
    """The limit of the inner loop is an element that the outer loop carries unchanged."""
    inner = LOOP.format(kept="n", compared="%j, %m", direction="LT")
    outer = """
%outer (o: (s32[], s32[])) -> (s32[], s32[]) {{
  %o = (s32[], s32[]) parameter(0)
  %k = s32[] get-tuple-element(%o), index=0
  %stop = s32[] get-tuple-element(%o), index=1
  %two = s32[] constant(2)
  %begin = (s32[], s32[]) tuple(%two, %stop)
  %v = (s32[], s32[]) while(%begin), condition=%condition, body=%body
  %after = s32[] add(%k, %two)
  %moved = s32[] add(%stop, %two)
  ROOT %u = (s32[], s32[]) tuple(%after, %{0})
}}

%until (d: (s32[], s32[])) -> pred[] {{
  %d = (s32[], s32[]) parameter(0)
  %e = s32[] get-tuple-element(%d), index=0
  %ten = s32[] constant(10)
  ROOT %on = pred[] compare(%e, %ten), direction=LT
}}
"""
    start = START.replace("%condition, body=%body", "%until, body=%outer")
    for kept, times in (("stop", 4 * 5.0), ("moved", 4 * 1.0)):
        found = executed(entry(start, inner + outer.format(kept)))
        (turn,) = [each for each in found if each.instruction.name == "next"]
        assert (turn.times, turn.assumed) == (times, kept == "moved")


def test_renaming_instructions_are_not_launched() -> None:
    found = runs("softmax.tpu")
    assert list(found) == ["copy-start", "fusion", "fusion.2", "fusion.1"]


@pytest.mark.parametrize(
    ("start", "step", "end", "direction", "expected"),
    [
        (0, 1, 12, "LT", 12),
        (0, 1, 12, "LE", 13),
        (0, 5, 12, "LT", 3),
        (12, -1, 0, "GT", 12),
        (12, -1, 0, "GE", 13),
        (20, -3, 0, "GT", 7),
        (0, 3, 12, "NE", 4),
        (12, -3, 0, "NE", 4),
        (0, 5, 12, "NE", None),
        (0, -1, 12, "NE", None),
        (5, 1, 5, "LT", 0),
        (5, 1, 5, "NE", 0),
        (9, 1, 5, "LT", 0),
        (0, -1, 12, "LT", None),
        (0, 0, 12, "LT", None),
    ],
)
def test_trip_count_of_a_counted_loop(
    start: int, step: int, end: int, direction: str, expected: int | None
) -> None:
    assert trip_count(start, step, end, direction) == expected

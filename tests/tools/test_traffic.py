"""Bytes that instructions of real HLO read and write, compared with numbers computed by hand."""

from __future__ import annotations

import pytest

from jxc.hlo.work import Traffic, executed, reads_of, totals_of, traffic_of

from .small_hlo import N, last, program, runs


def test_fusion_reads_only_the_slice_that_it_uses() -> None:
    found = runs("slices.cpu")
    sliced = traffic_of(found["wrapped_slice"].instruction)
    assert (sliced.read, sliced.written) == (10 * 512 * 4, 10 * 512 * 4)
    shifted = traffic_of(found["broadcast_add_fusion"].instruction)
    assert (shifted.read, shifted.written) == (8 * 512 * 4 + 4, 8 * 512 * 4)


def test_gather_and_scatter_access_only_the_indexed_elements() -> None:
    found = runs("gather_scatter.gpu")
    rows, indices = 50 * 64 * 4, 50 * 4
    gathered = traffic_of(found["loop_multiply_fusion"].instruction)
    assert (gathered.read, gathered.written) == (rows + indices, rows)
    scattered = traffic_of(found["input_scatter_fusion"].instruction)
    assert (scattered.read, scattered.written) == (2 * rows + indices, rows)
    copied = traffic_of(found["copy"].instruction)
    assert (copied.read, copied.written) == (1000 * 64 * 4, 1000 * 64 * 4)


UPDATE = """
%fused (p: f32[12,256], q: f32[1,256], i: s32[]) -> f32[12,256] {{
  %p = f32[12,256]{{1,0}} parameter(0)
  %q = f32[1,256]{{1,0}} parameter(1)
  %i = s32[] parameter(2)
  %z = s32[] constant(0)
  {0}
}}
"""
CALL = """  %p = f32[12,256]{1,0} parameter(0)
  %q = f32[1,256]{1,0} parameter(1)
  %i = s32[] parameter(2)
  ROOT %f = f32[12,256]{1,0} fusion(%p, %q, %i), kind=kLoop, calls=%fused"""


@pytest.mark.parametrize(
    ("inside", "read", "written"),
    [
        (
            "ROOT %u = f32[12,256]{1,0} dynamic-update-slice(%p, %q, %i, %z)",
            1024 + 4,
            1024,
        ),
        (
            "%u = f32[12,256]{1,0} dynamic-update-slice(%p, %q, %i, %z)\n"
            "  ROOT %n = f32[12,256]{1,0} negate(%u)",  # not in place: the whole array is written
            12 * 1024 + 1024 + 4,
            12 * 1024,
        ),
        (
            "%s = f32[1,256]{1,0} dynamic-slice(%p, %i, %z), dynamic_slice_sizes={1,256}\n"
            "  %a = f32[1,256]{1,0} add(%s, %q)\n"
            "  ROOT %u = f32[12,256]{1,0} dynamic-update-slice(%p, %a, %i, %z)",
            1024 + 1024 + 4,
            1024,
        ),
        (
            "%n = f32[12,256]{1,0} negate(%p)\n"
            "  %s = f32[1,256]{1,0} slice(%n), slice={[3:4], [0:256]}\n"
            "  %t = f32[1,256]{1,0} slice(%n), slice={[5:6], [0:256]}\n"
            "  %a = f32[1,256]{1,0} add(%s, %t)\n"
            "  ROOT %b = f32[12,256]{1,0} broadcast(%a), dimensions={0,1}",
            2 * 1024,
            12 * 1024,
        ),
        (
            "%s = f32[1,256]{1,0} slice(%p), slice={[3:4], [0:256]}\n"
            "  %b = f32[12,256]{1,0} broadcast(%s), dimensions={0,1}\n"
            "  ROOT %a = f32[12,256]{1,0} add(%p, %b)",  # a slice, and the whole array
            12 * 1024,
            12 * 1024,
        ),
    ],
)
def test_updates_in_place(inside: str, read: int, written: int) -> None:
    found = traffic_of(last(CALL, UPDATE.format(inside)))
    assert (found.read, found.written) == (read, written)


@pytest.mark.parametrize("order", ["%p, %q", "%q, %p"])
def test_operand_of_two_parameters_is_read_whole_if_either_needs_all(order: str) -> None:
    fused = f"""
%fused (p: f32[8,64], q: f32[8,64]) -> f32[8,64] {{
  %p = f32[8,64]{{1,0}} parameter(0)
  %q = f32[8,64]{{1,0}} parameter(1)
  %s = f32[1,64]{{1,0}} slice({order.split(", ")[0]}), slice={{[3:4], [0:64]}}
  %b = f32[8,64]{{1,0}} broadcast(%s), dimensions={{0,1}}
  ROOT %a = f32[8,64]{{1,0}} add({order.split(", ")[1]}, %b)
}}
"""
    call = "  %x = f32[8,64]{1,0} parameter(0)\n"
    call += "  ROOT %f = f32[8,64]{1,0} fusion(%x, %x), kind=kLoop, calls=%fused"
    assert traffic_of(last(call, fused)).read == 8 * 64 * 4


def test_repeated_operand_is_read_once() -> None:
    square = last("  %p = f32[100]{0} parameter(0)\n  ROOT %m = f32[100]{0} multiply(%p, %p)")
    assert [size for _, size in reads_of(square)] == [400]
    assert traffic_of(square) == Traffic(400, 400, 800)


def test_bytes_in_on_chip_memory_are_not_main_memory_bytes() -> None:
    found = runs("softmax.tpu")
    whole = 1024 * 4096 * 4
    moved = traffic_of(found["copy-start"].instruction)
    assert moved == Traffic(whole, whole, whole), "from main memory to on-chip memory"
    reduced = traffic_of(found["fusion.2"].instruction)
    assert reduced == Traffic(whole + 4096, 4096, 0)
    given = traffic_of(found["fusion.1"].instruction)
    assert given == Traffic(whole + 8192, whole, whole)


def test_totals_count_each_iteration() -> None:
    body = traffic_of(runs("nested_loops.tpu")["fusion.2"].instruction)
    assert body.total == 2 * 4 * N + 4
    total = totals_of(executed(program("nested_loops.tpu")))
    assert total.bytes_out >= 90 * 4 * N
    assert total.transcendentals == 90 * N

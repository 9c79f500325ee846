"""How often instructions run and what they cost: real HLO, the figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from jxc.analysis.hlo import Instruction, Module, parse_hlo
from jxc.analysis.work import (
    Executed,
    Traffic,
    executed,
    flops_of,
    reads_of,
    stablehlo_name,
    totals_of,
    traffic_of,
)
from jxc.analysis.work.convolutions import Window
from jxc.analysis.work.trips import turns

PROGRAMS = Path(__file__).parent / "programs"
N = 256 * 256


def program(name: str) -> Module:
    return parse_hlo((PROGRAMS / f"{name}.hlo").read_text())


def runs(name: str) -> dict[str, Executed]:
    return {each.instruction.name: each for each in executed(program(name))}


def entry(body: str, others: str = "") -> Module:
    return parse_hlo(f"HloModule m\n\n{others}\nENTRY %main () -> f32[] {{\n{body}\n}}\n")


def last(body: str, others: str = "") -> Instruction:
    return entry(body, others).entry.instructions[-1]


ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""


# -- how often ------------------------------------------------------------------------------------


def test_a_tpu_says_no_trip_counts_and_they_are_read_from_the_conditions() -> None:
    """`fori_loop(0, 5, ...)` around `fori_loop(2, 20, ...)`, which XLA made `0 .. 18`."""
    found = runs("nested_loops.tpu")
    assert found["fusion.2"].times == 5 * 18
    assert found["copy.4"].times == 5
    assert found["lt.5"].times == 5 + 1, "the condition is asked once more"
    assert found["lt.4"].times == 5 * (18 + 1)
    assert found["copy.1"].times == 1
    assert not any(each.assumed for each in found.values())


def test_a_gpu_states_trip_counts_and_its_conditions_are_not_asked() -> None:
    module = program("nested_loops.gpu")
    found = executed(module)
    assert "known_trip_count" in (PROGRAMS / "nested_loops.gpu.hlo").read_text()
    times = {each.times for each in found}
    assert 90.0 in times
    assert times <= {1.0, 5.0, 90.0}
    stated = [each for each in found if flops_of(each.instruction).transcendentals]
    assert [each.times for each in stated] == [90.0]


def test_a_stated_count_is_believed_and_one_left_out_is_counted() -> None:
    text = (PROGRAMS / "nested_loops.gpu.hlo").read_text()
    assert '"n":"18"' in text
    stated = parse_hlo(text.replace('"n":"18"', '"n":"7"'))
    assert max(each.times for each in executed(stated)) == 35
    silent = parse_hlo(text.replace("known_trip_count", "unknown_trip_count"))
    assert max(each.times for each in executed(silent)) == 5 * (18 + 1)


def test_a_loop_that_counts_down_by_threes() -> None:
    """20, 17, 14, 11, 8, 5, 2 are above 0."""
    found = runs("counting_down.tpu")
    assert found["fusion.8"].times == 7
    assert found["gt.0"].times == 8


def test_a_length_that_depends_on_an_argument_is_one_turn_and_said_to_be() -> None:
    found = runs("unknown_length.tpu")
    inside = [each for each in found.values() if each.assumed]
    assert {each.instruction.opcode for each in inside} >= {"fusion", "compare"}
    assert max(each.times for each in inside) == 2, "a condition around one turn"
    assert found["copy-start"].assumed is False
    assert totals_of(found.values()).assumed


def test_the_costliest_branch_is_taken_and_said_to_be() -> None:
    """One branch multiplies matrices, the other adds one."""
    found = runs("branches.gpu")
    assert set(found) == {"gemm_fusion_dot", "loop_reduce_fusion"}
    assert {each.branch for each in found.values()} == {"the costliest of 2 branches"}
    assert totals_of(found.values()).branches == 2


def test_the_costliest_branch_is_taken_wherever_it_stands() -> None:
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
        ("n", "%j, %m", "LT", 5),  # the end is carried along, and stays what it was
        ("n", "%m, %j", "GE", 6),
        ("changed", "%j, %m", "LT", None),
        ("n", "%m, %nine", "LT", None),  # nothing that this compares ever changes
        ("n", "%j, %nine", "EQ", None),
    ],
)
def test_conditions(kept: str, compared: str, direction: str, times: int | None) -> None:
    found = executed(entry(START, LOOP.format(kept=kept, compared=compared, direction=direction)))
    (turn,) = [each for each in found if each.instruction.name == "next"]
    assert (turn.times, turn.assumed) == ((times or 1), times is None)


def test_an_outer_loops_element_counts_where_it_never_changes() -> None:
    """The inner loop runs to an element that the outer one carries along."""
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


def test_nothing_is_launched_for_what_only_renames() -> None:
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
def test_turns(start: int, step: int, end: int, direction: str, expected: int | None) -> None:
    assert turns(start, step, end, direction) == expected


# -- flops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_sin_multiply_add(target: str) -> None:
    (fusion,) = executed(program(f"sin_multiply_add.{target}"))
    flops = flops_of(fusion.instruction)
    assert flops.transcendentals == 1024 * 1024
    assert flops.by_type == {"f32": 1024 * 1024 * (10 + 1 + 1)}
    assert traffic_of(fusion.instruction) == Traffic(3 * 4 << 20, 4 << 20, 16 << 20)


def test_a_program_of_products_on_a_cpu_adds_up() -> None:
    found = totals_of(executed(program("predict.cpu")))
    products = 2 * 128 * (784 * 512 + 512 * 512 + 512 * 10)
    hidden, last_layer = 2 * 128 * 512, 128 * 10
    assert found.flops == products + hidden * (1 + 10) + last_layer
    assert found.transcendentals == hidden
    moved = 128 * (784 + 8 * 512 + 3 * 10)  # each value once written, and read by each reader
    weights = 784 * 512 + 512 * 512 + 512 * 10 + 512 + 512 + 10
    assert found.bytes_in + found.bytes_out == 4 * (moved + weights)
    assert found.intensity == found.flops / (4 * (moved + weights))
    assert found.unknown == {}


def test_a_batched_product_that_a_tpu_runs_as_a_convolution_counts_as_the_product() -> None:
    """'bthd,bshd->bhts': the window of 8 x 8 over holes meets one element for each output."""
    fusion = runs("batched_product.tpu")["fusion"].instruction
    assert flops_of(fusion).by_type == {"tf32": 2 * (8 * 8 * 128 * 128) * 64}
    inner = fusion.called[0].root
    assert (inner.opcode, stablehlo_name(inner)) == ("convolution", "dot_general")


def test_products_in_loops_count_as_often_as_they_turn() -> None:
    total = totals_of(executed(program("counting_down.tpu")))
    scalars = 7 + 8  # i - 3, and i > 0 once more
    assert total.flops == 7 * (2 * 256**3 + 10 * N) + scalars


def test_convolutions_of_a_library() -> None:
    found = runs("convolutions.gpu")
    outputs = 8 * 32 * 32 * 64
    first = found["cudnn-conv-bias-activation.1"].instruction
    assert flops_of(first).total == outputs * (2 * 3 * 3 * 16 + 2), "a bias and a relu on top"
    grouped = found["cudnn-conv.3"].instruction
    assert flops_of(grouped).total == 8 * 15 * 15 * 64 * 2 * 3 * 3
    pooled = found["loop_reduce_window_fusion"].instruction
    assert flops_of(pooled).total == 8 * 7 * 7 * 64 * 3


def test_gradients_of_convolutions_cost_what_the_convolution_does() -> None:
    found = runs("convolution_gradients.gpu")
    forward = 8 * 16 * 16 * 64 * 2 * 3 * 3 * 16
    for name in ("cudnn-conv-bw-input.2", "cudnn-conv-bw-filter.2"):
        assert flops_of(found[name].instruction).total == forward


def test_convolutions_of_a_tpu() -> None:
    found = runs("convolutions.tpu")
    assert flops_of(found["fusion.4"].instruction).total == 8 * 32 * 32 * 64 * 2 * 3 * 3 * 16
    grouped = flops_of(found["fusion"].instruction)
    converted_and_maximum = 3 * 8 * 32 * 32 * 64
    assert grouped.total == 8 * 15 * 15 * 64 * 2 * 3 * 3 + converted_and_maximum
    assert grouped.by_type["bf16"] == 8 * 15 * 15 * 64 * 2 * 3 * 3


def test_a_product_of_cublas_with_a_bias() -> None:
    call = runs("product_and_bias.gpu")["cublas-lt-matmul.1"].instruction
    assert flops_of(call).total == 128 * 512 * (2 * 784 + 1)
    read = 4 * (128 * 784 + 784 * 512 + 512)
    assert traffic_of(call) == Traffic(read, 4 * 128 * 512, read + 4 * 128 * 512)


def test_lapack() -> None:
    found = runs("cholesky.cpu")
    assert flops_of(found["cholesky.0"].instruction).total == -(-(64**3) // 3)
    assert flops_of(found["triangular_solve.0"].instruction).total == 64 * 64 * 8


def test_transforms_complex_and_real() -> None:
    found = runs("fft.gpu")
    assert flops_of(found["fft.0.0"].instruction).total == 5 * 16 * 256 * 8
    assert flops_of(found["fft.2.0"].instruction).total == 5 * 16 * 256 * 8 // 2


@pytest.mark.parametrize(
    ("body", "others", "flops"),
    [
        (
            "  %p = f32[8,128,8192]{2,1,0} parameter(0)\n  %c = f32[] constant(0)\n"
            "  ROOT %w = f32[8,128,8192]{2,1,0} reduce-window(%p, %c), "
            "window={size=1x1x16383 pad=0_0x0_0x8191_8191}, to_apply=%add",
            ADD,
            8 * 128 * 8191,  # a sum over the whole line, which a TPU repeats at each element
        ),
        (
            "  %p = f32[16]{0} parameter(0)\n  %c = f32[] constant(0)\n"
            "  ROOT %w = f32[16]{0} reduce-window(%p, %c), "
            "window={size=16 pad=15_0}, to_apply=%add",
            ADD,
            16 * 15,  # a cumulative sum is counted window by window
        ),
        (
            "  %p = f32[8,16]{1,0} parameter(0)\n  %c = f32[] constant(0)\n"
            "  ROOT %r = f32[8]{0} reduce(%p, %c), dimensions={1}, to_apply=%add",
            ADD,
            8 * 16 - 8,
        ),
        (
            "  %p = f32[4,64]{1,0} parameter(0)\n"
            "  ROOT %s = f32[4,64]{1,0} sort(%p), dimensions={1}, to_apply=%add",
            ADD,
            4 * 64 * 6,
        ),
        (
            "  %p = c64[10]{0} parameter(0)\n  ROOT %m = c64[10]{0} multiply(%p, %p)",
            "",
            60,
        ),
        ("  %p = f32[10]{0} parameter(0)\n  ROOT %m = s32[10]{0} convert(%p)", "", 10),
        ("  %p = f32[10]{0} parameter(0)\n  ROOT %m = f32[10]{0} copy(%p)", "", 0),
        (
            "  %a = s8[16,32]{1,0} parameter(0)\n  %b = s8[32,8]{1,0} parameter(1)\n"
            "  ROOT %d = s32[16,8]{1,0} dot(%a, %b), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={0}",
            "",
            2 * 16 * 32 * 8,
        ),
        (
            "  %a = f32[4,16,32]{2,1,0} parameter(0)\n  %b = f32[4,8,32]{2,1,0} parameter(1)\n"
            '  ROOT %d = f32[4,16,8]{2,1,0} custom-call(%a, %b), custom_call_target="'
            '__onednn$matmul", backend_config={"onednn_matmul_config":{"transpose_b":true}}',
            "",
            2 * 4 * 16 * 32 * 8,
        ),
    ],
)
def test_flops_of_opcodes(body: str, others: str, flops: int) -> None:
    instruction = last(body, others)
    assert flops_of(instruction).total == flops
    assert not flops_of(instruction).unknown


def test_products_are_told_apart_by_type_and_precision() -> None:
    text = (
        "  %a = {0}[4,8]{{1,0}} parameter(0)\n  %b = {0}[8,4]{{1,0}} parameter(1)\n"
        "  ROOT %d = f32[4,4]{{1,0}} dot(%a, %b), lhs_contracting_dims={{1}}{1}"
    )
    exact = ", operand_precision={highest,highest}"
    for kind, precision, rate in (
        ("bf16", "", "bf16"),
        ("f32", "", "tf32"),
        ("f32", exact, "f32"),
        ("c128", "", "f64"),
        ("f8e4m3fn", "", "f8e4m3fn"),
    ):
        assert list(flops_of(last(text.format(kind, precision))).by_type) == [rate]


def test_what_nobody_knows_is_named_and_not_guessed() -> None:
    module = entry(
        "  %p = f32[4]{0} parameter(0)\n"
        '  %a = f32[4]{0} custom-call(%p), custom_call_target="mine"\n'
        '  ROOT %b = f32[4]{0} custom-call(%a), custom_call_target="mine"'
    )
    total = totals_of(executed(module))
    assert total.unknown == {"mine": 2}
    assert total.flops == 0
    assert total.as_json()["unknown_flops"] == {"mine": 2}


@pytest.mark.parametrize(
    ("window", "inputs", "outputs", "pairs"),
    [
        (Window(3, low=1), 32, 32, 96),  # padding counts
        (Window(8, stride=7, base_dilation=8), 8, 8, 8),  # a batch
        (Window(3, low=1, base_dilation=2), 4, 8, 15),  # a transposed convolution
        (Window(2, stride=3, base_dilation=6), 3, 5, 4),
        (Window(1), 128, 128, 128),
    ],
)
def test_holes_are_not_multiplied(window: Window, inputs: int, outputs: int, pairs: int) -> None:
    assert window.meetings(inputs, outputs) == pairs
    if window.base_dilation > 1:
        assert pairs == counted_one_by_one(window, inputs, outputs)


def counted_one_by_one(window: Window, inputs: int, outputs: int) -> int:
    """Every output with every element of the window."""
    last_input = (inputs - 1) * window.base_dilation
    found = 0
    for output in range(outputs):
        for tap in range(window.size):
            at = output * window.stride + tap * window.dilation - window.low
            found += not 0 <= at <= last_input or at % window.base_dilation == 0
    return found


def test_holes_of_any_window() -> None:
    import itertools

    choices = itertools.product(
        (1, 2, 3, 5), (1, 2, 3), (-1, 0, 2), (2, 3, 4), (1, 2), (1, 4), (1, 6)
    )
    for size, stride, low, base, dilation, inputs, outputs in choices:
        window = Window(size, stride, low, base, dilation)
        assert window.meetings(inputs, outputs) == counted_one_by_one(window, inputs, outputs), (
            window
        )


# -- bytes ----------------------------------------------------------------------------------------


def test_a_fusion_reads_the_slice_that_it_wants() -> None:
    found = runs("slices.cpu")
    sliced = traffic_of(found["wrapped_slice"].instruction)
    assert (sliced.read, sliced.written) == (10 * 512 * 4, 10 * 512 * 4)
    shifted = traffic_of(found["broadcast_add_fusion"].instruction)
    assert (shifted.read, shifted.written) == (8 * 512 * 4 + 4, 8 * 512 * 4)


def test_gathers_read_what_they_give_and_scatters_touch_what_they_update() -> None:
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
            "  ROOT %n = f32[12,256]{1,0} negate(%u)",  # not in place: all of it is new
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
            "  ROOT %a = f32[12,256]{1,0} add(%p, %b)",  # a slice of it, and all of it
            12 * 1024,
            12 * 1024,
        ),
    ],
)
def test_updates_in_place(inside: str, read: int, written: int) -> None:
    found = traffic_of(last(CALL, UPDATE.format(inside)))
    assert (found.read, found.written) == (read, written)


@pytest.mark.parametrize("order", ["%p, %q", "%q, %p"])
def test_an_operand_that_is_two_parameters_is_read_whole_if_one_needs_it(order: str) -> None:
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


def test_an_operand_is_read_once_however_often_it_is_named() -> None:
    square = last("  %p = f32[100]{0} parameter(0)\n  ROOT %m = f32[100]{0} multiply(%p, %p)")
    assert [size for _, size in reads_of(square)] == [400]
    assert traffic_of(square) == Traffic(400, 400, 800)


def test_memory_on_the_chip_is_told_from_the_main_memory() -> None:
    found = runs("softmax.tpu")
    whole = 1024 * 4096 * 4
    moved = traffic_of(found["copy-start"].instruction)
    assert moved == Traffic(whole, whole, whole), "from the main memory to the chip's"
    reduced = traffic_of(found["fusion.2"].instruction)
    assert reduced == Traffic(whole + 4096, 4096, 0)
    given = traffic_of(found["fusion.1"].instruction)
    assert given == Traffic(whole + 8192, whole, whole)


def test_totals_multiply_by_the_turns() -> None:
    body = traffic_of(runs("nested_loops.tpu")["fusion.2"].instruction)
    assert body.total == 2 * 4 * N + 4
    total = totals_of(executed(program("nested_loops.tpu")))
    assert total.bytes_out >= 90 * 4 * N
    assert total.transcendentals == 90 * N

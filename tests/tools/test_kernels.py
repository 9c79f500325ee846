"""Kernels of real HLO: their ops and their roofline."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import pytest

from jxc.backend.targets import find_target
from jxc.compiled.kernels import Kernel, kernels_of, least_seconds, peak_of, roofline
from jxc.hlo import parse_hlo
from jxc.hlo.work import Access

from .small_hlo import PROGRAMS, program


@dataclass(frozen=True)
class Device:
    """The properties of a device that the roofline uses."""

    peak_flops: dict[str, float] = field(hash=False)
    bandwidth: float = 1e12
    launch_seconds: float = 2e-6
    clock_hz: float | None = 1e9
    cache_bytes: int = 0
    cache_bandwidth: float = 0.0


DEVICE = Device({"f32": 1e12, "bf16": 4e12, "s8": 8e12})


def kernels(name: str) -> dict[str, Kernel]:
    return {each.name: each for each in kernels_of(program(name))}


# -- the ops of a kernel ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "cycles"),
    [("cpu", None), ("gpu", None), ("tpu", 51616)],
)
def test_sin_multiply_add_is_one_loop_fusion(target: str, cycles: int | None) -> None:
    (kernel,) = kernels_of(program(f"sin_multiply_add.{target}"))
    array = 4 << 20
    assert kernel.kind == "loop"
    assert kernel.ops == {"sine": 1, "multiply": 1, "add": 1}
    assert (kernel.traffic.read, kernel.traffic.written) == (3 * array, array)
    assert kernel.cycles == cycles
    assert [(line.file, line.line) for line in kernel.lines] == [("/home/user/model.py", 10)]


def test_kernels_have_kinds_and_engines() -> None:
    found = kernels("predict.cpu")
    assert Counter(each.kind for each in found.values()) == {"library": 3, "loop": 3}
    assert found["ynn_fusion"].engine == "__ynn_fusion"
    assert found["ynn_fusion"].ops == {"dot_general": 1}
    assert found["add_tanh_fusion"].ops == {"broadcast_in_dim": 1, "add": 1, "tanh": 1}
    assert kernels("branches.gpu")["gemm_fusion_dot"].kind == "custom"
    assert kernels("branches.gpu")["gemm_fusion_dot"].engine == "__triton_nested_gemm_fusion"
    cublas = kernels("product_and_bias.gpu")["cublas-lt-matmul.1"]
    assert (cublas.kind, cublas.engine) == ("library", "__cublas$lt$matmul")
    assert cublas.ops == {"dot_general": 1}
    assert kernels("convolutions.gpu")["cudnn-conv.3"].ops == {"convolution": 1}
    assert kernels("fft.gpu")["fft.0.0"].kind == "op"
    product = kernels("batched_product.tpu")
    assert product["fusion"].kind == "output"
    assert product["fusion"].ops == {"dot_general": 1}
    assert product["copy-start"].kind == "copy"
    assert product["copy-start"].is_asynchronous
    assert not product["fusion"].is_asynchronous


def test_lines_with_the_most_work_come_first() -> None:
    text = (PROGRAMS / "sin_multiply_add.cpu.hlo").read_text()
    moved = text.replace(
        "2 {file_location_id=2 parent_frame_id=2}",
        "2 {file_location_id=2 parent_frame_id=2}\n3 {file_location_id=3 parent_frame_id=2}",
    ).replace(
        "2 {file_name_id=2 function_name_id=2 line=10",
        "3 {file_name_id=2 function_name_id=2 line=33}\n"
        "2 {file_name_id=2 function_name_id=2 line=10",
    )
    sine = 'op_name="jit(sin_multiply_add)/sin" stack_frame_id=2'
    assert sine in moved
    (kernel,) = kernels_of(parse_hlo(moved.replace(sine, sine[:-1] + "3")))
    assert [line.line for line in kernel.lines] == [10, 33], (
        "the product and the sum move more bytes"
    )
    times = 'op_name="jit(sin_multiply_add)/mul" stack_frame_id=2'
    both = moved.replace(sine, sine[:-1] + "3").replace(times, times[:-1] + "3")
    (kernel,) = kernels_of(parse_hlo(both))
    assert [line.line for line in kernel.lines] == [33, 10]


def test_kernels_have_trip_counts_and_branches() -> None:
    assert kernels("nested_loops.tpu")["fusion.2"].times == 90
    assert kernels("branches.gpu")["gemm_fusion_dot"].branch == "the costliest of 2 branches"
    assert kernels("unknown_length.tpu")["fusion.8"].assumed


# -- the roofline ---------------------------------------------------------------------------------


def test_roofline_is_bound_by_memory_or_by_arithmetic() -> None:
    (kernel,) = kernels_of(program("sin_multiply_add.gpu"))
    found = kernel.roofline(DEVICE)
    assert found.memory_seconds == pytest.approx((16 << 20) / 1e12)
    assert found.compute_seconds == pytest.approx(12 * 2**20 / 1e12)
    assert found.bound == "memory"
    assert found.seconds == pytest.approx((16 << 20) / 1e12 + 2e-6)
    slow = kernel.roofline(Device({"f32": 1e11}))
    assert slow.bound == "compute"
    assert slow.seconds == pytest.approx(12 * 2**20 / 1e11 + 2e-6)


def test_roofline_of_products_uses_the_peak_of_their_type() -> None:
    grouped = kernels("convolutions.tpu")["fusion"]
    product, rest = 8 * 15 * 15 * 64 * 2 * 3 * 3, 3 * 8 * 32 * 32 * 64
    found = grouped.roofline(DEVICE)
    assert found.compute_seconds == pytest.approx(product / 4e12 + rest / 1e12)
    assert found.memory_seconds == 0, "all operands stay in on-chip memory"


@pytest.mark.parametrize(
    ("kind", "peak"),
    [
        ("f32", 1e12),
        ("tf32", 1e12),
        ("bf16", 4e12),
        ("f16", 4e12),
        ("u8", 8e12),
        ("f8e5m2", 4e12),
        ("f64", 1e12),
        ("s32", 1e12),
    ],
)
def test_type_without_a_peak_uses_the_nearest(kind: str, peak: float) -> None:
    assert peak_of(DEVICE, kind) == peak


@pytest.mark.parametrize(
    ("kind", "peak"),
    [
        ("convolution-tf32", 5.0),
        ("depthwise-convolution-f32", 2.0),
        ("grouped-convolution-tf32", 5.0),  # not listed: as a convolution
        ("convolution-f64", 3.0),
        ("scalar-elementwise-f32", 7.0),
        ("scalar-elementwise-f64", 8.0),
        ("tf32", 1.0),
    ],
)
def test_rate_that_is_not_listed_is_that_without_its_first_word(kind: str, peak: float) -> None:
    peaks = {"f32": 1.0, "depthwise-convolution-f32": 2.0, "convolution-f64": 3.0}
    peaks |= {"convolution-f32": 5.0, "elementwise-f32": 7.0, "elementwise-f64": 8.0}
    assert peak_of(Device(peaks), kind) == peak


CONVOLUTION = """HloModule m

ENTRY %e (x: f32[8,28,28,64], w: f32[3,3,{inner},64]) -> f32[8,28,28,64] {{
  %x = f32[8,28,28,64]{{3,2,1,0}} parameter(0)
  %w = f32[3,3,{inner},64]{{3,2,1,0}} parameter(1)
  ROOT %c = f32[8,28,28,64]{{3,2,1,0}} convolution(%x, %w), WINDOW{groups}
}}
""".replace("WINDOW", "window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f")


@pytest.mark.parametrize(
    ("inner", "groups", "rate"),
    [
        (64, "", "convolution-tf32"),
        (8, ", feature_group_count=8", "grouped-convolution-tf32"),
        (1, ", feature_group_count=64", "depthwise-convolution-tf32"),
    ],
)
def test_convolutions_have_rates_of_their_own(inner: int, groups: str, rate: str) -> None:
    (kernel,) = kernels_of(parse_hlo(CONVOLUTION.format(inner=inner, groups=groups)))
    (found,) = kernel.flops.by_type
    assert found == rate


GRADIENT = """HloModule m

ENTRY %e (x: f32[8,28,28,8,8], w: f32[28,28,8,8,64]) -> f32[8,3,3,8,64] {
  %x = f32[8,28,28,8,8]{4,3,2,1,0} parameter(0)
  %w = f32[28,28,8,8,64]{4,3,2,1,0} parameter(1)
  ROOT %c = f32[8,3,3,8,64]{4,3,2,1,0} convolution(%x, %w), \
window={size=28x28x8 stride=1x1x7 pad=1_1x1_1x0_0 lhs_dilate=1x1x8}, dim_labels=b012f_012io->b012f
}
"""


def test_gradient_of_a_grouped_convolution_on_a_cpu_counts_as_depthwise() -> None:
    """XLA:CPU writes the groups of batches as one more dimension of the window."""
    (kernel,) = kernels_of(parse_hlo(GRADIENT))
    assert set(kernel.flops.by_type) == {"depthwise-convolution-tf32"}


WINDOWS = """HloModule m

%max (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %m = f32[] maximum(%a, %b)
}

ENTRY %e (x: f32[512,256]) -> f32[512,256] {
  %x = f32[512,256]{1,0} parameter(0)
  %start = f32[] constant(-inf)
  ROOT %w = f32[512,256]{1,0} reduce-window(%x, %start), window={SIZE}, to_apply=%max
}
"""


@pytest.mark.parametrize(
    ("window", "rate"),
    [
        ("size=3x3 pad=1_1x1_1", "scalar-elementwise-f32"),
        ("size=1x256 pad=0_0x255_0", "elementwise-f32"),  # a cumulative maximum
    ],
)
def test_pooling_has_a_rate_of_its_own(window: str, rate: str) -> None:
    (kernel,) = kernels_of(parse_hlo(WINDOWS.replace("SIZE", window)))
    assert set(kernel.flops.by_type) == {rate}


SORT = """HloModule m, is_scheduled=true

%less (a: f32[], b: f32[]) -> pred[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = pred[] compare(%a, %b), direction=LT
}

ENTRY %e (x: f32[1024]) -> f32[1024] {
  %x = f32[1024]{0} parameter(0)
  ROOT %s = f32[1024]{0} sort(%x), dimensions={0}, to_apply=%less
}
"""


def test_comparisons_of_a_sort_are_not_vectorized() -> None:
    (kernel,) = kernels_of(parse_hlo(SORT))
    assert kernel.flops.by_type == {"scalar-elementwise-f32": 1024 * 10}


def test_depthwise_convolution_on_a_cpu_takes_longer_than_its_multiply_adds() -> None:
    """XLA:CPU computes one in scalar loops: the roofline would else prefer it to sums of slices."""
    device = find_target("cpu").device
    (dense,) = kernels_of(parse_hlo(CONVOLUTION.format(inner=64, groups="")))
    groups = ", feature_group_count=64"
    (depthwise,) = kernels_of(parse_hlo(CONVOLUTION.format(inner=1, groups=groups)))
    assert dense.flops.total == 64 * depthwise.flops.total
    assert depthwise.roofline(device).seconds > dense.roofline(device).seconds


def test_roofline_of_an_unknown_device_is_zero() -> None:
    found = roofline({"f32": 10}, [Access(10, 5)], Device({}, bandwidth=0, launch_seconds=0))
    assert found.seconds == 0


def test_asynchronous_copies_overlap_kernels_and_share_bandwidth() -> None:
    """softmax: the argument is copied to on-chip memory while a kernel also reads it."""
    found = kernels_of(program("softmax.tpu"))
    whole = 4 * 1024 * 4096
    assert [each.is_asynchronous for each in found] == [True, False, False, False]
    fast = Device({"f32": 1e18}, launch_seconds=0)
    assert least_seconds(found, fast) == pytest.approx(3 * whole / 1e12)
    slow = Device({"f32": 1e10}, launch_seconds=1.0)
    flops = sum(each.flops.total for each in found)
    assert least_seconds(found, slow) == pytest.approx(flops / 1e10 + 3 * 1.0)


def test_kernel_in_a_loop_counts_each_iteration() -> None:
    found = [each for each in kernels_of(program("nested_loops.tpu")) if each.times == 90]
    once = sum(each.roofline(DEVICE).seconds for each in found)
    assert least_seconds(found, DEVICE) == pytest.approx(90 * once)


def test_compiler_seconds_come_from_estimated_cycles() -> None:
    (kernel,) = kernels_of(program("sin_multiply_add.tpu"))
    assert kernel.compiler_seconds(DEVICE) == pytest.approx(51616e-9)
    assert kernel.compiler_seconds(Device({}, clock_hz=None)) is None
    (other,) = kernels_of(program("sin_multiply_add.gpu"))
    assert other.compiler_seconds(DEVICE) is None


def test_kernels_as_json() -> None:
    (kernel,) = kernels_of(program("sin_multiply_add.tpu"))
    found = json.loads(json.dumps(kernel.as_json(DEVICE)))
    assert found["ops"] == {"sine": 1, "multiply": 1, "add": 1}
    assert found["lines"] == [{"file": "/home/user/model.py", "line": 10}]
    assert found["roofline"]["bound"] == "memory"
    assert found["compiler_seconds"] == pytest.approx(51616e-9)
    assert (found["bytes_in"], found["bytes_out"]) == (12 << 20, 4 << 20)


# -- caches, launches, estimates ------------------------------------------------------------------

CACHED = Device({"f32": 1e12}, bandwidth=1e10, cache_bytes=1 << 20, cache_bandwidth=1e11)
CHAIN = """HloModule m, is_scheduled=true

ENTRY %main (p: f32[{0}]) -> f32[{0}] {{
  %p = f32[{0}]{{0}} parameter(0)
  %x = f32[{0}]{{0}} negate(%p)
  ROOT %y = f32[{0}]{{0}} abs(%x)
}}
"""


def test_roofline_counts_arrays_that_fit_the_cache_for_the_cache() -> None:
    small = kernels_of(parse_hlo(CHAIN.format(1 << 16)))  # 768 KiB in all
    assert all(kernel.roofline(CACHED).memory_seconds == 0 for kernel in small)
    assert [kernel.roofline(CACHED).bound for kernel in small] == ["cache", "cache"]
    large = kernels_of(parse_hlo(CHAIN.format(1 << 20)))  # each array 4 MiB
    assert [kernel.roofline(CACHED).bound for kernel in large] == ["memory", "memory"]


def test_roofline_of_a_tiny_kernel_is_bound_by_its_launch() -> None:
    (first, _) = kernels_of(parse_hlo(CHAIN.format(4)))
    assert first.roofline(DEVICE).bound == "launch"


def test_estimate_prefers_the_compilers() -> None:
    (kernel,) = kernels_of(program("sin_multiply_add.tpu"))
    assert kernel.estimate(DEVICE) == kernel.compiler_seconds(DEVICE)
    (other,) = kernels_of(program("sin_multiply_add.gpu"))
    assert other.estimate(DEVICE) == other.roofline(DEVICE).seconds


def test_reuse_distance_in_a_loop_is_that_of_its_iterations() -> None:
    inner = [each for each in kernels("nested_loops.gpu").values() if each.times == 90]
    distances = [access.distance for kernel in inner for access in kernel.accesses]
    assert distances and max(distances) < 4 * 4 * 256 * 256

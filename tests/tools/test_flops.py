"""Flops of HLO instructions from real compilers, compared with numbers computed by hand."""

from __future__ import annotations

import pytest

from jxc.cost.formulas import Window
from jxc.hlo.work import Traffic, executed, flops_of, stablehlo_name, totals_of, traffic_of

from .small_hlo import ADD, N, entry, last, program, runs


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_sin_multiply_add(target: str) -> None:
    (fusion,) = executed(program(f"sin_multiply_add.{target}"))
    flops = flops_of(fusion.instruction)
    assert flops.transcendentals == 1024 * 1024
    assert flops.by_type == {
        "elementwise-f32": 2 * 1024 * 1024,
        "scalar-function-f32": 10 * 1024 * 1024,
    }
    assert traffic_of(fusion.instruction) == Traffic(3 * 4 << 20, 4 << 20, 16 << 20)


def test_totals_of_matrix_products_on_a_cpu() -> None:
    found = totals_of(executed(program("predict.cpu")))
    products = 2 * 128 * (784 * 512 + 512 * 512 + 512 * 10)
    hidden, last_layer = 2 * 128 * 512, 128 * 10
    assert found.flops == products + hidden * (1 + 10) + last_layer
    assert found.transcendentals == hidden
    moved = 128 * (784 + 8 * 512 + 3 * 10)  # each value is written once, and read by each user
    weights = 784 * 512 + 512 * 512 + 512 * 10 + 512 + 512 + 10
    assert found.bytes_in + found.bytes_out == 4 * (moved + weights)
    assert found.intensity == found.flops / (4 * (moved + weights))
    assert found.unknown == {}


def test_batched_product_as_a_tpu_convolution_has_the_flops_of_the_product() -> None:
    """'bthd,bshd->bhts': the dilated 8 x 8 window covers one element for each output."""
    fusion = runs("batched_product.tpu")["fusion"].instruction
    assert flops_of(fusion).by_type == {"tf32": 2 * (8 * 8 * 128 * 128) * 64}
    inner = fusion.called[0].root
    assert (inner.opcode, stablehlo_name(inner)) == ("convolution", "dot_general")


def test_products_in_loops_count_once_per_iteration() -> None:
    total = totals_of(executed(program("counting_down.tpu")))
    scalars = 7 + 8  # i - 3, and one more comparison i > 0
    assert total.flops == 7 * (2 * 256**3 + 10 * N) + scalars


def test_convolutions_by_library_calls() -> None:
    found = runs("convolutions.gpu")
    outputs = 8 * 32 * 32 * 64
    first = found["cudnn-conv-bias-activation.1"].instruction
    assert flops_of(first).total == outputs * (2 * 3 * 3 * 16 + 2), "plus a bias and a relu"
    grouped = found["cudnn-conv.3"].instruction
    assert flops_of(grouped).total == 8 * 15 * 15 * 64 * 2 * 3 * 3
    pooled = found["loop_reduce_window_fusion"].instruction
    assert flops_of(pooled).total == 8 * 7 * 7 * 64 * 3


def test_gradients_of_a_convolution_have_its_flops() -> None:
    found = runs("convolution_gradients.gpu")
    forward = 8 * 16 * 16 * 64 * 2 * 3 * 3 * 16
    for name in ("cudnn-conv-bw-input.2", "cudnn-conv-bw-filter.2"):
        assert flops_of(found[name].instruction).total == forward


def test_convolutions_on_a_tpu() -> None:
    found = runs("convolutions.tpu")
    assert flops_of(found["fusion.4"].instruction).total == 8 * 32 * 32 * 64 * 2 * 3 * 3 * 16
    grouped = flops_of(found["fusion"].instruction)
    converted_and_maximum = 3 * 8 * 32 * 32 * 64
    assert grouped.total == 8 * 15 * 15 * 64 * 2 * 3 * 3 + converted_and_maximum
    assert grouped.by_type["depthwise-convolution-bf16"] == 8 * 15 * 15 * 64 * 2 * 3 * 3


def test_cublas_product_with_a_bias() -> None:
    call = runs("product_and_bias.gpu")["cublas-lt-matmul.1"].instruction
    assert flops_of(call).total == 128 * 512 * (2 * 784 + 1)
    read = 4 * (128 * 784 + 784 * 512 + 512)
    assert traffic_of(call) == Traffic(read, 4 * 128 * 512, read + 4 * 128 * 512)


def test_lapack_calls() -> None:
    found = runs("cholesky.cpu")
    assert flops_of(found["cholesky.0"].instruction).total == -(-(64**3) // 3)
    assert flops_of(found["triangular_solve.0"].instruction).total == 64 * 64 * 8


def test_complex_and_real_fourier_transforms() -> None:
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
            8 * 128 * 8191,  # a sum over the whole row, which a TPU computes for each element
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


def test_products_are_counted_by_type_and_precision() -> None:
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


def test_unknown_custom_calls_are_listed_without_flops() -> None:
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
def test_dilation_zeros_have_no_flops(
    window: Window, inputs: int, outputs: int, pairs: int
) -> None:
    assert window.meetings(inputs, outputs) == pairs
    if window.base_dilation > 1:
        assert pairs == enumerated_pairs(window, inputs, outputs)


def enumerated_pairs(window: Window, inputs: int, outputs: int) -> int:
    """Count every output with every element of the window."""
    last_input = (inputs - 1) * window.base_dilation
    found = 0
    for output in range(outputs):
        for tap in range(window.size):
            at = output * window.stride + tap * window.dilation - window.low
            found += not 0 <= at <= last_input or at % window.base_dilation == 0
    return found


def test_pairs_of_windows_equal_a_count_by_enumeration() -> None:
    import itertools

    choices = itertools.product(
        (1, 2, 3, 5), (1, 2, 3), (-1, 0, 2), (2, 3, 4), (1, 2), (1, 4), (1, 6)
    )
    for size, stride, low, base, dilation, inputs, outputs in choices:
        window = Window(size, stride, low, base, dilation)
        assert window.meetings(inputs, outputs) == enumerated_pairs(window, inputs, outputs), window


def test_padding_of_a_batch_dimension_has_no_flops() -> None:
    """The batch of a bf16 product on a TPU: every output has one input."""
    window = Window(8, stride=8, low=7, base_dilation=7)
    assert window.is_batch(8, 8) and window.meetings(8, 8) == 8
    assert not Window(3, low=1, base_dilation=2).is_batch(4, 8), "a transposed convolution"
    assert not Window(8).is_batch(8, 8)


def _attention(target: str, shape: str, rest: str) -> str:
    qkv = "\n".join(f"  %{name} = {shape} parameter({n})" for n, name in enumerate("qkv"))
    return (
        f'{qkv}\n  ROOT %o = {shape} custom-call(%q, %k, %v), custom_call_target="{target}", {rest}'
    )


def test_pallas_kernel_counts_the_flops_that_it_states() -> None:
    stated = '"cost_estimate":{"flops":"3000","transcendentals":"20","bytes_accessed":"64"}'
    config = f'backend_config={{"custom_call_config":{{"body":"TUzv",{stated}}}}}'
    flops = flops_of(last(_attention("tpu_custom_call", "bf16[2,4,256,64]", config)))
    assert flops.by_type == {"bf16": 3000, "function-f32": 200}
    assert flops.transcendentals == 20
    assert not flops.unknown


@pytest.mark.parametrize(
    ("target", "shape", "kernel", "products"),
    [
        ("tpu_custom_call", "bf16[2,4,256,64]", "flash_mha_bwd_dq_block_k=128/pallas_call", 3),
        ("tpu_custom_call", "bf16[2,4,256,64]", "flash_mha_bwd_dkv_block_k=128/pallas_call", 4),
        ("__gpu$xla.gpu.triton", "bf16[2,256,4,64]", "mha_forward/pallas_call", 2),
        ("__gpu$xla.gpu.triton", "bf16[2,256,4,64]", "mha_backward/pallas_call", 7),
    ],
)
def test_attention_kernels_of_jax(target: str, shape: str, kernel: str, products: int) -> None:
    call = last(_attention(target, shape, f'metadata={{op_name="jit(f)/{kernel}"}}'))
    scores = 2 * 4 * 256 * 256
    assert flops_of(call).by_type == {
        "bf16": 2 * products * scores * 64,
        "function-f32": 10 * scores,
    }


def test_other_pallas_kernels_are_unknown() -> None:
    call = last(_attention("tpu_custom_call", "bf16[8]", 'metadata={op_name="jit(f)/pallas_call"}'))
    assert flops_of(call).unknown == {"tpu_custom_call": 1}

"""`convert` rules on every triple of types, bits that floats do not keep, compatible types."""

from __future__ import annotations

import pytest

from jxc.check import compare_modules
from jxc.ir import clone_module, make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

INTEGERS = ("i1", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")
FLOATS = ("f8E5M2", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ", "bf16", "f16", "f32")
TYPES = (*INTEGERS, *FLOATS, "f64")


@pytest.mark.parametrize("first", TYPES)
def test_chains_of_converts_keep_every_bit(first: str) -> None:
    """Removed conversions keep the results; chains that no rule changes are not compared."""
    start = f"tensor<40x{first}>"
    lines, results = [], []
    for middle in TYPES:
        half = f"tensor<40x{middle}>"
        lines.append(f"%{middle} = stablehlo.convert %x : ({start}) -> {half}")
        for last in TYPES:
            end, name = f"tensor<40x{last}>", f"%{middle}_{last}"
            lines.append(f"{name} = stablehlo.convert %{middle} : ({half}) -> {end}")
            results.append((name, end))
    names, kinds = (", ".join(part) for part in zip(*results, strict=True))
    text = "\n".join([f"func.func @main(%x: {start}) -> ({kinds}) {{", *lines])
    before = read_module(f"{text}\nreturn {names} : {kinds}\n}}", make_context())
    after = clone_module(before)
    report = run_pipeline(after, make_pipeline("convert-of-convert"), PassContext())
    assert report.hits or first == "f64"
    verdict = compare_modules(before, after, kinds=("edge", "normal"))
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)


@pytest.mark.parametrize("bits", ["0x7FC00001", "0xFF800001", "0x00000001", "0x80000000"])
def test_rearranged_splats_keep_their_bits(bits: str) -> None:
    """NaN payloads, denormals and -0.0 are rearranged without conversion to Python floats."""
    body = (
        f"%c = stablehlo.constant dense<{bits}> : tensor<f32>\n"
        "%b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32>\n"
        "%r = stablehlo.bitcast_convert %b : (tensor<2xf32>) -> tensor<2xui32>"
    )
    text = f"func.func @main() -> tensor<2xui32> {{\n{body}\nreturn %r : tensor<2xui32>\n}}"
    before = read_module(text, make_context())
    after = clone_module(before)
    assert run_pipeline(after, make_pipeline("simplify"), PassContext()).hits
    assert "broadcast" not in str(after)
    assert compare_modules(before, after).agrees


@pytest.mark.parametrize(
    "body",
    [
        """(%x: tensor<?x3xf32>, %y: tensor<4x3xf32>) -> tensor<3x6xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1
      : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x6xf32>
  return %2 : tensor<3x6xf32>""",
        """(%x: tensor<8xf32>) -> tensor<?xf32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>""",
        """(%x: tensor<4x2x5xf32>) -> tensor<2x2x10xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<4x2x5xf32>) -> tensor<?x2x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<?x2x4xf32>) -> tensor<2x2x10xf32>
  return %1 : tensor<2x2x10xf32>""",
    ],
)
def test_dynamic_extents_between_static_ones_are_left_alone(body: str) -> None:
    module = read_module(f"func.func @main{body}\n}}", make_context())
    assert not run_pipeline(module, make_pipeline("simplify"), PassContext()).hits

"""`convert` rules on every triple of types, and bits that Python's floats do not keep."""

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

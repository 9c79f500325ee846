"""`compare_modules` finds wrong rewrites that other projects shipped, and survives crashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

import jxc
from jxc.backend import from_module
from jxc.backend.from_module import lowered_from_module
from jxc.check import Interpreter, compare_modules
from jxc.check.compare import judges
from jxc.check.inputs import KINDS, CannotRun, edge_values, make_inputs, specs_of
from jxc.check.reference import Float64Evaluation
from jxc.check.run import XlaProgram, as_specified, widen
from jxc.ir import make_context, read_module
from jxc.ir.dtypes import numpy_dtype
from jxc.rewrite import reassociates


def _module(body: str, arguments: str, result: str) -> ir.Module:
    text = f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    return read_module(text, make_context())


F32 = "tensor<8xf32>"
I32 = "tensor<8xi32>"
FLOATS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "complex<f32>", "complex<f64>")
ELEMENTS = (*FLOATS, "i1", "i4", "ui4", "i8", "ui8", "i64", "ui64")
NOTHING = "%z = stablehlo.constant dense<0.0> : tensor<8xf32>\n"
FP8 = "tensor<8xf8E4M3FN>"

WRONG = {
    "x + 0.0 -> x": (
        f"{NOTHING}%r = stablehlo.add %x, %z : {F32}",
        f"{NOTHING}%n = stablehlo.constant dense<-0.0> : {F32}\n%r = stablehlo.add %x, %n : {F32}",
        f"%x: {F32}",
        F32,
    ),
    "x - x -> 0.0": (
        f"%r = stablehlo.subtract %x, %x : {F32}",
        f"%r = stablehlo.constant dense<0.0> : {F32}",
        f"%x: {F32}",
        F32,
    ),
    "x * 2 / 2 -> x, on integers": (
        f"%c = stablehlo.constant dense<2> : {I32}\n%a = stablehlo.multiply %x, %c : {I32}\n"
        f"%r = stablehlo.divide %a, %c : {I32}",
        f"%c = stablehlo.constant dense<0> : {I32}\n%r = stablehlo.add %x, %c : {I32}",
        f"%x: {I32}",
        I32,
    ),
    "(x / 65536) / 65536 -> -1, as x / 0 is": (
        f"%c = stablehlo.constant dense<65536> : {I32}\n%a = stablehlo.divide %x, %c : {I32}\n"
        f"%r = stablehlo.divide %a, %c : {I32}",
        f"%r = stablehlo.constant dense<-1> : {I32}",
        f"%x: {I32}",
        I32,
    ),
    "f32 -> f8 -> f32 -> x": (
        f"%a = stablehlo.convert %x : ({F32}) -> {FP8}\n"
        f"%r = stablehlo.convert %a : ({FP8}) -> {F32}",
        f"{NOTHING}%r = stablehlo.convert %x : {F32}",
        f"%x: {F32}",
        F32,
    ),
    "where(x > 0, x, 0) -> max(x, 0)": (
        f"{NOTHING}%p = stablehlo.compare GT, %x, %z : ({F32}, {F32}) -> tensor<8xi1>\n"
        f"%r = stablehlo.select %p, %x, %z : tensor<8xi1>, {F32}",
        f"{NOTHING}%r = stablehlo.maximum %x, %z : {F32}",
        f"%x: {F32}",
        F32,
    ),
    "a complex part": (
        "%r = stablehlo.multiply %x, %x : tensor<8xcomplex<f32>>",
        "%r = stablehlo.add %x, %x : tensor<8xcomplex<f32>>",
        "%x: tensor<8xcomplex<f32>>",
        "tensor<8xcomplex<f32>>",
    ),
}


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    interpreter = Interpreter(limit_s=10)
    yield interpreter
    interpreter.close()


@pytest.mark.parametrize("name", WRONG)
def test_compare_finds_wrong_rewrites(name: str, interpreter: Interpreter) -> None:
    before, after, arguments, result = WRONG[name]
    report = compare_modules(
        _module(before, arguments, result),
        _module(after, arguments, result),
        interpreter=interpreter,
    )
    assert report.difference is not None, str(report)
    assert str(report).startswith("differs (exact): output ")
    assert "expected" in str(report) and "argument 0: " in str(report)


@pytest.mark.parametrize("element", ELEMENTS)
def test_interpreter_reads_and_returns_every_type(element: str, interpreter: Interpreter) -> None:
    kind = f"tensor<40x{element}>"
    module = _module(f"%r = stablehlo.reverse %x, dims = [0] : {kind}", f"%x: {kind}", kind)
    with module.context:
        specs = specs_of([ir.Type.parse(kind)])
    for draw in KINDS:
        inputs = make_inputs(specs, draw, seed=3)
        found = interpreter.run(module, inputs)
        for given, taken in zip(widen(inputs[0]), found, strict=True):
            np.testing.assert_array_equal(given[::-1], taken)


def test_edge_values_have_nan_infinities_and_limits() -> None:
    with make_context():
        bf16 = numpy_dtype(ir.Type.parse("bf16"))
    values = edge_values(bf16).astype(np.float64)
    assert np.isnan(values).sum() == 1 and np.isinf(values).sum() == 2
    assert {0.0} == set(values[values == 0]) and np.signbit(values[values == 0]).sum() == 1
    assert edge_values(np.dtype(np.int8)).tolist() == [-128, -127, -1, 0, 1, 63, 64, 126, 127]


def test_interpreter_runs_again_after_a_crash(interpreter: Interpreter) -> None:
    crash = _module(
        f"%r = stablehlo.custom_call @nobody_has_this(%x) : ({F32}) -> {F32}", f"%x: {F32}", F32
    )
    fine = _module(f"%r = stablehlo.negate %x : {F32}", f"%x: {F32}", F32)
    ones = [np.ones(8, np.float32)]
    with pytest.raises(CannotRun, match=r"the interpreter (died: SIG|refused)"):
        interpreter.run(crash, ones)
    assert interpreter.run(fine, ones)[0].tolist() == [-1.0] * 8


def test_interpreter_stops_at_its_time_limit() -> None:
    loop = """
      %t = stablehlo.constant dense<true> : tensor<i1>
      %r = stablehlo.while(%i = %x) : tensor<8xf32>
        cond { stablehlo.return %t : tensor<i1> } do { stablehlo.return %i : tensor<8xf32> }
    """
    interpreter = Interpreter(limit_s=1.5)
    with pytest.raises(CannotRun, match=r"took more than 1\.5 s"):
        interpreter.run(_module(loop, f"%x: {F32}", F32), [np.ones(8, np.float32)])
    interpreter.close()


def test_compare_accepts_rounding_only_under_its_contract(interpreter: Interpreter) -> None:
    left = f"%a = stablehlo.add %x, %y : {F32}\n%r = stablehlo.add %a, %z : {F32}"
    right = f"%a = stablehlo.add %y, %z : {F32}\n%r = stablehlo.add %x, %a : {F32}"
    arguments = f"%x: {F32}, %y: {F32}, %z: {F32}"
    before, after = (_module(body, arguments, F32) for body in (left, right))
    assert not compare_modules(before, after, interpreter=interpreter).agrees
    report = compare_modules(before, after, contract=reassociates, interpreter=interpreter)
    assert report.agrees and set(report.runs.values()) == {"xla"}, str(report)


def test_compare_compiles_each_module_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def counted(module: ir.Module) -> Any:
        compiled.append(str(module))
        return lowered_from_module(module)

    monkeypatch.setattr(from_module, "lowered_from_module", counted)
    body = f"%r = stablehlo.add %x, %x : {F32}"
    before, after = (_module(body, f"%x: {F32}", F32) for _ in range(2))
    report = compare_modules(before, after, contract=reassociates)
    assert report.agrees and len(report.runs) == len(KINDS), str(report)
    assert len(compiled) == 2


def test_compare_of_large_programs_uses_the_interpreter_only_for_nans(
    interpreter: Interpreter,
) -> None:
    kind = "tensor<80x80xf32>"
    contracted = "contracting_dims = [1] x [0]"
    dot = f"%r = stablehlo.dot_general %x, %x, {contracted} : ({kind}, {kind}) -> {kind}"
    module = _module(dot, f"%x: {kind}", kind)
    interpreted = []

    class Counted(Interpreter):
        def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
            interpreted.append(inputs)
            return interpreter.run(module, inputs)

    report = compare_modules(module, module, contract=reassociates, interpreter=Counted())
    assert report.agrees and list(report.runs) == ["normal", "mild", "small"], str(report)
    assert len(interpreted) == 1, "the interpreter decides about NaNs only"


SOLVE = """func.func @main(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {
    mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8},
    operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>]
  } : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %x : tensor<3x3xf64>
}"""


def test_judges_of_triangular_solve_ignore_elements_that_are_not_finite(
    interpreter: Interpreter,
) -> None:
    """Whether a singular system gives NaN or infinity depends on the kernel that BLAS chooses."""
    module = read_module(SOLVE, make_context())
    inputs = [np.eye(3), np.ones((3, 3))]
    (judge,) = judges(Float64Evaluation(module, interpreter), inputs, reassociates)
    expected, found = np.ones((3, 3)), np.ones((3, 3))
    expected[0], found[0] = [np.nan, np.inf, 1], [-np.inf, np.nan, np.nan]
    found[1, 0] = 2
    assert np.argwhere(judge(expected, found)).tolist() == [[0, 2], [1, 0]]


def test_compare_rejects_different_signatures() -> None:
    before = _module(f"%r = stablehlo.negate %x : {F32}", f"%x: {F32}", F32)
    after = _module(f"%r = stablehlo.negate %x : {I32}", f"%x: {I32}", I32)
    with pytest.raises(ValueError, match="@main is"):
        compare_modules(before, after)


def test_module_that_needs_more_memory_than_the_limit_is_not_run() -> None:
    large = "tensor<65536x65536xf32>"
    body = f"""
    %y = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<65536xf32>) -> {large}
    %s = "stablehlo.sort"(%y) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}) {{dimension = 0 : i64}} : ({large}) -> {large}
    %r = stablehlo.slice %s [5:6, 0:8] : ({large}) -> tensor<1x8xf32>"""
    program = XlaProgram(_module(body, "%x: tensor<65536xf32>", "tensor<1x8xf32>"))
    with pytest.raises(CannotRun, match=r"needs \S+ GiB of memory"):
        program([np.zeros(65536, np.float32)])


def test_fusion_of_xla_that_drops_nan_is_not_blamed_on_the_rewrite() -> None:
    # XLA:CPU's YNN fusion of these ops returns 0 for rows of NaN.
    zero = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
    zeros = "%zs = stablehlo.constant dense<0.0> : tensor<64x128xf32>"
    total = "(tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>"
    body = f"""
    {zero}
    {zeros}
    %m = stablehlo.maximum %x, %zs : tensor<64x128xf32>
    %r = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [1] : {total}"""
    module = _module(body, "%x: tensor<64x128xf32>", "tensor<64xf32>")
    (found,) = as_specified(module)([np.full((64, 128), np.nan, np.float32)])
    assert np.isnan(found).all()


def test_large_arguments_are_printed_in_one_line() -> None:
    other = "%r = stablehlo.abs %x : tensor<9x9x9xf32>"
    kind = "tensor<9x9x9xf32>"
    before = _module(f"%r = stablehlo.negate %x : {kind}", f"%x: {kind}", kind)
    report = compare_modules(before, _module(other, f"%x: {kind}", kind))
    assert report.difference is not None
    text = str(report.difference)
    assert "float32[9, 9, 9] [ 0.12573022 -0.13210486  0.64042264 ...".replace("  ", " ") in text
    assert "np.float32" not in text
    assert max(map(len, text.splitlines())) < 200


def squares(x, w):
    """XLA does not round the product to bf16, as it reads it in the same fusion."""
    h = x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)
    return (h * h).astype(jnp.float32)


def squares_by_row(x, w):
    """The rows are stored, and rounded."""

    def one(i, found):
        h = x.astype(jnp.bfloat16)[i] @ w.astype(jnp.bfloat16)
        return found.at[i].set(h * h)

    rows = jax.lax.fori_loop(0, 8, one, jnp.zeros((8, 8), jnp.bfloat16))
    return rows.astype(jnp.float32)


def test_rounding_that_xla_leaves_out_is_no_difference():
    given = jax.ShapeDtypeStruct((8, 64), jnp.float32), jax.ShapeDtypeStruct((64, 8), jnp.float32)
    one, other = (jxc.lower(each, *given).module for each in (squares, squares_by_row))
    for before, after in ((one, other), (other, one)):
        report = compare_modules(before, after, kinds=["small"], contract=reassociates)
        assert report.ran and report.difference is None, str(report)

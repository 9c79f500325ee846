"""The z3 term of each op, compared with the reference interpreter on edge values of every type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
import z3
from jaxlib.mlir import ir

from jxc.check import Interpreter
from jxc.check.inputs import edge_values
from jxc.ir import functions, make_context, read_module, walk
from jxc.ir.dtypes import numpy_dtype
from scripts.proof.elements import Float, bits_of_array, element_of
from scripts.proof.evaluate import evaluate, places, symbols
from scripts.proof.semantics import modelled_ops

INTEGERS = ("i4", "ui4", "i8", "ui8", "i32")
FLOATS = ("f8E5M2", "f8E4M3", "f8E4M3FN", "f8E3M4", "f16", "bf16", "f32")
EVERY = ("i1", *INTEGERS, *FLOATS)
BITWISE = ("and", "or", "xor")
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
ROUNDING = ("floor", "ceil", "round_nearest_afz", "round_nearest_even")
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
WITHOUT_BITS = "f8E4M3FN"  # represented as another type
ROUNDS_TO_NAN = "f8E3M4"  # wrong in the interpreter

MOST_ROWS = 60

with make_context():
    DTYPES = {name: numpy_dtype(ir.Type.parse(name)) for name in EVERY}
    WIDTHS = {name: element_of(ir.Type.parse(name)).width for name in EVERY}

exercised: set[str] = set()


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    started = Interpreter()
    yield started
    started.close()


def module_of(kinds: Sequence[str], ops: Sequence[tuple[str, str]], count: int) -> ir.Module:
    """A module whose @main returns all of `ops`, each applied to all arguments.

    Args:
        kinds: element types of the arguments.
        ops: each with its attributes, and the element type of its result.
        count: the number of elements of every value.
    """
    given = [f"tensor<{count}x{kind}>" for kind in kinds]
    names = ", ".join(f"%a{i}" for i in range(len(kinds)))
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(given))
    types = ", ".join(f"tensor<{count}x{kind}>" for _, kind in ops)
    lines = [f"func.func @main({arguments}) -> ({types}) {{"]
    for i, (op, kind) in enumerate(ops):
        name, _, attributes = op.partition(" ")
        signature = f"({', '.join(given)}) -> tensor<{count}x{kind}>"
        lines.append(f'%r{i} = "stablehlo.{name}"({names}) {attributes} : {signature}')
    results = ", ".join(f"%r{i}" for i in range(len(ops)))
    return read_module("\n".join([*lines, f"return {results} : {types}\n}}"]), make_context())


def disagreements(
    interpreter: Interpreter, module: ir.Module, columns: Sequence[np.ndarray]
) -> Iterator[str]:
    """The results of @main that differ from the interpreter's on some row of arguments.

    z3 decides by its solver, not only by simplification, as in a proof.
    """
    function = functions(module)["main"]
    exercised.update(op.operation.name.removeprefix("stablehlo.") for op in walk(function))
    wanted = interpreter.run(module, columns)
    bits = symbols(function)
    found = evaluate(function, bits)
    elements = [element_of(kind) for kind in found.argument_types]
    rows = [
        z3.And([x == value for x, value in zip(bits, row, strict=True)])
        for row in zip(*map(bits_of_array, columns, elements), strict=True)
    ]
    for i, (term, kind, numbers) in enumerate(
        zip(found.results, found.result_types, wanted, strict=True)
    ):
        solver = z3.Solver()
        solver.add(
            z3.Or(
                [z3.And(row, _is_not(term, x, kind)) for row, x in zip(rows, numbers, strict=True)]
            )
        )
        answer = solver.check()
        if answer != z3.unsat:
            why = solver.model() if answer == z3.sat else solver.reason_unknown()
            yield f"result {i}, {kind}: {answer}, {why}"


def _is_not(term, number: np.generic, kind: ir.Type):
    """`number` is widened, as the interpreter's results are."""
    element, dtype = element_of(kind), numpy_dtype(kind)
    assert dtype is not None
    if isinstance(element, Float) and np.isnan(number):
        return z3.Not(z3.fpIsNaN(term))
    (bits,) = bits_of_array(np.asarray(number).astype(dtype), element)
    return term != element.of_bits(z3.BitVecVal(bits, element.width))


def compares(kind: str) -> list[tuple[str, str]]:
    orders = ["", ", compare_type = #stablehlo<comparison_type TOTALORDER>"]
    return [
        (f"compare {{comparison_direction = #stablehlo<comparison_direction {d}>{order}}}", "i1")
        for d in DIRECTIONS
        for order in orders[: 1 + (kind in FLOATS and kind != WITHOUT_BITS)]
    ]


def binary(kind: str) -> list[tuple[str, str]]:
    """The ops on two numbers of a type, with their result types."""
    names = ["add", "multiply", "maximum", "minimum"]
    if kind != "i1":
        names += ["subtract", "divide"]
    if kind not in FLOATS:
        names += BITWISE
    if kind in INTEGERS:
        names += [*SHIFTS, "remainder"]
    return [*((name, kind) for name in names), *compares(kind)]


def unary(kind: str) -> list[tuple[str, str]]:
    """The ops on one number of a type, with their result types."""
    names = [] if kind == "i1" else ["negate"]
    if kind in FLOATS:
        names += ["real", "imag", *(ROUNDING if kind != ROUNDS_TO_NAN else ())]
    else:
        names += ["not"]
    if kind in INTEGERS:
        names += ["popcnt", "count_leading_zeros"]
    if kind in FLOATS or kind in ("i4", "i8", "i32"):
        names += ["abs", "sign"]
    found = [(name, kind) for name in names] + [("convert", to) for to in EVERY]
    if kind in FLOATS:
        found.append(("is_finite", "i1"))
    to_bits = [to for to in EVERY if WIDTHS[to] == WIDTHS[kind] and kind != WITHOUT_BITS]
    return found + [("bitcast_convert", to) for to in to_bits]


def rows_of(*columns: np.ndarray) -> list[np.ndarray]:
    """Some combinations of the elements of the columns, as columns."""
    rows = list(product(*columns))
    chosen = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
    picked = zip(*(rows[i] for i in chosen), strict=True)
    return [np.array(each, of.dtype) for each, of in zip(picked, columns, strict=True)]


def check(interpreter, kinds, ops, columns):
    module = module_of(kinds, ops, len(columns[0]))
    assert list(disagreements(interpreter, module, columns)) == []


@pytest.mark.parametrize("kind", EVERY)
def test_unary_and_binary_ops(interpreter, kind):
    edges = edge_values(DTYPES[kind])
    check(interpreter, [kind], unary(kind), [edges])
    check(interpreter, [kind, kind], binary(kind), rows_of(edges, edges))


@pytest.mark.parametrize("kind", ["i1", "i8", "ui4", "f8E4M3", "bf16"])
def test_ternary_ops(interpreter, kind):
    edges, both = edge_values(DTYPES[kind]), np.array([False, True])
    check(interpreter, [kind] * 3, [("clamp", kind)], rows_of(edges, edges, edges))
    check(interpreter, ["i1", kind, kind], [("select", kind)], rows_of(both, edges, edges))


COMPLEX = """
func.func @main(%a: tensor<Nxf32>, %b: tensor<Nxf32>, %c: tensor<Nxf32>, %d: tensor<Nxf32>)
    -> (tensor<Nxf32>, tensor<Nxf32>, tensor<Nxi1>, tensor<Nxf64>) {
  %x = stablehlo.complex %a, %b : tensor<Nxcomplex<f32>>
  %y = stablehlo.complex %c, %d : tensor<Nxcomplex<f32>>
  %k = stablehlo.constant dense<(1.0,-0.0)> : tensor<Nxcomplex<f32>>
  %minus = stablehlo.negate %y : tensor<Nxcomplex<f32>>
  %sum = stablehlo.add %x, %minus : tensor<Nxcomplex<f32>>
  %difference = stablehlo.subtract %sum, %k : tensor<Nxcomplex<f32>>
  %re = stablehlo.real %difference : (tensor<Nxcomplex<f32>>) -> tensor<Nxf32>
  %im = stablehlo.imag %difference : (tensor<Nxcomplex<f32>>) -> tensor<Nxf32>
  %eq = "stablehlo.compare"(%x, %y) {comparison_direction = #stablehlo<comparison_direction EQ>}
    : (tensor<Nxcomplex<f32>>, tensor<Nxcomplex<f32>>) -> tensor<Nxi1>
  %chosen = stablehlo.select %eq, %x, %sum : tensor<Nxi1>, tensor<Nxcomplex<f32>>
  %wide = stablehlo.convert %chosen : (tensor<Nxcomplex<f32>>) -> tensor<Nxcomplex<f64>>
  %last = stablehlo.imag %wide : (tensor<Nxcomplex<f64>>) -> tensor<Nxf64>
  return %re, %im, %eq, %last : tensor<Nxf32>, tensor<Nxf32>, tensor<Nxi1>, tensor<Nxf64>
}
"""


def test_complex_numbers(interpreter):
    edges = np.array([0.0, -0.0, 1.0, -1.5, np.inf, np.nan], np.float32)
    columns = rows_of(*[edges] * 4)
    module = read_module(COMPLEX.replace("N", str(len(columns[0]))), make_context())
    assert list(disagreements(interpreter, module, columns)) == []


MOVED = """
func.func @main(%x: tensor<6xi8>, %s: tensor<i8>) -> (tensor<6xi8>, tensor<6xf32>) {
  %a = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i8>) -> tensor<2x3xi8>
  %b = stablehlo.reshape %a : (tensor<2x3xi8>) -> tensor<6xi8>
  %k = stablehlo.constant dense<[1, -2, 3, 127, -128, 0]> : tensor<6xi8>
  %sum = stablehlo.add %x, %b : tensor<6xi8>
  %product = stablehlo.multiply %sum, %k : tensor<6xi8>
  %n = stablehlo.constant dense<0xFFC00001> : tensor<6xf32>
  %bits = stablehlo.bitcast_convert %n : (tensor<6xf32>) -> tensor<6xi32>
  %same = stablehlo.bitcast_convert %bits : (tensor<6xi32>) -> tensor<6xf32>
  return %product, %same : tensor<6xi8>, tensor<6xf32>
}
"""


def test_constants_and_splats(interpreter):
    """Constants are compared at each index, because they have several elements."""
    module = read_module(MOVED, make_context())
    function = functions(module)["main"]
    x, s = np.array([5, 6, 7, 8, 9, 10], np.int8), np.array(3, np.int8)
    wanted, _ = interpreter.run(module, [x, s])
    assert places(function) == [(i,) for i in range(6)]
    for place in places(function):
        bits = [z3.BitVecVal(int(each), 8) for each in (x[place], s)]
        product, nan = evaluate(function, bits, place).results
        assert z3.simplify(product).as_signed_long() == wanted[place]
        assert z3.is_true(z3.simplify(z3.fpIsNaN(nan)))


@pytest.mark.parametrize("kind", FLOATS)
def test_remainders_of_constants(interpreter, kind):
    """Remainders with other operands are uninterpreted."""
    edges = edge_values(DTYPES[kind])
    columns = rows_of(edges, edges)
    module = module_of([kind, kind], [("remainder", kind)], len(columns[0]))
    (wanted,), function = interpreter.run(module, columns), functions(module)["main"]
    kind = ir.RankedTensorType(function.arguments[0].type).element_type
    of = element_of(kind)
    for number, *row in zip(wanted, *(bits_of_array(x, of) for x in columns), strict=True):
        bits = [z3.BitVecVal(each, of.width) for each in row]
        (term,) = evaluate(function, bits).results
        assert z3.is_false(z3.simplify(_is_not(term, number, kind)))


@pytest.mark.parametrize("kind", ["f8E4M3FN", "f16", "f32", "i8", "ui4"])
def test_known_values_of_powers(interpreter, kind):
    edges = edge_values(DTYPES[kind])
    zero, one = np.zeros_like(edges), np.ones_like(edges)
    columns = [np.concatenate([edges, edges, one]), np.concatenate([zero, one, edges])]
    check(interpreter, [kind, kind], [("power", kind)], columns)


@pytest.mark.parametrize("kind", ["f8E5M2", "f16", "f32"])
def test_known_values_of_exponentials_and_reduce_precision(interpreter, kind):
    edges = edge_values(DTYPES[kind])
    module = module_of([kind], [("exponential", kind), ("logistic", kind)], len(edges))
    for found in interpreter.run(module, [edges]):
        assert not np.signbit(found[~np.isnan(found)]).any()
    same = ("reduce_precision {exponent_bits = 8 : i32, mantissa_bits = 23 : i32}", kind)
    check(interpreter, [kind], [same], [edges])


def test_iota(interpreter):
    """An element of an iota is the index converted to its type, at every index."""
    text = """func.func @main() -> (tensor<3x9xi4>, tensor<3x9xbf16>) {
      %a = stablehlo.iota dim = 1 : tensor<3x9xi4>
      %b = stablehlo.iota dim = 0 : tensor<3x9xbf16>
      return %a, %b : tensor<3x9xi4>, tensor<3x9xbf16>
    }"""
    module = read_module(text, make_context())
    columns, rows = interpreter.run(module, [])
    found = evaluate(functions(module)["main"], [])
    for row, column in product(range(3), range(9)):
        solver = z3.Solver()
        solver.add(*found.conditions)
        solver.add(z3.BitVec("index 1 of (3, 9)", 32) == column)
        solver.add(z3.BitVec("index 0 of (3, 9)", 32) == row)
        assert solver.check() == z3.sat
        wanted = zip(found.results, found.result_types, (columns, rows), strict=True)
        solver.add(z3.Or([_is_not(term, x[row, column], kind) for term, kind, x in wanted]))
        assert solver.check() == z3.unsat


def test_every_modelled_op_has_a_test():
    """Runs last."""
    assert set(modelled_ops()) - exercised == set(), "run the whole file"

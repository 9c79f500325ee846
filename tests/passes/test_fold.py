"""Folded constants equal the results of the reference interpreter, bit for bit, in every type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jaxlib.mlir import ir

from jxc.check import compare_modules
from jxc.check.inputs import edge_values
from jxc.ir import build, clone_module, make_context, read_module, walk
from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

INTEGERS = ("i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64")
SMALL = ("f8E5M2", "f8E4M3", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ")
FLOATS = (*SMALL, "bf16", "f16", "f32", "f64")

_ROUNDINGS = ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum")
_SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")

_FLOAT = {
    1: (*_ROUNDINGS, "abs", "negate", "sign", "sqrt", "is_finite"),
    2: _ARITHMETIC,
    3: ("clamp", "select"),
}
_INTEGER = {
    1: ("not", "negate", "popcnt", "count_leading_zeros"),
    2: (*_ARITHMETIC, *_SHIFTS, "and", "or", "xor"),
    3: ("clamp", "select"),
}
_BOOLEAN = {
    1: ("not",),
    2: ("add", "multiply", "maximum", "minimum", "and", "or", "xor"),
    3: ("clamp", "select"),
}
_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _ops(element: str) -> dict[int, tuple[str, ...]]:
    if element == "i1":
        return _BOOLEAN
    if element in FLOATS:
        return _FLOAT
    return {**_INTEGER, 1: (*_INTEGER[1], *(() if element[0] == "u" else ("abs", "sign")))}


def _dtype(element: str) -> np.dtype:
    with make_context():
        dtype = numpy_dtype(ir.Type.parse(element))
    assert dtype is not None
    return dtype


def _literals(element: str) -> st.SearchStrategy[str]:
    """The text of one element with any bits."""
    if element == "i1":
        return st.sampled_from(("true", "false"))
    dtype = _dtype(element)
    if element in FLOATS:
        digits = 2 * dtype.itemsize
        edges = edge_values(dtype).view(f"u{dtype.itemsize}").tolist()
        bits = st.sampled_from(edges) | st.integers(0, 16**digits - 1)
        return bits.map(lambda number: f"0x{number:0{digits}X}")
    info = ml_dtypes.iinfo(dtype)
    edges = st.sampled_from([int(value) for value in edge_values(dtype)])
    return (edges | st.integers(int(info.min), int(info.max))).map(str)


class _Writer:
    """A function that has only constants and returns every value that it computes."""

    def __init__(self, draw: st.DrawFn, element: str, size: int) -> None:
        self.draw, self.element, self.size = draw, element, size
        self.kind, self.flags = f"tensor<{size}x{element}>", f"tensor<{size}xi1>"
        self.known: dict[str, list[str]] = {self.kind: [], self.flags: []}
        self.unused: list[str] = []
        self.lines: list[str] = []

    def emit(self, text: str, of: str, head: str = "") -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.{text} : {head}{of}")
        self.known[of].append(name)
        return name

    def constant(self, of: str, literals: st.SearchStrategy[str]) -> str:
        """A constant, sometimes a splat."""
        count = self.size if self.size < 2 or self.draw(st.integers(0, 3)) else 1
        parts = self.draw(st.lists(literals, min_size=count, max_size=count))
        value = f"[{', '.join(parts)}]" if count == self.size else parts[0]
        return self.emit(f"constant dense<{value if count else ''}>", of)

    def pick(self, of: str) -> str:
        return self.draw(st.sampled_from(self.known[of]))

    def operation(self, name: str, count: int) -> None:
        x, y, z = (self.pick(self.kind) for _ in range(3))
        if name in ("divide", "remainder") and self.element not in FLOATS:
            y = self.constant(
                self.kind, _literals(self.element).filter(lambda text: int(text) != 0)
            )
        if name == "select":
            self.emit(f"select {self.pick(self.flags)}, {x}, {y}", self.kind, f"{self.flags}, ")
        elif name == "is_finite":
            self.emit(f"is_finite {x}", self.flags, f"({self.kind}) -> ")
        else:
            self.emit(f"{name} {', '.join([x, y, z][:count])}", self.kind)

    def compare(self, direction: str) -> None:
        x, y = self.pick(self.kind), self.pick(self.kind)
        self.emit(f"compare {direction}, {x}, {y}", self.flags, f"({self.kind}, {self.kind}) -> ")

    def compare_in_total_order(self, direction: str) -> None:
        """Compare constants only: this order distinguishes NaNs, and an op may return any NaN."""
        x, y = (self.draw(st.sampled_from(self.known[self.kind][:4])) for _ in range(2))
        head = f"({self.kind}, {self.kind}) -> "
        self.emit(f"compare {direction}, {x}, {y}, TOTALORDER", self.flags, head)
        self.unused.append(self.known[self.flags].pop())  # not folded if there are NaNs


@st.composite
def _programs(draw: st.DrawFn, element: str) -> str:
    """Each op of the type once, on constants of any bits and on other results."""
    w = _Writer(draw, element, draw(st.sampled_from((9, 4, 0, 1))))
    for _ in range(4):
        w.constant(w.kind, _literals(element))
    w.constant(w.flags, _literals("i1"))
    ops = [(name, count) for count, names in _ops(element).items() for name in names]
    for name, count in draw(st.permutations([*ops, *((each, 0) for each in _DIRECTIONS)])):
        if count:
            w.operation(name, count)
            continue
        w.compare(name)
        if element in FLOATS:
            w.compare_in_total_order(name)
    results = [(name, of) for of, names in w.known.items() for name in names]
    results += [(name, w.flags) for name in w.unused]
    names, kinds = (", ".join(part) for part in zip(*dict.fromkeys(results), strict=True))
    body = "\n".join([*w.lines, f"return {names} : {kinds}"])
    return f"func.func @main() -> ({kinds}) {{\n{body}\n}}"


def _simplified(before: ir.Module) -> ir.Module:
    after = clone_module(before)
    run_pipeline(after, make_pipeline("simplify"), PassContext())
    return after


def _left(module: ir.Module) -> set[str]:
    """The names of the remaining ops other than constants."""
    names = {op.operation.name for op in walk(module.operation)}
    return names - {"func.func", "func.return", "stablehlo.constant"}


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS])
def test_fold_arithmetic_on_random_constants(element: str) -> None:
    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(_programs(element))
    def check(text: str) -> None:
        before = read_module(text, make_context())
        after = _simplified(before)
        assert _left(after) <= {"stablehlo.compare"}
        verdict = compare_modules(before, after, kinds=("normal",))
        assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, (
            f"{verdict}\n{text}"
        )

    check()


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS])
def test_fold_arithmetic_on_pairs_of_edge_values(element: str) -> None:
    """Each op has its own constants: constants with one user are folded at any size."""
    edges, lines, results = _spelled(element), [], []
    for name, count in [(op, n) for n, ops in _ops(element).items() for op in ops]:
        if name == "select":
            continue
        is_division = name in ("divide", "remainder") and element not in FLOATS
        pairs = [(x, y) for x in edges for y in edges if not (is_division and int(y) == 0)]
        kind = f"tensor<{len(pairs)}x{element}>"
        columns = [*zip(*pairs, strict=True), [y for _, y in reversed(pairs)]][:count]
        operands = [f"%{name}_{i}" for i in range(count)]
        for operand, column in zip(operands, columns, strict=True):
            lines.append(f"{operand} = stablehlo.constant dense<[{', '.join(column)}]> : {kind}")
        result = f"tensor<{len(pairs)}xi1>" if name == "is_finite" else kind
        types = f"({', '.join([kind] * count)}) -> {result}"
        lines.append(f'%{name} = "stablehlo.{name}"({", ".join(operands)}) : {types}')
        results.append((f"%{name}", result))
    names, kinds = (", ".join(part) for part in zip(*results, strict=True))
    body = "\n".join([*lines, f"return {names} : {kinds}"])
    before = read_module(f"func.func @main() -> ({kinds}) {{\n{body}\n}}", make_context())
    after = _simplified(before)
    assert not _left(after)
    verdict = compare_modules(before, after, kinds=("normal",))
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)


@pytest.mark.parametrize("first", ["i1", *INTEGERS, *FLOATS])
def test_fold_convert(first: str) -> None:
    """Each edge value, converted to every type, equals the interpreter's result."""
    lines, results = [], []
    for number, value in enumerate(_spelled(first)):
        lines.append(f"%c{number} = stablehlo.constant dense<{value}> : tensor<{first}>")
        for last in ("i1", *INTEGERS, *FLOATS):
            name = f"%r{number}_{last}"
            kinds = f"(tensor<{first}>) -> tensor<{last}>"
            lines.append(f"{name} = stablehlo.convert %c{number} : {kinds}")
            results.append((name, f"tensor<{last}>"))
    names, kinds = (", ".join(part) for part in zip(*results, strict=True))
    body = "\n".join([*lines, f"return {names} : {kinds}"])
    before = read_module(f"func.func @main() -> ({kinds}) {{\n{body}\n}}", make_context())
    after = _simplified(before)
    converts = [str(each).count("stablehlo.convert") for each in (before, after)]
    assert converts[1] < 0.8 * converts[0]
    verdict = compare_modules(before, after, kinds=("normal",))
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS])
def test_fold_gather(element: str) -> None:
    """Windows of two edge values, in any order and at starts that are clamped."""
    edges = _spelled(element)
    kind, windows = f"tensor<{len(edges)}x{element}>", f"tensor<4x2x{element}>"
    before = read_module(
        f"""func.func @main() -> {windows} {{
          %x = stablehlo.constant dense<[{", ".join(edges)}]> : {kind}
          %i = stablehlo.constant dense<[[1], [-5], [99], [0]]> : tensor<4x1xi32>
          %r = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<
            offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
            slice_sizes = array<i64: 2>}}> : ({kind}, tensor<4x1xi32>) -> {windows}
          return %r : {windows}
        }}""",
        make_context(),
    )
    after = _simplified(before)
    assert not _left(after)
    verdict = compare_modules(before, after, kinds=("normal",))
    assert verdict.agrees and set(verdict.runs.values()) == {"interpreter"}, str(verdict)


def _spelled(element: str) -> list[str]:
    if element == "i1":
        return ["true", "false"]
    values = edge_values(_dtype(element))
    if element not in FLOATS:
        return [str(int(value)) for value in values]
    bits = values.view(f"u{values.dtype.itemsize}")
    return [f"0x{int(number):0{2 * values.dtype.itemsize}X}" for number in bits]


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS, "complex<f32>", "complex<f64>"])
def test_dense_and_array_of_round_trip(element: str) -> None:
    dtype, generator = _dtype(element), np.random.default_rng(0)
    for shape in [(), (3,), (2, 3), (0, 2)]:
        raw = np.frombuffer(generator.bytes(64 * dtype.itemsize), dtype)[: int(np.prod(shape))]
        if dtype.kind == "b" or element in ("i4", "ui4"):
            raw = generator.integers(0, 2, raw.shape).astype(dtype)
        array = raw.reshape(shape)
        with make_context(), ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                kind = ir.RankedTensorType.get(shape, ir.Type.parse(element))
                found = array_of(build.dense(array, kind))
        assert found is not None
        assert (found.dtype, found.shape, found.tobytes()) == (dtype, shape, array.tobytes())


def test_dense_makes_a_splat_of_equal_elements() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            kind = ir.RankedTensorType.get([2, 2], ir.F32Type.get())
            build.dense(np.ones((2, 2), np.float32), kind)
            build.dense(np.array([[0.0, -0.0], [0.0, 0.0]], np.float32), kind)
            with pytest.raises(TypeError, match="float64 for a constant of type tensor<2x2xf32>"):
                build.dense(np.ones((2, 2)), kind)
    assert "dense<1.0" in str(module) and "dense<[[0.0" in str(module)


UNEXPECTED = {
    "dynamic": "%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "%d = stablehlo.dynamic_broadcast_in_dim %c, %n, dims = [] : "
    "(tensor<f32>, tensor<1xi32>) -> tensor<?xf32>\n"
    "%r = stablehlo.add %d, %d : tensor<?xf32>",
    "f4": "%c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf4E2M1FN>\n"
    "%r = stablehlo.transpose %c, dims = [0] : (tensor<2xf4E2M1FN>) -> tensor<2xf4E2M1FN>\n"
    "%s = stablehlo.reverse %c, dims = [0] : tensor<2xf4E2M1FN>",
    "f8 without a zero": "%c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E8M0FNU>\n"
    "%r = stablehlo.multiply %c, %c : tensor<2xf8E8M0FNU>",
    "empty": "%c = stablehlo.constant dense<> : tensor<0xbf16>\n"
    "%d = stablehlo.constant dense<> : tensor<0x3xcomplex<f32>>\n"
    "%r = stablehlo.add %c, %c : tensor<0xbf16>\n"
    "%s = stablehlo.reshape %d : (tensor<0x3xcomplex<f32>>) -> tensor<3x0xcomplex<f32>>",
    "products of complex numbers": "%c = stablehlo.constant dense<(1.0, 2.0)> : "
    "tensor<2xcomplex<f32>>\n%r = stablehlo.multiply %c, %c : tensor<2xcomplex<f32>>",
    "elements in a resource": "%c = stablehlo.constant dense_resource<far> : tensor<2xf32>\n"
    "%d = stablehlo.constant dense_resource<off> : tensor<1xcomplex<f32>>\n"
    "%r = stablehlo.add %c, %c : tensor<2xf32>\n"
    "%s = stablehlo.real %d : (tensor<1xcomplex<f32>>) -> tensor<1xf32>",
    "numbers that i2 has": "%c = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>\n"
    "%r = stablehlo.add %c, %c : tensor<2xi2>",
}


@pytest.mark.parametrize("name", UNEXPECTED)
def test_fold_leaves_unusual_constants_valid(name: str) -> None:
    """No rule raises an exception, and the result verifies."""
    body = UNEXPECTED[name]
    effect = "stablehlo.custom_call @use({}) {{has_side_effect = true}} : ({}) -> ()"
    for line in body.splitlines():
        if line.startswith(("%r", "%s")):
            kind = line.rpartition("->")[2].strip() if "->" in line else line.rpartition(" : ")[2]
            body += "\n" + effect.format(line.split()[0], kind)
    resources = (
        '{-# dialect_resources: { builtin: { far: "0x0400000000000000000000000000003F", '
        'off: "0x04000000000000000000003F" } } #-}'
    )
    text = f"func.func @main(%n: tensor<1xi32>) {{\n{body}\nreturn\n}}\n{resources}"
    module = read_module(text, make_context())
    run_pipeline(module, make_pipeline("simplify,dedup-constants"), PassContext())
    assert module.operation.verify() and "@use" in str(module)

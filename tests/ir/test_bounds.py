"""Bounds and arithmetic sequences, compared with results of random programs on 8-bit numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from jxc.check.run import shared_interpreter
from jxc.ir import make_context, read_module
from jxc.ir.arithmetic_sequences import sequence_of
from jxc.ir.bounds import Bounds, bounds_of

PROGRAMS = 12  # per seed and type
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "and", "remainder", "divide")
DTYPES = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16}
DIRECTIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")


class Writer:
    """Writes a program op by op, on 256 elements, with a seeded generator."""

    def __init__(self, generator: random.Random, element: str) -> None:
        self.random = generator
        self.kind = f"tensor<256x{element}>"
        self.is_unsigned = element.startswith("u")
        self.lines: list[str] = []
        self.values = ["%x", "%y"]

    def emit(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = stablehlo.{text}")
        return name

    def constant(self, *choices: int) -> str:
        return self.emit(f"constant dense<{self.random.choice(choices)}> : {self.kind}")

    def value(self) -> str:
        """An existing value, mostly a recent one, or a constant."""
        if self.random.random() < 0.3:
            return self.constant(
                0, 1, 2, 5, 100, 127, *(() if self.is_unsigned else (-1, -5, -128))
            )
        return self.values[max(self.random.randrange(len(self.values)) for _ in range(2))]

    def step(self) -> None:
        choice = self.random.choice(
            ("two", "two", "two", "one", "select", "clamp", "convert", "iota")
        )
        self.values.append(getattr(self, f"add_{choice}")())

    def add_two(self) -> str:
        op = self.random.choice(ARITHMETIC)
        right = self.constant(1, 2, 5, 100) if op in ("remainder", "divide") else self.value()
        return self.emit(f"{op} {self.value()}, {right} : {self.kind}")

    def add_one(self) -> str:
        ops = ("negate",) if self.is_unsigned else ("negate", "abs", "sign")
        if self.random.random() < 0.3:
            return self.emit(f"reverse {self.value()}, dims = [0] : {self.kind}")
        return self.emit(f"{self.random.choice(ops)} {self.value()} : {self.kind}")

    def add_select(self) -> str:
        x, limit, mask = self.value(), self.constant(0, 1, 5, 100), "tensor<256xi1>"
        rest = f"{x}, {limit} : ({self.kind}, {self.kind}) -> {mask}"
        test = self.emit(f"compare {self.random.choice(DIRECTIONS)}, {rest}")
        other = self.emit(f"add {x}, {limit} : {self.kind}")
        chosen = self.random.sample((x, other, self.value()), 2)
        return self.emit(f"select {test}, {', '.join(chosen)} : {mask}, {self.kind}")

    def add_clamp(self) -> str:
        return self.emit(f"clamp {self.value()}, {self.value()}, {self.value()} : {self.kind}")

    def add_convert(self) -> str:
        other = f"tensor<256x{self.random.choice(('i8', 'ui8', 'i32', 'ui16', 'i1'))}>"
        there = self.emit(f"convert {self.value()} : ({self.kind}) -> {other}")
        return self.emit(f"convert {there} : ({other}) -> {self.kind}")

    def add_iota(self) -> str:
        return self.emit(f"iota dim = 0 : {self.kind}")

    def program(self) -> str:
        kinds = ", ".join([self.kind] * len(self.values))
        body = "\n".join([*self.lines, f"return {', '.join(self.values)} : {kinds}"])
        return f"func.func @main(%x: {self.kind}, %y: {self.kind}) -> ({kinds}) {{\n{body}\n}}"


@pytest.mark.parametrize("element", DTYPES)
def test_values_are_within_bounds(element: str) -> None:
    generator, narrow, counting = random.Random(element), 0, 0
    dtype = np.dtype(DTYPES[element])
    everything = np.arange(256).astype(dtype)
    for _ in range(PROGRAMS):
        w = Writer(generator, element)
        for _ in range(14):
            w.step()
        module = read_module(w.program(), make_context())
        shuffled = np.random.default_rng(0).permutation(everything)
        results = shared_interpreter().run(module, [everything, shuffled])
        (main,) = module.body.operations
        for value, found in zip(
            main.regions[0].blocks[0].operations[-1].operands, results, strict=True
        ):
            bounds = bounds_of(value)
            assert bounds is not None
            assert bounds.low <= found.min() and found.max() <= bounds.high, f"{value}\n{module}"
            narrow += bounds.high - bounds.low < np.iinfo(dtype).max - np.iinfo(dtype).min
            if (progression := sequence_of(value)) is not None:
                counting += 1
                (step,) = progression.steps
                expected = progression.first + step * np.arange(256)
                assert (found == expected).all(), f"{value}\n{module}"
    assert narrow > PROGRAMS
    assert counting > 0


def _loop(first: int, step: int, limit: int, other: tuple[int, int]) -> Bounds | None:
    """The bounds in the body of a second counter, whose start and step are `other`."""
    text = f"""func.func @main() -> tensor<i8> {{
      %a = stablehlo.constant dense<{first}> : tensor<i8>
      %b = stablehlo.constant dense<{other[0]}> : tensor<i8>
      %0:2 = stablehlo.while(%i = %a, %j = %b) : tensor<i8>, tensor<i8>
      cond {{
        %n = stablehlo.constant dense<{limit}> : tensor<i8>
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %s = stablehlo.constant dense<{step}> : tensor<i8>
        %t = stablehlo.constant dense<{other[1]}> : tensor<i8>
        %k = stablehlo.add %i, %s : tensor<i8>
        %l = stablehlo.add %t, %j : tensor<i8>
        stablehlo.return %k, %l : tensor<i8>, tensor<i8>
      }}
      return %0#1 : tensor<i8>
    }}"""
    module = read_module(text, make_context())
    (main,) = module.body.operations
    (loop,) = [op for op in main.regions[0].blocks[0].operations if len(op.regions)]
    return bounds_of(loop.regions[1].blocks[0].arguments[1])


ALL = Bounds(-128, 127)


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ((0, 1, 8, (0, 1)), Bounds(0, 7)),
        ((0, 3, 8, (5, -2)), Bounds(1, 5)),
        ((2, 1, 2, (4, 1)), Bounds(4, 4)),  # no iteration
        ((0, 1, 100, (0, 2)), ALL),  # the second counter wraps around
        (
            (0, 50, 120, (0, 1)),
            ALL,
        ),  # the first counter wraps around: 100 + 50 is -106, and the loop continues
        ((0, 0, 8, (0, 1)), ALL),  # it never ends
        ((0, -1, 8, (0, 1)), ALL),
        ((0, 1, 8, (3, 0)), Bounds(3, 3)),
    ],
)
def test_bounds_of_loop_counters(
    loop: tuple[int, int, int, tuple[int, int]], expected: Bounds
) -> None:
    assert _loop(*loop) == expected


@pytest.mark.parametrize(
    ("first", "step", "most", "expected"),
    [
        (3, 1, 127, Bounds(3, 126)),
        (3, 2, 127, ALL),  # 125 is below 127, and the next value is -127
        (3, 2, 50, Bounds(3, 49)),
        (60, 1, 50, Bounds(60, 60)),  # no iteration
        (3, -1, 50, ALL),
    ],
)
def test_bounds_of_counters_to_a_bound(first: int, step: int, most: int, expected: Bounds) -> None:
    text = f"""func.func @main(%x: tensor<i8>) -> tensor<i8> {{
      %a = stablehlo.constant dense<{first}> : tensor<i8>
      %b = stablehlo.constant dense<{most}> : tensor<i8>
      %m = stablehlo.minimum %x, %b : tensor<i8>
      %0:2 = stablehlo.while(%i = %a, %n = %m) : tensor<i8>, tensor<i8>
      cond {{
        %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %s = stablehlo.constant dense<{step}> : tensor<i8>
        %k = stablehlo.add %i, %s : tensor<i8>
        stablehlo.return %k, %n : tensor<i8>, tensor<i8>
      }}
      return %0#0 : tensor<i8>
    }}"""
    module = read_module(text, make_context())
    (main,) = module.body.operations
    (loop,) = [op for op in main.regions[0].blocks[0].operations if len(op.regions)]
    assert bounds_of(loop.regions[1].blocks[0].arguments[0]) == expected


_CHOICE = "%c = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (_CHOICE, Bounds(-1, 7)),
        ("%c = stablehlo.add %b, %d : tensor<i32>", Bounds(-(2**31), 2**31 - 1)),
    ],
)
def test_bounds_of_reductions_that_select(body: str, expected: Bounds) -> None:
    text = f"""func.func @main(%x: tensor<8xf32>, %y: tensor<f32>) -> tensor<i32> {{
      %i = stablehlo.iota dim = 0 : tensor<8xi32>
      %n = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = stablehlo.reduce(%x init: %y), (%i init: %n) across dimensions = [0]
        : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
        reducer(%a: tensor<f32>, %e: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {{
          %p = stablehlo.compare GT, %a, %e, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          {body}
          stablehlo.return %a, %c : tensor<f32>, tensor<i32>
        }}
      return %0#1 : tensor<i32>
    }}"""
    module = read_module(text, make_context())
    (main,) = module.body.operations
    assert bounds_of(main.regions[0].blocks[0].operations[-1].operands[0]) == expected


_SUM = "({\n^bb0(%a: tensor<i8>, %b: tensor<i8>):\n%s = stablehlo.add %b, %a : tensor<i8>\n"
_SUM += "stablehlo.return %s : tensor<i8>\n})"
_WINDOW = (
    "window_dimensions = array<i64: 5>, padding = dense<[[4, 0]]> : tensor<1x2xi64>, "
    "base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, "
    "window_strides = array<i64: 1>"
)
_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (f'"stablehlo.reduce"(%x, %z) <{{dimensions = array<i64: 0>}}> {_SUM}', Bounds(-18, 126)),
        (f'"stablehlo.reduce"(%x, %one) <{{dimensions = array<i64: 0>}}> {_SUM}', ALL),
        (f'"stablehlo.reduce_window"(%x, %z) <{{{_WINDOW}}}> {_SUM}', Bounds(-5, 35)),
        (f'"stablehlo.scatter"(%x, %i, %x) <{{{_SCATTER}}}> {_SUM}', ALL),  # 7 and 18 times 7
        (f'"stablehlo.scatter"(%x, %i, %y) <{{{_SCATTER}}}> {_SUM}', Bounds(-1, 25)),
    ],
)
def test_bounds_of_sums(op: str, expected: Bounds) -> None:
    kinds = "(tensor<18xi8>, tensor<i8>)"
    result = "tensor<i8>" if '"stablehlo.reduce"' in op else "tensor<18xi8>"
    if "scatter" in op:
        kinds = "(tensor<18xi8>, tensor<18x1xi32>, tensor<18xi8>)"
    text = f"""func.func @main(%v: tensor<18xi8>, %i: tensor<18x1xi32>) -> {result} {{
      %z = stablehlo.constant dense<0> : tensor<i8>
      %one = stablehlo.constant dense<1> : tensor<i8>
      %y = stablehlo.constant dense<1> : tensor<18xi8>
      %low = stablehlo.constant dense<-1> : tensor<i8>
      %high = stablehlo.constant dense<7> : tensor<i8>
      %x = stablehlo.clamp %low, %v, %high
        : (tensor<i8>, tensor<18xi8>, tensor<i8>) -> tensor<18xi8>
      %r = {op} : {kinds} -> {result}
      return %r : {result}
    }}"""
    module = read_module(text, make_context())
    (main,) = module.body.operations
    assert bounds_of(main.regions[0].blocks[0].operations[-1].operands[0]) == expected

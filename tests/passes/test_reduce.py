"""Reductions of rearranged, broadcast, constant or reduced values after `simplify`."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from jaxlib.mlir import ir

from jxc.check import compare_modules
from jxc.ir import clone_module, make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

PROGRAMS = 240  # for each type of element, several to a module

_ANY = ("add", "multiply", "maximum", "minimum")
_BITS = (*_ANY, "and", "or", "xor")
ELEMENTS = {"f32": _ANY, "bf16": _ANY, "f8E4M3FN": _ANY, "i8": _BITS, "ui4": _BITS, "i1": _BITS}
_CONSTANTS = {
    "f32": ("0.0", "-0.0", "1.0", "0xFF800000", "0x7F800000", "0x7FC00000"),
    "bf16": ("0.0", "-0.0", "1.0", "0xFF80", "0x7F80", "0x7FC0"),
    "f8E4M3FN": ("0.0", "-0.0", "1.0", "0x7F"),
    "i8": ("0", "1", "-1", "-128", "127"),
    "ui4": ("0", "1", "15"),
    "i1": ("true", "false"),
}


class _Writer:
    """Writes functions of one argument that end in one or two reductions."""

    def __init__(self, generator: random.Random, element: str) -> None:
        self.random, self.element = generator, element
        self.lines: list[str] = []

    def kind(self, shape: list[int]) -> str:
        return f"tensor<{''.join(f'{extent}x' for extent in shape)}{self.element}>"

    def emit(self, text: str) -> str:
        self.lines.append(f"%v{len(self.lines)} = stablehlo.{text}")
        return f"%v{len(self.lines) - 1}"

    def rearrange(self, x: str, shape: list[int]) -> tuple[str, list[int]]:
        """A transpose, a broadcast, a reshape that adds or drops sizes of 1, or no op."""
        choice, before = self.random.randrange(5), self.kind(shape)
        if choice == 0:
            order = self.random.sample(range(len(shape)), len(shape))
            after = [shape[i] for i in order]
            return self.emit(
                f"transpose {x}, dims = {order} : ({before}) -> {self.kind(after)}"
            ), after
        if choice == 1:
            place = self.random.randint(0, len(shape))
            after = [*shape[:place], self.random.choice((0, 1, 2, 3, 3)), *shape[place:]]
            dims = [i for i in range(len(after)) if i != place]
            text = f"broadcast_in_dim {x}, dims = {dims} : ({before}) -> {self.kind(after)}"
            return self.emit(text), after
        if choice == 2:
            after = [extent for extent in shape if extent != 1 or self.random.random() < 0.5]
            after.insert(self.random.randint(0, len(after)), 1)
            return self.emit(f"reshape {x} : ({before}) -> {self.kind(after)}"), after
        return x, shape

    def reduce(self, x: str, shape: list[int], name: str) -> tuple[str, list[int]]:
        init = "%s"
        if self.random.random() < 0.7:
            number = self.random.choice(_CONSTANTS[self.element])
            init = self.emit(f"constant dense<{number}> : {self.kind([])}")
        count = self.random.randint(0, len(shape))
        dims = sorted(self.random.sample(range(len(shape)), count))
        after = [extent for i, extent in enumerate(shape) if i not in dims]
        types = f"({self.kind(shape)}, {self.kind([])}) -> {self.kind(after)}"
        text = f"reduce({x} init: {init}) applies stablehlo.{name} across dimensions = {dims}"
        return self.emit(f"{text} : {types}"), after

    def source(self) -> tuple[str, list[int]]:
        if self.random.random() < 0.7:
            return "%x", [2, 1, 3]
        shape = self.random.choice(([4], [2, 3], [200], [0, 2], [1, 1]))
        number = self.random.choice(_CONSTANTS[self.element])
        return self.emit(f"constant dense<{number}> : {self.kind(shape)}"), shape


def _module(generator: random.Random, element: str, programs: int) -> ir.Module:
    w, results = _Writer(generator, element), []
    for _ in range(programs):
        x, shape = w.source()
        for _ in range(generator.randint(0, 2)):
            x, shape = w.rearrange(x, shape)
        name = generator.choice(ELEMENTS[element])
        for _ in range(generator.randint(1, 2)):
            x, shape = w.reduce(x, shape, name)
        results.append((x, w.kind(shape)))
    names, kinds = (", ".join(part) for part in zip(*results, strict=True))
    arguments = f"%x: {w.kind([2, 1, 3])}, %s: {w.kind([])}"
    body = "\n".join([*w.lines, f"return {names} : {kinds}"])
    return read_module(f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\n}}", make_context())


@pytest.mark.parametrize("element", ELEMENTS)
def test_reduce_rules_keep_every_bit(element: str) -> None:
    generator, hits = random.Random(element), Counter[str]()
    for _ in range(PROGRAMS // 20):
        before = _module(generator, element, 20)
        after = clone_module(before)
        hits += run_pipeline(after, make_pipeline("simplify"), PassContext()).hits
        verdict = compare_modules(before, after)
        assert verdict.agrees, f"{verdict}\n{before}\n{after}"
        assert set(verdict.runs.values()) == {"interpreter"}, verdict.reasons
    assert hits["reduce-over-nothing"] and hits["reduce-over-ones"] and hits["reduce-over-empty"]


UNEXPECTED = {
    "dynamic extents": "%r = stablehlo.reduce(%d init: %s) applies stablehlo.add across "
    "dimensions = [] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>\n"
    '%t = "stablehlo.sort"(%d) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
    "%p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "stablehlo.return %p : tensor<i1>\n}) {dimension = 0 : i64} : (tensor<?xf32>) -> tensor<?xf32>",
    "complex numbers": "%z = stablehlo.constant dense<(1.0, 0.0)> : tensor<3xcomplex<f32>>\n"
    "%i = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>\n"
    "%r = stablehlo.reduce(%z init: %i) applies stablehlo.add across dimensions = [0] : "
    "(tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>",
    "tokens": "%r:2 = stablehlo.while(%k = %token, %a = %s) : !stablehlo.token, tensor<f32>\n"
    "cond {\n%p = stablehlo.compare LT, %a, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "stablehlo.return %p : tensor<i1>\n} do {\n%b = stablehlo.add %a, %a : tensor<f32>\n"
    "stablehlo.return %k, %b : !stablehlo.token, tensor<f32>\n}",
    "a token from a branch": "%p = stablehlo.constant dense<true> : tensor<i1>\n"
    '%r = "stablehlo.if"(%p) ({\nstablehlo.return %token : !stablehlo.token\n}, {\n'
    "%n = stablehlo.create_token : !stablehlo.token\nstablehlo.return %n : !stablehlo.token\n"
    "}) : (tensor<i1>) -> !stablehlo.token",
    "a loop for ever": "%r = stablehlo.while(%a = %s) : tensor<f32>\ncond {\n"
    "%p = stablehlo.constant dense<true> : tensor<i1>\nstablehlo.return %p : tensor<i1>\n} do {\n"
    "stablehlo.return %a : tensor<f32>\n}",
    "wider sums": "%r = stablehlo.reduce(%x init: %s) across dimensions = [] : "
    "(tensor<2xbf16>, tensor<f32>) -> tensor<2xf32>\nreducer(%a: tensor<f32>, %b: tensor<f32>) {\n"
    "%c = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>\n}",
}


@pytest.mark.parametrize("name", UNEXPECTED)
def test_reduce_rules_leave_unusual_reductions_valid(name: str) -> None:
    """No rule raises an exception, and the result verifies."""
    arguments = "%s: tensor<f32>, %d: tensor<?xf32>, %x: tensor<2xbf16>, %token: !stablehlo.token"
    text = f"func.func @main({arguments}) {{\n{UNEXPECTED[name]}\nreturn\n}}"
    module = read_module(text, make_context())
    run_pipeline(module, make_pipeline("simplify"), PassContext())
    assert module.operation.verify()

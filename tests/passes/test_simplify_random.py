"""`simplify` keeps the results of random chains of data movement and random arithmetic."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import pytest
from jaxlib.mlir import ir

from jxc.check import compare_modules
from jxc.ir import clone_module, make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

CHAINS = 25  # modules per seed, each of one function with several results
ELEMENTS = ("f32", "i8", "ui8", "i1", "bf16", "complex<f32>")


@dataclass
class Writer:
    """Writes one module, op by op, with a seeded generator."""

    random: random.Random
    element: str
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def type(self, shape: tuple[int, ...]) -> str:
        return f"tensor<{''.join(f'{extent}x' for extent in shape)}{self.element}>"

    def emit(self, op: str, rest: str, shape: tuple[int, ...], *operands: tuple[int, ...]) -> None:
        name = f"%v{len(self.lines)}"
        kinds = f"({', '.join(self.type(each) for each in operands)}) -> {self.type(shape)}"
        self.lines.append(f"{name} = stablehlo.{op} {rest} : {kinds}")
        self.values.append((name, shape))

    def pick(self) -> tuple[str, tuple[int, ...]]:
        """A value, mostly a recent one, so that chains become long."""
        return self.values[max(self.random.randrange(len(self.values)) for _ in range(2))]


def _transpose(w: Writer) -> None:
    name, shape = w.pick()
    order = w.random.sample(range(len(shape)), len(shape))
    w.emit("transpose", f"{name}, dims = {order}", tuple(shape[i] for i in order), shape)


def _reshape(w: Writer) -> None:
    name, shape = w.pick()
    kept = [extent for extent in shape if extent != 1] if w.random.random() < 0.7 else list(shape)
    if len(kept) > 1 and w.random.random() < 0.3:
        kept[:2] = [kept[0] * kept[1]]
    for _ in range(w.random.randrange(2)):
        kept.insert(w.random.randint(0, len(kept)), 1)
    w.emit("reshape", name, tuple(kept[:5]) if len(kept) <= 5 else shape, shape)


def _broadcast(w: Writer) -> None:
    name, shape = w.pick()
    if len(shape) > 3:
        return
    rank = w.random.randint(len(shape), len(shape) + 1)
    dims = w.random.sample(range(rank), len(shape))
    if w.random.random() < 0.6:
        dims.sort()
    result = [w.random.choice((1, 2, 3)) for _ in range(rank)]
    for dim, extent in zip(dims, shape, strict=True):
        result[dim] = extent if extent != 1 or w.random.random() < 0.5 else 2
    w.emit("broadcast_in_dim", f"{name}, dims = {dims}", tuple(result), shape)


def _slice(w: Writer) -> None:
    name, shape = w.pick()
    cuts, result = [], []
    for extent in shape:
        start = w.random.randint(0, extent) if w.random.random() < 0.5 else 0
        limit = w.random.randint(start, extent) if w.random.random() < 0.5 else extent
        step = w.random.choice((1, 1, 1, 2, 3))
        cuts.append(f"{start}:{limit}:{step}")
        result.append(-(-(limit - start) // step))
    w.emit("slice", f"{name} [{', '.join(cuts)}]", tuple(result), shape)


def _pad(w: Writer) -> None:
    name, shape = w.pick()
    low = [w.random.choice((0, 0, 1, 2, -1)) for _ in shape]
    high = [w.random.choice((0, 0, 1, 2, -1)) for _ in shape]
    interior = [w.random.choice((0, 0, 0, 1)) for _ in shape]
    result = tuple(
        n + max(n - 1, 0) * i + a + b for n, a, b, i in zip(shape, low, high, interior, strict=True)
    )
    if min(result, default=0) < 0 or max(result, default=0) > 12:
        return
    value = w.random.choice(("%s", "%s", "%t"))
    rest = f"{name}, {value}, low = {low}, high = {high}, interior = {interior}"
    w.emit("pad", rest, result, shape, ())


def _reverse(w: Writer) -> None:
    name, shape = w.pick()
    dims = w.random.sample(range(len(shape)), w.random.randint(0, len(shape)))
    w.lines.append(
        f"%v{len(w.lines)} = stablehlo.reverse {name}, dims = {sorted(dims)} : {w.type(shape)}"
    )
    w.values.append((f"%v{len(w.lines) - 1}", shape))


def _concatenate(w: Writer) -> None:
    name, shape = w.pick()
    if not shape:
        return
    dim = w.random.randrange(len(shape))
    rest = [i for i in range(len(shape)) if i != dim]
    like = [
        v for v in w.values if len(v[1]) == len(shape) and all(v[1][i] == shape[i] for i in rest)
    ]
    chosen = [(name, shape), *w.random.choices(like, k=w.random.randint(0, 2))]
    total = sum(each[1][dim] for each in chosen)
    if total <= 16:
        names = ", ".join(each[0] for each in chosen)
        result = (*shape[:dim], total, *shape[dim + 1 :])
        w.emit("concatenate", f"{names}, dim = {dim}", result, *(each[1] for each in chosen))


def _select(w: Writer) -> None:
    name, shape = w.pick()
    like = [value for value, each in w.values if each == shape]
    other = w.random.choice(like)
    pair = w.random.choice(((name, other), (other, name)))
    w.lines.append(
        f"%v{len(w.lines)} = stablehlo.select %p, {pair[0]}, {pair[1]} : "
        f"tensor<i1>, {w.type(shape)}"
    )
    w.values.append((f"%v{len(w.lines) - 1}", shape))


def _elementwise(w: Writer) -> None:
    """A sum of two values of one shape or of a value and a constant, or a negation."""
    name, shape = w.pick()
    kind, result = w.type(shape), f"%v{len(w.lines)}"
    if w.element in ("i1", "ui8") or w.random.random() < 0.6:
        others = [value for value, each in w.values if each == shape]
        other = w.random.choice(others)
        if w.random.random() < 0.3 and w.element in _CONSTANTS:
            number, other = w.random.choice(_CONSTANTS[w.element]), f"%c{len(w.lines)}"
            w.lines.append(f"{other} = stablehlo.constant dense<{number}> : {kind}")
            result = f"%v{len(w.lines)}"
        pair = ", ".join(w.random.sample((name, other), 2))
        w.lines.append(f"{result} = stablehlo.add {pair} : {kind}")
    else:
        w.lines.append(f"{result} = stablehlo.negate {name} : {kind}")
    w.values.append((result, shape))


def _dot(w: Writer) -> None:
    """A product of two values, over a common dimension if there is one."""
    (x, left), (y, right) = w.pick(), w.pick()
    if w.element == "complex<f32>" or 0 in (*left, *right):
        return
    shared = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]
    batch = w.random.sample(shared, min(len(shared), w.random.randrange(2)))
    rest = [(i, j) for i, j in shared if all(i != b[0] and j != b[1] for b in batch)]
    summed = w.random.sample(rest, min(len(rest), 1))
    free = [n for i, n in enumerate(left) if i not in [p[0] for p in (*batch, *summed)]]
    free += [n for j, n in enumerate(right) if j not in [p[1] for p in (*batch, *summed)]]
    result = (*(left[i] for i, _ in batch), *free)
    if len(result) > 4 or math.prod(result) > 64:
        return
    sides = [[[pair[side] for pair in pairs] for side in (0, 1)] for pairs in (batch, summed)]
    (b, c), (d, e) = sides
    rest_of = f"{x}, {y}, batching_dims = {b} x {c}, contracting_dims = {d} x {e}"
    w.emit("dot_general", rest_of, result, left, right)


MOVES = (
    *(_transpose, _reshape, _broadcast, _slice, _pad, _reverse, _concatenate, _select),
    *(_elementwise, _elementwise, _dot),
)

_ANY = ("add", "multiply")
_EXTREMES = ("maximum", "minimum", "clamp")
_BITS = ("and", "or", "xor", "not")
_SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
_BY_ELEMENT = {
    "f32": (*_ANY, *_EXTREMES, "subtract", "divide", "negate", "abs", "power"),
    "bf16": (*_ANY, *_EXTREMES, "subtract", "divide", "negate", "abs", "power"),
    "i8": (*_ANY, *_ANY, *_EXTREMES, *_BITS, *_SHIFTS, "subtract", "subtract", "negate", "abs"),
    "ui8": (*_ANY, *_ANY, *_EXTREMES, *_BITS, *_SHIFTS, "subtract", "subtract", "negate"),
    "i1": (*_ANY, *_EXTREMES, *_BITS),
    "complex<f32>": (*_ANY, "subtract", "negate"),
}
_UNARY = ("negate", "abs", "not")
_CONSTANTS = {
    "f32": ("0.0", "-0.0", "1.0", "-1.0", "2.5", "0x7F800000", "0xFF800000", "0x7FC00000"),
    "bf16": ("0.0", "-0.0", "1.0", "-1.0", "2.5", "0x7F80", "0xFF80", "0x7FC0"),
    "i8": ("0", "1", "-1", "3", "-128", "127"),
    "ui8": ("0", "1", "3", "255", "128"),
    "i1": ("true", "false"),
    "complex<f32>": ("(0.0, 0.0)", "(-0.0, -0.0)", "(1.0, 0.0)"),
}


def _arithmetic(w: Writer) -> None:
    kind = w.type((17,))
    if w.random.random() < 0.3:
        number = w.random.choice(_CONSTANTS[w.element])
        w.lines.append(f"%v{len(w.lines)} = stablehlo.constant dense<{number}> : {kind}")
    else:
        op = w.random.choice(_BY_ELEMENT[w.element])
        count = 1 if op in _UNARY else 3 if op == "clamp" else 2
        operands = [w.pick()[0] for _ in range(count)]
        w.lines.append(f"%v{len(w.lines)} = stablehlo.{op} {', '.join(operands)} : {kind}")
    w.values.append((f"%v{len(w.lines) - 1}", (17,)))


def _module(w: Writer, arguments: str) -> ir.Module:
    results = w.values[-3:]
    kinds = ", ".join(w.type(shape) for _, shape in results)
    names = ", ".join(name for name, _ in results)
    body = "\n".join([*w.lines, f"return {names} : {kinds}"])
    return read_module(f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\n}}", make_context())


def _check(before: ir.Module, kinds: tuple[str, ...]) -> int:
    after = clone_module(before)
    report = run_pipeline(after, make_pipeline("trivial-dce,simplify"), PassContext())
    again = run_pipeline(after, make_pipeline("simplify"), PassContext())
    assert not again.hits, f"a second run must change nothing: {again.hits}\n{before}\n{after}"
    verdict = compare_modules(before, after, kinds=kinds)
    assert verdict.agrees, f"{verdict}\n{before}\n{after}"
    assert set(verdict.runs.values()) == {"interpreter"}, verdict.reasons
    return sum(report.hits.values())


@pytest.mark.parametrize("seed", range(4))
def test_random_rearrangements_keep_every_bit(seed: int) -> None:
    generator, hits = random.Random(seed), 0
    for _ in range(CHAINS):
        w = Writer(generator, generator.choice(ELEMENTS))
        shape = generator.choice(((3,), (2, 3), (4, 1), (2, 1, 3), (), (5,)))
        w.values.append(("%x", shape))
        for _ in range(10):
            generator.choice(MOVES)(w)
        scalar = w.type(())
        arguments = f"%x: {w.type(shape)}, %s: {scalar}, %t: {scalar}, %p: tensor<i1>"
        hits += _check(_module(w, arguments), ("normal",))
    assert hits > CHAINS


@pytest.mark.parametrize("element", ELEMENTS)
def test_random_arithmetic_keeps_every_bit(element: str) -> None:
    generator, hits = random.Random(element), 0
    for _ in range(CHAINS):
        w = Writer(generator, element, values=[("%x", (17,)), ("%y", (17,))])
        for _ in range(12):
            _arithmetic(w)
        kind = w.type((17,))
        hits += _check(_module(w, f"%x: {kind}, %y: {kind}"), ("edge", "normal"))
    assert hits > 0

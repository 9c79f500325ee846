"""Functions and their calls, branches and loops of known trip counts."""

from __future__ import annotations

from collections.abc import Callable

from .types import small
from .writer import Value, Writer

Fill = Callable[[Writer, int], None]
_DEEPEST = 2


def _of_type(w: Writer, like: Value) -> Value:
    """The latest value of a type, or a constant."""
    found = [value for value in w.values if value.type == like.type]
    return found[-1] if found else w.constant(like.shape, like.element)


def _work(fill: Fill, result: Value) -> Callable[[Writer], list[Value]]:
    def write(inner: Writer) -> list[Value]:
        fill(inner, inner.random.randint(1, 4))
        return [_of_type(inner, result)]

    return write


def call(w: Writer, fill: Fill) -> None:
    """A new private function of one or two arguments, called once or twice."""
    x = w.pick()
    if x is None or w.depth >= _DEEPEST:
        return
    operands = [x, w.pick() or x][: w.random.randint(1, 2)]
    arguments = w.arguments(*((v.shape, v.element) for v in operands))
    inner = Writer(w.random, w.palette, list(arguments), functions=w.functions, depth=w.depth + 1)
    inner.names = w.names
    fill(inner, w.random.randint(1, 5))
    results = [inner.values[-1]]
    inner.line([], "func.return", results)
    name = f"f{w.names[0]}"
    head = ", ".join(f"{each.name}: {each.type}" for each in arguments)
    body = "\n".join(inner.lines)
    w.functions.append(f"func.func private @{name}({head}) -> {results[0].type} {{\n{body}\n}}")
    for _ in range(w.random.randint(1, 2)):
        of = results[0]
        w.op("func.call", operands, of.shape, of.element, f"callee = @{name}")


def if_(w: Writer, fill: Fill) -> None:
    """An if, at times on a constant."""
    x = w.pick()
    if x is None or w.depth >= _DEEPEST:
        return
    p = w.pick(lambda value: value.element == "i1" and not value.shape)
    if p is None or w.chance(0.2):
        p = w.constant((), "i1")
    branches = ", ".join(w.block([], _work(fill, x), closed=False) for _ in range(2))
    w.op("if", [p], x.shape, x.element, regions=f"({branches})")


def case(w: Writer, fill: Fill) -> None:
    """A case of one to three branches, on an index that may be out of bounds."""
    x = w.pick()
    if x is None or w.depth >= _DEEPEST:
        return
    index = w.pick(lambda value: value.element == "i32" and not value.shape)
    index = index or w.constant((), "i32")
    count = w.random.randint(1, 3)
    branches = ", ".join(w.block([], _work(fill, x), closed=False) for _ in range(count))
    w.op("case", [index], x.shape, x.element, regions=f"({branches})")


def while_(w: Writer, fill: Fill) -> None:
    """A loop of up to three turns that carries its count and a value."""
    x = w.pick()
    if x is None or w.depth >= _DEEPEST:
        return
    start = w.constant((), "i32", "0")
    turns = str(w.random.randint(0, 3))
    kinds = ((), "i32"), (x.shape, x.element)
    test = w.block(
        args := w.arguments(*kinds), lambda inner: [_less(inner, args[0], turns)], closed=True
    )
    turn = w.arguments(*kinds)

    def body(inner: Writer) -> list[Value]:
        following = _work(fill, x)(inner)
        one = inner.constant((), "i32", small("i32", 1))
        return [inner.op("add", [turn[0], one], (), "i32"), *following]

    loop = w.block(turn, body, closed=False)
    results = w.arguments(*kinds)
    w.line(results, "while", [start, x], regions=f"({test}, {loop})")
    w.values.append(results[1])


def _less(w: Writer, count: Value, turns: str) -> Value:
    less = "comparison_direction = #stablehlo<comparison_direction LT>"
    return w.op("compare", [count, w.constant((), "i32", turns)], (), "i1", less)

"""The random sites of `regret.py`: small programs that priced rules can rewrite, by family."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Site = tuple[str, Callable[..., Any], Sequence[Any]]


def _array(*shape: int) -> jax.Array:
    data = np.random.default_rng(math.prod(shape)).normal(size=shape)
    return jnp.asarray(data.astype(np.float32))


def _integers(limit: int, *shape: int) -> jax.Array:
    data = np.random.default_rng(math.prod(shape)).integers(0, limit, size=shape)
    return jnp.asarray(data.astype(np.int32))


def _around(rng: random.Random, function: Callable[..., Any]) -> tuple[str, Callable[..., Any]]:
    """The function, perhaps with elementwise ops before it and after it."""
    before, after = rng.choice(["", "", "tanh", "scale"]), rng.choice(["", "", "exp", "scale"])
    ops: dict[str, Callable[[Any], Any]] = {
        "": lambda x: x,
        "tanh": jnp.tanh,
        "exp": lambda x: jnp.exp(-x),
        "scale": lambda x: x * 2 + 1,
    }

    def program(x: Any, *rest: Any) -> Any:
        return ops[after](function(ops[before](x), *rest))

    return f"{before or '-'} {after or '-'}", program


def _size(rng: random.Random, least: int, most: int) -> int:
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def pooling(rng: random.Random) -> Site:
    batch, size, features = rng.choice([1, 2, 8, 16]), _size(rng, 7, 80), _size(rng, 1, 128)
    window, stride = rng.choice([2, 3, 4, 5, 7]), rng.choice([1, 2, 3])
    window = min(window, size)
    kind = rng.choice(["max", "average", "max gradient", "average gradient", "one"])
    init, combine = (-jnp.inf, lax.max) if "max" in kind else (0.0, lax.add)
    padding = rng.choice(["SAME", "VALID"])

    def pool(x: Any) -> Any:
        extents, strides = (1, window, window, 1), (1, stride, stride, 1)
        return lax.reduce_window(x, init, combine, extents, strides, padding)

    if kind == "one":
        length = _size(rng, 64, 1 << 18)

        def along(x: Any) -> Any:
            return lax.reduce_window(x, 0.0, lax.add, (window,), (stride,), padding)

        return f"one {length} {window}/{stride}", along, [_array(length)]
    function = jax.grad(lambda x: (pool(x) ** 2).sum()) if "gradient" in kind else pool
    around, program = _around(rng, function)
    shape = (batch, size, size, features)
    return f"{kind} {shape} {window}/{stride} {padding} {around}", program, [_array(*shape)]


def small_matrices(rng: random.Random) -> Site:
    batch = rng.choice([1, 8, 64, 500, 1000, 5000])
    m, k, n = (rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 12]) for _ in range(3))
    kinds = ["product", "product", "chain", "tall", "vector", "cholesky", "solve", "scan"]
    kind = rng.choice(kinds)
    if kind == "vector":
        rows, columns = _size(rng, 100, 20000), _size(rng, 2, 200)
        arrays = [_array(rows, columns), _array(rows)]
        return f"vector {rows}x{columns}", lambda x, y: x.T @ y, arrays
    if kind == "tall":
        m, batch, k = _size(rng, 100, 30000), 1, rng.choice([2, 3, 4, 5])
        return f"tall {m}x{k} {k}x{n}", jnp.matmul, [_array(m, k), _array(k, n)]
    if kind in ("cholesky", "solve"):
        eye = jnp.broadcast_to(jnp.eye(m, dtype=jnp.float32) * 3, (batch, m, m))
        if kind == "cholesky":
            return f"cholesky {batch} {m}", jnp.linalg.cholesky, [eye]
        solve = partial(lax.linalg.triangular_solve, left_side=True, lower=True)
        return f"solve {batch} {m} {n}", solve, [eye, _array(batch, m, n)]
    if kind == "scan":

        def scan(x: Any, w: Any) -> Any:
            return lax.fori_loop(0, 50, lambda _, h: jnp.tanh(h @ w), x)

        return f"scan {batch} {m}x{k}", scan, [_array(batch, m, k), _array(batch, k, k)]
    around, program = _around(rng, jnp.matmul)
    if kind == "chain":
        function = lambda x, y, z: x @ y @ z  # noqa: E731
        return f"chain {batch} {k}", function, [_array(batch, k, k) for _ in range(3)]
    args = [_array(batch, m, k), _array(batch, k, n)]
    return f"product {batch} {m}x{k}x{n} {around}", program, args


def elementary(rng: random.Random) -> Site:
    elements = _size(rng, 64, 1 << 20)
    kind = rng.choice(
        [
            "sin",
            "cos",
            "tan",
            "arctan",
            "power",
            "cube root",
            "softplus",
            "log1p",
            "remainder",
            "arcsin",
        ]
    )
    functions: dict[str, Callable[[Any], Any]] = {
        "sin": jnp.sin,
        "cos": lambda x: jnp.cos(x * 3),
        "tan": jnp.tan,
        "arctan": jnp.arctan,
        "power": lambda x: jnp.abs(x) ** 1.7,
        "cube root": jnp.cbrt,
        "softplus": jax.nn.softplus,
        "log1p": lambda x: jnp.log1p(jnp.exp(x)),
        "remainder": lambda x: lax.rem(x * 9, 0.3),
        "arcsin": lambda x: jnp.arcsin(jnp.tanh(x)),
    }
    around, program = _around(rng, functions[kind])
    if rng.random() < 0.3:
        return f"sum of {kind} {elements} {around}", lambda x: program(x).sum(), [_array(elements)]
    return f"{kind} {elements} {around}", program, [_array(elements)]


def sorting(rng: random.Random) -> Site:
    rows, length = rng.choice([1, 1, 1, 4, 64, 1000]), _size(rng, 4, 100_000)
    length = min(length, 2_000_000 // rows)
    kinds = ["sort", "argsort", "payload", "ends", "ends", "median", "leading", "integers", "half"]
    kind, x = rng.choice(kinds), _array(rows, length)
    if kind == "ends":
        taken = max(1, min(_size(rng, 1, length), length))
        largest = rng.random() < 0.5

        def ends(x: Any) -> Any:
            found = jnp.argsort(x, axis=-1)
            return found[:, length - taken :] if largest else found[:, :taken]

        return f"ends {rows}x{length} {taken} {largest}", ends, [x]
    functions: dict[str, Callable[..., Any]] = {
        "argsort": lambda x: jnp.argsort(x, axis=-1),
        "payload": lambda x: lax.sort((x, x * 2, x + 1), num_keys=1),
        "median": lambda x: jnp.median(x, axis=-1),
        "leading": lambda x: jnp.sort(x.T, axis=0),
        "integers": lambda x: jnp.argsort((x * 1000).astype(jnp.int32), axis=-1),
        "half": lambda x: jnp.sort(x.astype(jnp.bfloat16), axis=-1),
    }
    if kind in functions:
        return f"{kind} {rows}x{length}", functions[kind], [x]
    around, program = _around(rng, lambda x: jnp.sort(x, axis=-1))
    return f"sort {rows}x{length} {around}", program, [x]


def reductions(rng: random.Random) -> Site:
    kind = rng.choice(
        ["few", "few", "few of many", "leading", "softmax", "argmax", "argmax", "dot"]
    )
    reduce = rng.choice([jnp.sum, jnp.sum, jnp.max, jnp.mean])
    if kind == "dot":
        rows, terms = _size(rng, 1, 2000), _size(rng, 8, 4000)
        rows = min(rows, 4_000_000 // terms)
        around, program = _around(rng, lambda x, v: (x * v).sum(-1))
        args = [_array(rows, terms), _array(terms)]
        return f"dot {rows}x{terms} {around}", program, args
    if kind == "argmax":
        rows, length = _size(rng, 1, 5000), _size(rng, 3, 50_000)
        rows = max(1, min(rows, 2_000_000 // length))
        axis = rng.choice([-1, -1, 0])
        around, program = _around(rng, lambda x: x)
        shape = (rows, length) if axis else (length, rows)
        return (
            f"argmax {shape} {axis} {around}",
            lambda x: jnp.argmax(program(x), axis=axis),
            [_array(*shape)],
        )
    few, many = rng.choice([2, 3, 4, 5, 8, 12]), _size(rng, 200, 500_000)
    if kind == "softmax":
        return f"softmax {many}x{few}", jax.nn.softmax, [_array(many, few)]
    inner = rng.choice([2, 4, 16, 64]) if kind == "few of many" else 1
    shapes = {"leading": (few, many), "few of many": (max(1, many // inner), few, inner)}
    shape = shapes.get(kind, (many, few))
    axis = {"leading": 0, "few of many": 1}.get(kind, -1)
    around, program = _around(rng, lambda x: reduce(x, axis=axis))
    return f"{reduce.__name__} {shape} {axis} {around}", program, [_array(*shape)]


def products(rng: random.Random) -> Site:
    m, k, n, p = (_size(rng, 2, 2000) for _ in range(4))
    while m * k + k * n + n * p > 4_000_000:
        m, k, n, p = (max(size // 2, 1) for size in (m, k, n, p))
    rows = _size(rng, 1, 4000)
    index = jnp.asarray(np.random.default_rng(rows).integers(0, m, rows))
    kinds: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "chain": (lambda x, y, z: x @ y @ z, [_array(m, k), _array(k, n), _array(n, p)]),
        "chain tanh": (
            lambda x, y, z: jnp.tanh(x) @ y @ z,
            [_array(m, k), _array(k, n), _array(n, p)],
        ),
        "chain vector": (lambda x, y, v: x @ y @ v, [_array(m, k), _array(k, n), _array(n)]),
        "right chain": (lambda x, y, z: x @ (y @ z), [_array(m, k), _array(k, n), _array(n, p)]),
        "sum": (lambda x, y: (x @ y).sum(rows % 2), [_array(m, k), _array(k, n)]),
        "sum of all": (lambda x, y: (x @ y).sum(), [_array(m, k), _array(k, n)]),
        "trace": (lambda x, y: jnp.trace(x @ y), [_array(m, k), _array(k, m)]),
        "diagonal": (lambda x, y: jnp.diagonal(x @ y), [_array(m, k), _array(k, m)]),
        "factor": (lambda x, y, z: x @ y + x @ z, [_array(m, k), _array(k, n), _array(k, n)]),
        "table": (lambda x, w, i: x[i] @ w, [_array(m, k), _array(k, n), index]),
        "taken": (lambda x, w, i: jnp.take(x, i, 0) @ w, [_array(m, k), _array(k, n), index]),
        "rows": (lambda x, w, i: (x @ w)[i], [_array(m, k), _array(k, n), index[: m // 3]]),
        "edges": (
            lambda x, e, w, i: jnp.concatenate([x[i], x[i[::-1]], e], -1) @ w,
            [_array(m, 16), _array(rows, 8), _array(40, 64), index],
        ),
        "last token": (
            lambda x, w: (x @ w)[:, -1],
            [_array(rng.choice([1, 8]), max(k // 8, 1), 64), _array(64, n)],
        ),
    }
    heads, keys, queries = rng.choice([2, 4, 8]), _size(rng, 16, 500), _size(rng, 1, 200)
    shared, features = rng.choice([1, 2, 4]), rng.choice([16, 32, 64])

    def repeated(q: Any, k: Any) -> Any:
        return jnp.einsum("bqhd,bkhd->bhqk", q, jnp.repeat(k, heads, 2))

    args = [_array(2, queries, shared * heads, features), _array(2, keys, shared, features)]
    kinds["repeated"] = kinds["repeated heads"] = (repeated, args)

    def attention(q: Any, k: Any, v: Any) -> Any:
        return (jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k)) @ v).sum()

    args = [_array(heads, size, features) for size in (queries, keys, keys)]
    kinds["attention gradient"] = (jax.grad(attention, (0, 1, 2)), args)
    kind = rng.choice(sorted(kinds))
    function, args = kinds[kind]
    return f"{kind} {' '.join('x'.join(map(str, x.shape)) for x in args)}", function, args


def convolutions(rng: random.Random) -> Site:
    kinds = ["dense", "line", "depthwise", "multiplied", "grouped", "transposed", "wide", "point"]
    kind = rng.choice([*kinds, "channels first", "whole"])
    batch, size = rng.choice([1, 2, 8, 16]), _size(rng, 4, 48)
    inputs, outputs = _size(rng, 4, 200), _size(rng, 4, 200)
    window, stride, rank, groups = rng.choice([2, 3, 3, 3, 5, 7]), rng.choice([1, 1, 2]), 2, 1
    padding = rng.choice(["SAME", "VALID"])
    if kind == "line":
        rank, size = 1, _size(rng, 8, 2000)
    if kind in ("depthwise", "multiplied"):
        groups, outputs = inputs, inputs * (rng.choice([2, 3]) if kind == "multiplied" else 1)
    if kind == "grouped":
        groups = rng.choice([2, 4, 8, 16])
        inputs, outputs = (groups * max(1, each // groups) for each in (inputs, outputs))
    if kind == "wide":
        size, padding = rng.choice([1, 2, 3, 4]), "SAME"
    if kind == "whole":
        size, padding = _size(rng, 2, 8), "VALID"
    window = {"point": 1, "whole": size}.get(
        kind, window if padding == "SAME" else min(window, size)
    )
    space = "HW"[:rank]
    numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    shape: tuple[int, ...] = (batch, *(size,) * rank, inputs)
    kernel: tuple[int, ...] = (*(window,) * rank, inputs // groups, outputs)
    if kind == "channels first":
        numbers = (f"NC{space}", f"OI{space}", f"NC{space}")
        shape = (batch, inputs, *(size,) * rank)
        kernel = (outputs, inputs, *(window,) * rank)

    def convolve(x: Any, w: Any) -> Any:
        if kind == "transposed":
            return lax.conv_transpose(x, w, (2,) * rank, "SAME", dimension_numbers=numbers)
        strides = (stride,) * rank
        return lax.conv_general_dilated(
            x, w, strides, padding, dimension_numbers=numbers, feature_group_count=groups
        )

    x, w = _array(*shape), _array(*kernel)
    half = rng.choice(["forward", "forward", "by the kernel", "by the input"])
    name = f"{kind} {half} {shape} {kernel} {stride} {padding} {groups}"
    result = jax.eval_shape(convolve, x, w).shape
    if math.prod(result) * math.prod(kernel[:-1]) > 4e8:
        return convolutions(rng)
    if half == "forward":
        around, program = _around(rng, convolve)
        return f"{name} {around}", program, [x, w]
    given = _array(*result)
    if half == "by the kernel":
        return name, lambda x, y: jax.vjp(lambda w: convolve(x, w), w)[1](y), [x, given]
    return name, lambda w, y: jax.vjp(lambda x: convolve(x, w), x)[1](y), [w, given]


def indexing(rng: random.Random) -> Site:
    kind = rng.choice(
        ["one-hot read", "one-hot added", "strided", "loss", "one-hot loss", "computed"]
    )
    rows, columns = _size(rng, 8, 20000), _size(rng, 1, 512)
    if kind in ("loss", "one-hot loss"):
        batch, classes = _size(rng, 1, 2000), _size(rng, 4, 50000)
        while batch * classes > 1 << 23:
            batch, classes = _size(rng, 1, 2000), _size(rng, 4, 50000)
        labels = _integers(classes, batch)

        def loss(x: Any, labels: Any) -> Any:
            logs = jax.nn.log_softmax(x)
            if kind == "loss":
                return -jnp.take_along_axis(logs, labels[:, None], 1).mean()
            return -(jax.nn.one_hot(labels, classes) * logs).sum(1).mean()

        half = rng.choice([loss, jax.grad(loss), jax.value_and_grad(loss)])
        return f"{kind} {half.__name__} {batch}x{classes}", half, [_array(batch, classes), labels]
    if kind == "strided":
        shape, steps = (
            (_size(rng, 16, 2048), _size(rng, 16, 2048)),
            [rng.choice([1, 2, 3, 8, 32]) for _ in "ab"],
        )
        where = tuple(slice(rng.choice([0, 1]), None, step) for step in steps)
        updates = _array(*np.empty(shape)[where].shape)
        way = rng.choice(["set", "add"])
        around, program = _around(rng, lambda x, u: getattr(x.at[where], way)(u))
        return f"strided {way} {shape} {steps} {around}", program, [_array(*shape), updates]
    if kind == "computed":
        read = _size(rng, 1, 1000)
        function = rng.choice([jnp.tanh, jnp.exp, lambda x: x * 2 + 1])
        args = [_array(rows, columns), _integers(rows, read)]
        return f"computed {rows}x{columns} {read}", lambda x, i: function(x)[i], args
    vectors = _size(rng, 1, 5000)
    while vectors * rows * columns > 4e9:
        vectors = _size(rng, 1, 5000)
        rows = _size(rng, 8, 20000)
    if kind == "one-hot read":
        args = [_array(rows, columns), _integers(rows, vectors)]
        around, program = _around(rng, lambda x, i: jax.nn.one_hot(i, rows) @ x)
        return f"{kind} {vectors} of {rows}x{columns} {around}", program, args
    args = [_array(vectors, columns), _integers(rows, vectors)]
    around, program = _around(rng, lambda x, i: jax.nn.one_hot(i, rows).T @ x)
    return f"{kind} {vectors} to {rows}x{columns} {around}", program, args


FAMILIES = {
    each.__name__.replace("_", "-"): each
    for each in (
        *(pooling, small_matrices, elementary, sorting, reductions, products, convolutions),
        indexing,
    )
}

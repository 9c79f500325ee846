"""JAX indexing at O1, compared with numpy at indices around every edge, with fewer ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlib.mlir import ir

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.ir import count_ops, make_context, read_module, walk
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

X = np.array([1.5, -0.0, np.nan, np.inf, -2.0, 0.0, 7.0, -np.inf], np.float32)
M = np.arange(32, dtype=np.float32).reshape(4, 8) - 7
Q = M[:, :4]
U = np.array([10, 20, 30], np.float32)
STARTS = (-100, -9, -8, -1, 0, 3, 5, 6, 7, 8, 100)  # of 8 elements
INDICES = np.array(STARTS, np.int32)


class Idiom(NamedTuple):
    """A way to index, and its expected result.

    Attributes:
        function: the JAX program.
        arguments: the arguments without the index.
        expected: the same function in numpy.
        most_ops: the maximum number of ops after O1, without constants.
        without: ops that must not remain.
        indices: values for the last argument; None if there is no index argument.
    """

    function: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]
    expected: Callable[..., Any]
    most_ops: int
    without: tuple[str, ...] = ()
    indices: tuple[Any, ...] | None = STARTS


def begin(index: int, size: int = 1, extent: int = 8) -> int:
    """The start of a slice: counted from the end if negative, then clamped."""
    return min(max(index + extent if index < 0 else index, 0), extent - size)


def put(x: np.ndarray, index: int, value: Any) -> np.ndarray:
    """`x` with `value` at `index`, if that is in range."""
    copy = x.copy()
    if -len(x) <= index < len(x):
        copy[index] = value
    return copy


def fill(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """`x` at `indices`, NaN where out of range."""
    return np.array([x[i] if -8 <= i < 8 else np.nan for i in indices], np.float32)


def write(x: np.ndarray, update: np.ndarray, start: int) -> np.ndarray:
    """`x` with `update` written at `start`."""
    copy = x.copy()
    copy[start : start + len(update)] = update
    return copy


def fixed(function, arguments, expected, most_ops, *without: str) -> Idiom:
    """An idiom with constant indices."""
    return Idiom(function, arguments, expected, most_ops, without, None)


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.grad(lambda x, *rest: function(x, *rest).sum())


def sum_of(x):
    return lax.fori_loop(0, 8, lambda i, total: total + x[i], 0.0)


def doubled(x):
    return lax.fori_loop(0, 8, lambda i, y: y.at[i].set(x[i] * 2), jnp.zeros(8))


def scanned(x):
    return lax.scan(lambda c, a: (c + a, c * a), jnp.float32(0), x)[0]


def cached(cache, key, i):
    cache = lax.dynamic_update_slice_in_dim(cache, key, i, 0)
    return cache, lax.dynamic_slice_in_dim(cache, i, 3)


IDIOMS: dict[str, Idiom] = {
    # Constant indices: slices, pads and the like remain.
    "x[-1]": fixed(lambda x: x[-1], (X,), lambda x: x[-1], 2),
    "x[[1, 2, 3]]": fixed(lambda x: x[jnp.array([1, 2, 3])], (X,), lambda x: x[1:4], 1, "gather"),
    "x[arange]": fixed(lambda x: x[jnp.arange(8)], (X,), lambda x: x, 0),
    "x[arange(2, 6)]": fixed(lambda x: x[jnp.arange(2, 6)], (X,), lambda x: x[2:6], 1),
    "x[arange, backwards]": fixed(lambda x: x[jnp.arange(7, -1, -1)], (X,), lambda x: x[::-1], 1),
    "x[1:3, [0, 5]]": fixed(lambda x: x[1:3, jnp.array([0, 5])], (M,), lambda x: x[1:3, :6:5], 1),
    "x[mesh]": fixed(lambda x: x[jnp.arange(4)[:, None], jnp.arange(8)], (M,), lambda x: x, 0),
    "take of a row": fixed(lambda x: jnp.take(x, 2, 0), (M,), lambda x: x[2], 2, "gather"),
    "take clipped": fixed(
        lambda x: jnp.take(x, np.array([20, 30]), mode="clip"), (X,), lambda x: x[[7, 7]], 1
    ),
    "take wrapped": fixed(
        lambda x: jnp.take(x, np.array([-9, 9]), mode="wrap"), (X,), lambda x: x[[7, 1]], 2
    ),
    "at[2].set": fixed(lambda x: x.at[2].set(5), (X,), lambda x: put(x, 2, 5), 1, "scatter"),
    "at[1:3].set": fixed(
        lambda x, u: x.at[1:4].set(u), (X, U), lambda x, u: write(x, u, 1), 1, "scatter"
    ),
    "at[:].set": fixed(lambda x, u: x.at[:].set(u), (X, X + 1), lambda x, u: u, 0),
    "at[9].set": fixed(lambda x: x.at[9].set(5), (X,), lambda x: x, 0),
    "diag": fixed(jnp.diag, (U,), np.diag, 5),
    "diagonal": fixed(lambda x: jnp.diagonal(x, 1), (M,), lambda x: np.diagonal(x, 1), 6),
    "tril": fixed(lambda x: jnp.tril(x, 1), (M,), lambda x: np.tril(x, 1), 5),
    "triu beyond": fixed(lambda x: jnp.triu(x, -5), (M,), lambda x: x, 0),
    "eye beyond": fixed(lambda: jnp.eye(4, k=5), (), lambda: np.eye(4, k=5, dtype="f"), 0),
    "arange in range": fixed(lambda: jnp.arange(8) < 9, (), lambda: np.arange(8) < 9, 0),
    "roll": fixed(lambda x: jnp.roll(x, 3), (X,), lambda x: np.roll(x, 3), 3),
    "flip": fixed(jnp.flip, (M,), np.flip, 1),
    "where": fixed(lambda x: jnp.where(x > 0, x, 0), (X,), lambda x: np.where(x > 0, x, 0), 2),
    "cumsum": fixed(jnp.cumsum, (U,), np.cumsum, 2),
    "argmax": fixed(jnp.argmax, (M,), lambda x: np.argmax(x).astype("i"), 12),
    "loop of x[i]": fixed(sum_of, (U.repeat(3)[:8],), lambda x: x.sum(), 7, "select"),
    "loop of x[i // 2]": fixed(
        lambda x: lax.fori_loop(0, 6, lambda i, total: total + x[i // 2], 0.0), (U,),
        lambda x: 2 * x.sum(), 8, "select"
    ),
    "loop of at[i]": fixed(doubled, (X,), lambda x: x * 2, 7, "select", "scatter"),
    "scan": fixed(scanned, (U,), sum, 6, "select"),
    "x[argmax]": fixed(lambda x: x[jnp.argmax(x)], (U,), max, 13, "gather"),
    "x[argsort]": fixed(
        lambda x: x[jnp.argsort(x)], (X,), lambda x: x[np.argsort(x, kind="stable")], 13
    ),
    "nonzero": fixed(
        lambda x: jnp.nonzero(x, size=7)[0], (X,), lambda x: np.append(np.nonzero(x)[0], 0), 16
    ),
    "x[top_k]": fixed(lambda x: x[lax.top_k(x, 2)[1]], (U,), lambda x: x[[2, 1]], 3, "select"),
    # Indices from an argument.
    "loop to n": Idiom(
        lambda x, n: lax.fori_loop(0, n, lambda i, total: total + x[i], 0.0), (U,),
        lambda x, n: x[:max(n, 0)].sum() if n < 4 else x.sum() + (n - 3) * 30, 6, ("select",)
    ),
    "x[i]": Idiom(lambda x, i: x[i], (X,), lambda x, i: x[begin(i)], 5, ("gather",)),
    "x[clip(i)]": Idiom(
        lambda x, i: x[jnp.clip(i, 0, 7)], (X,), lambda x, i: x[min(max(i, 0), 7)], 2
    ),
    "x[i % 8]": Idiom(lambda x, i: x[i % 8], (X,), lambda x, i: x[i % 8], 6),
    "x[i // 2]": Idiom(
        lambda x, i: x[i // 2], (X,), lambda x, i: x[begin(i // 2)], 10
    ),
    "x[i, i]": Idiom(
        lambda x, i: x[i, i], (M,), lambda x, i: x[begin(i, 1, 4), begin(i)], 7, ("gather",)
    ),
    "dynamic_slice": Idiom(
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 3), (X,), lambda x, i: x[begin(i, 3) :][:3], 4
    ),
    "update, then slice": Idiom(
        cached, (X, U), lambda x, u, i: (write(x, u, begin(i, 3)), u), 4, ("dynamic_slice",)
    ),
    "at[i].set": Idiom(lambda x, i: x.at[i].set(5), (X,), lambda x, i: put(x, i, 5), 5),
    "roll by i": Idiom(lambda x, i: jnp.roll(x, i), (X,), np.roll, 7),
    "take filled": Idiom(
        lambda x, i: jnp.take(x, i), (X,), fill, 10, (), (INDICES,)
    ),
    "take wrapped by i": Idiom(
        lambda x, i: jnp.take(x, i, mode="wrap"), (X,), lambda x, i: x[i % 8], 6, (), (INDICES,)
    ),
    "take_along_axis": Idiom(
        lambda x, i: jnp.take_along_axis(x, i, 0), (X,), fill, 10, (), (INDICES,)
    ),
    "searchsorted": Idiom(
        jnp.searchsorted, (np.sort(X[[0, 3, 4, 5]]),),
        lambda x, i: np.searchsorted(x, i).astype("i"), 21, (), (X,),
    ),
    "one_hot": Idiom(
        lambda i: jax.nn.one_hot(i, 8), (),
        lambda i: np.equal.outer(i, np.arange(8)).astype("f"), 4, (), (INDICES,),
    ),
    # Gradients.
    "gradient of x[i]": Idiom(
        gradient(lambda x, i: x[i]), (X,), lambda x, i: np.eye(8, dtype="f")[begin(i)], 4
    ),
    "gradient of x[2]": fixed(
        gradient(lambda x: x[2]), (X,), lambda x: np.eye(8, dtype="f")[2], 1, "scatter"
    ),
    "gradient of tril": fixed(
        gradient(jnp.tril), (M,), lambda x: np.tril(np.ones_like(x)), 4, "select"
    ),
    "gradient of where": fixed(
        gradient(lambda x: jnp.where(x > 0, x, 0)), (X,), lambda x: (x > 0).astype("f"), 2, "select"
    ),
    "gradient of roll": Idiom(
        gradient(lambda x, i: jnp.roll(x, i)), (X,), lambda x, i: np.ones_like(x), 9
    ),
}  # fmt: skip


def optimised(function: Callable[..., Any], arguments: tuple[Any, ...]) -> ir.Module:
    module = read_module(jax.jit(function).lower(*arguments).as_text(), make_context())
    run_pipeline(module, make_pipeline("O1"), PassContext())
    return module


@pytest.mark.parametrize("name", IDIOMS)
def test_indexing_equals_numpy_with_few_ops(name: str) -> None:
    idiom = IDIOMS[name]
    indices = [()] if idiom.indices is None else [(np.asarray(i, _kind(i)),) for i in idiom.indices]
    module = optimised(idiom.function, (*idiom.arguments, *indices[0]))
    left = [op.operation.name.removeprefix("stablehlo.") for op in walk(module.operation)]
    assert count_ops(module) - left.count("constant") <= idiom.most_ops, str(module)
    assert not set(left) & set(idiom.without), str(module)
    kept = _kept(module, (*idiom.arguments, *indices[0]))
    program = lowered_from_module(module).compile()
    for index in indices:
        arguments = (*idiom.arguments, *index)
        found = [np.asarray(each) for each in program(*(arguments[i] for i in kept))]
        plain = [each.item() if each.ndim == 0 else each for each in index]
        expected = idiom.expected(*idiom.arguments, *plain)
        for mine, theirs in zip(found, _several(expected), strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"{name} at {index}")
            assert (np.signbit(mine) == np.signbit(theirs))[np.asarray(mine) == 0].all()


def _kind(index: Any) -> np.dtype:
    return np.dtype(np.int32) if isinstance(index, int) else index.dtype


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _kept(module: ir.Module, arguments: tuple[np.ndarray, ...]) -> list[int]:
    """The arguments that the program still has: JAX drops unused ones."""
    (main,) = [op for op in module.body.operations if op.operation.name == "func.func"]
    types = [ir.RankedTensorType(each.type) for each in main.regions[0].blocks[0].arguments]
    kept = []
    for kind in reversed(types):
        last = kept[-1] if kept else len(arguments)
        shapes = [argument.shape for argument in arguments[:last]]
        kept.append(last - 1 - shapes[::-1].index(tuple(kind.shape)))
    return kept[::-1]


def clipped_gather(x):
    numbers = lax.GatherDimensionNumbers((0,), (), (0,))
    return lax.gather(x, np.array([200], np.uint8), numbers, (1,), mode="clip")


UNSIGNED: dict[str, Callable[..., Any]] = {
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (np.uint8(200),), (1,)),
    "dynamic_slice_in_dim": lambda x: lax.dynamic_slice_in_dim(x, np.uint8(200), 1),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(
        x * 0 + 200, x[:1], (np.uint8(200),)
    )[199:200],
    "vmap": lambda x: jax.vmap(lambda y: lax.dynamic_slice(y, (np.uint8(200),), (1,)))(x[None])[0],
    "gather": clipped_gather,
    "take": lambda x: jnp.take(x, np.array([200], np.uint8), mode="clip"),
    "index": lambda x: x[jnp.array([200], jnp.uint8)],
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_indexing_by_unsigned_constants_equals_numpy(name: str) -> None:
    """XLA reads a constant uint8 of 200 as -56 and returns element 0; numpy is the reference."""
    x = np.arange(256, dtype=np.int32)
    found = jxc.jit(UNSIGNED[name], pipeline="O1", strict=True)(x)
    assert np.asarray(found).tolist() == [200]

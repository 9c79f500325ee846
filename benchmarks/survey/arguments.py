"""The arrays that the expressions of `calls.toml` name, at each size."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

BATCH = 8  # of `jax.vmap`


@dataclass(frozen=True)
class Size:
    """The extents that arrays of one size have.

    Attributes:
        n: rows and columns of a matrix.
        prime: a prime number near `n`.
        linear: rows of a matrix that is factored.
        batch, small: the number of small matrices in a batch, and their rows.
        images, channels, side: extents of images.
        wide: the side of a wide window.
        heads: batch, length, heads and features of attention.
    """

    n: int
    prime: int
    linear: int
    batch: int
    small: int
    images: int
    channels: int
    side: int
    wide: int
    heads: tuple[int, int, int, int]


SIZES = {
    "tiny": Size(8, 5, 4, 4, 3, 1, 4, 8, 5, (1, 8, 2, 4)),
    "usual": Size(512, 509, 128, 200, 8, 8, 16, 64, 33, (4, 256, 4, 64)),
    "large": Size(2048, 2039, 512, 1000, 16, 16, 32, 128, 65, (8, 512, 8, 64)),
    "vmap": Size(128, 127, 32, 25, 8, 1, 16, 64, 17, (1, 128, 4, 64)),
}

_Make = Callable[[Size, np.random.Generator], Any]


def _normal(shape: Callable[[Size], tuple[int, ...]]) -> _Make:
    return lambda s, rng: rng.normal(size=shape(s)).astype(np.float32)


def _uniform(low: float, high: float, shape: Callable[[Size], tuple[int, ...]]) -> _Make:
    return lambda s, rng: rng.uniform(low, high, shape(s)).astype(np.float32)


def _integers(limit: Callable[[Size], int], shape: Callable[[Size], tuple[int, ...]]) -> _Make:
    return lambda s, rng: rng.integers(0, limit(s), shape(s)).astype(np.int32)


def _square(s: Size) -> tuple[int, int]:
    return (s.n, s.n)


def _vector(s: Size) -> tuple[int]:
    return (s.n * s.n,)


def _cube(s: Size) -> tuple[int, int, int]:
    return (max(2, s.n // 32), max(4, s.n // 4), max(4, s.n // 4))


def _part(s: Size) -> tuple[int, int]:
    return (max(4, s.n // 16), max(4, s.n // 16))


def _definite(shape: Callable[[Size], tuple[int, ...]]) -> _Make:
    def make(s: Size, rng: np.random.Generator) -> Any:
        found = rng.normal(size=shape(s))
        rows = found.shape[-1]
        return (found @ found.swapaxes(-1, -2) / rows + np.eye(rows)).astype(np.float32)

    return make


def _probabilities(s: Size, rng: np.random.Generator) -> Any:
    found = rng.uniform(0.1, 1, _vector(s))
    return (found / found.sum()).astype(np.float32)


def _groups(s: Size, rng: np.random.Generator) -> Any:
    rows = 2 * s.n
    cuts = np.sort(rng.integers(0, rows + 1, 7))
    return np.diff(cuts, prepend=0, append=rows).astype(np.int32)


def _parameters(s: Size, rng: np.random.Generator) -> Any:
    shapes = {"kernel": (s.n, s.n // 4), "bias": (s.n // 4,), "head": (s.n // 4, s.n)}
    return {k: rng.normal(size=shape).astype(np.float32) for k, shape in shapes.items()}


def _unet(s: Size, rng: np.random.Generator) -> Any:
    few, many = s.channels, 2 * s.channels
    extents = {"first": (3, 2, few), "second": (3, few, few), "bottom": (3, few, many)}
    extents |= {"up": (2, many, few), "merge": (3, many, few), "last": (1, few, 1)}
    return {
        name: (rng.normal(size=(k, k, k, i, o)) / (k**3 * i) ** 0.5).astype(np.float32)
        for name, (k, i, o) in extents.items()
    }


_ARRAYS: dict[str, _Make] = {
    **{name: _normal(_square) for name in ("x", "y", "x2")},
    **{name: _uniform(0.1, 3, _square) for name in ("p", "q")},
    "u": _uniform(-0.99, 0.99, _square),
    **{name: _integers(lambda s: 1 << 20, _square) for name in ("i", "j")},
    "k": _integers(lambda s: 4, _square),
    "kn": _integers(lambda s: s.n, _square),
    "kc": lambda s, rng: rng.integers(1, 4, _square(s)).astype(np.int32)[: _cube(s)[0]],
    "ix": _integers(lambda s: s.n, lambda s: (s.n // 2,)),
    "ix_rows": _integers(lambda s: 64, lambda s: (s.n,)),
    **{name: _integers(lambda s: 1024, _vector) for name in ("ivn", "ivn2")},
    **{n: lambda s, rng: rng.integers(0, 2, _square(s)).astype(bool) for n in ("b", "d")},
    "by": lambda s, rng: rng.integers(0, 256, _square(s)).astype(np.uint8),
    "c": lambda s, rng: (rng.normal(size=_square(s)) + 1j * rng.normal(size=_square(s))).astype(
        np.complex64
    ),
    "odd": _normal(lambda s: (s.n // 2, s.prime)),
    **{name: _normal(_vector) for name in ("v", "v2")},
    **{
        name: lambda s, rng: np.sort(rng.normal(size=_vector(s))).astype(np.float32)
        for name in ("sorted_v", "sorted_v2")
    },
    "pv": _probabilities,
    "r": _normal(lambda s: (1024,)),
    **{name: _normal(lambda s: (s.n,)) for name in ("w", "w2")},
    **{name: _normal(_part) for name in ("m", "m2")},
    **{name: _normal(_cube) for name in ("t3", "t3b")},
    **{name: _normal(lambda s: (s.n * s.n // 8, 3)) for name in ("xyz", "xyz2")},
    "a": lambda s, rng: (rng.normal(size=(s.linear, s.linear)) + 4 * np.eye(s.linear)).astype(
        np.float32
    ),
    "tall": _normal(lambda s: (4 * s.linear, s.linear)),
    "rhs": _normal(lambda s: (s.linear, 4)),
    "rhs_t": _normal(lambda s: (s.n, 4)),
    "spd": _definite(lambda s: (s.linear, s.linear)),
    "batch_spd": _definite(lambda s: (s.batch, s.small, s.small)),
    "batch_rhs": _normal(lambda s: (s.batch, s.small, 2)),
    "ipiv": lambda s, rng: rng.integers(np.arange(s.linear), s.linear).astype(np.int32),
    "image": _normal(lambda s: (s.images, s.channels, s.side, s.side)),
    "window": _normal(lambda s: (s.channels, s.channels, 3, 3)),
    "image1": _normal(lambda s: (1, 1, 4 * s.side, 4 * s.side)),
    "wide": _normal(lambda s: (1, 1, s.wide, s.wide)),
    "nhwc": _normal(lambda s: (s.images, s.side, s.side, s.channels)),
    "hwio": _normal(lambda s: (3, 3, s.channels, s.channels)),
    "hw1o": _normal(lambda s: (3, 3, 1, s.channels)),
    "nlc": _normal(lambda s: (s.images, 16 * s.side, s.channels)),
    "lio": _normal(lambda s: (5, s.channels, s.channels)),
    "ndhwc": _normal(lambda s: (s.images // 2 or 1, s.side // 4, s.side // 2, s.side // 2, 16)),
    "dhwio": _normal(lambda s: (3, 3, 3, 16, 16)),
    "qkv": _normal(lambda s: s.heads),
    "rows": _normal(lambda s: (2 * s.n, s.n // 2)),
    "experts": _normal(lambda s: (8, s.n // 2, s.n // 2)),
    "groups": _groups,
    "key": lambda s, rng: rng.integers(0, 1 << 32, 2).astype(np.uint32),
    "u32": lambda s, rng: rng.integers(0, 1 << 32, 4).astype(np.uint32),
    "volume": _normal(lambda s: (1, max(4, s.side // 4), s.side // 2, s.side // 2, 2)),
    "unet": _unet,
    "params": _parameters,
    "grads": _parameters,
}


def is_array(name: str) -> bool:
    return name in _ARRAYS


def argument(name: str, size: str) -> Any:
    """The NumPy array of this name, or a dict of arrays; with a leading batch if size is vmap."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {size}".encode()))
    if size != "vmap":
        return _ARRAYS[name](SIZES[size], rng)
    drawn = [_ARRAYS[name](SIZES[size], rng) for _ in range(BATCH)]
    if isinstance(drawn[0], dict):
        return {key: np.stack([each[key] for each in drawn]) for key in drawn[0]}
    return np.stack(drawn)

"""Cost conditions of the pass `products`: estimated time of products and of passes over memory.

Each op takes the time of a kernel and the larger of the times of its multiply-adds and its bytes.
The speeds are those of two x86 cores with AVX-512 (`jxc calibrate`), an H100 and a TPU v5e (data
sheets, f32 at default precision). They need not be precise: a rewrite must save a quarter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple


class Work(NamedTuple):
    """The work of one op.

    Attributes:
        multiply_adds: of a product; 0 for other ops.
        elements: that are read and written, in operands and results.
    """

    multiply_adds: int
    elements: int


class _Speeds(NamedTuple):
    """Nanoseconds for a multiply-add, an element of memory, and a kernel."""

    multiply_add: float
    element: float
    kernel: float


_SPEEDS = {
    "cpu": _Speeds(0.01, 0.06, 400),
    "gpu": _Speeds(6e-6, 1.3e-3, 1500),
    "tpu": _Speeds(1.1e-5, 5e-3, 300),
}

LEAST_SAVED = 1.25
"""How many times less a rewritten program must take by the estimate, which is rough."""

LEAST_SAVED_NS = {"cpu": 2000.0, "gpu": 500.0, "tpu": 500.0}
"""Nanoseconds that a rewrite must save; less is not worth the time of the pass."""


def nanoseconds(target: str, works: Iterable[Work]) -> float:
    """The estimated time of ops that run one after another, in nanoseconds."""
    speeds = _SPEEDS[target]
    return sum(
        speeds.kernel
        + max(work.multiply_adds * speeds.multiply_add, work.elements * speeds.element)
        for work in works
    )


def pays(target: str, before: Iterable[Work], after: Iterable[Work]) -> bool:
    """Whether the ops `after` take clearly less time on the target than the ops `before`."""
    old, new = nanoseconds(target, before), nanoseconds(target, after)
    return old >= LEAST_SAVED * new and old - new >= LEAST_SAVED_NS[target]


LEAST_SCORES = 65536
"""The least number of elements of the scores of an attention whose gradient is rewritten."""


def features_pay(shape: Sequence[int], *, keys: int, features: int) -> bool:
    """Whether a sum over the keys of scores of `shape` takes longer than one over the features."""
    return prod(shape) >= LEAST_SCORES and keys >= 2 * features

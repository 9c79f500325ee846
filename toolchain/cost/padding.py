"""Sizes of buckets: the size for a length, and the best sizes for given lengths.

`best_sizes` finds the sizes with the least padding by dynamic programming over the sorted lengths:
the best choice of n sizes up to a length extends one of n - 1 sizes up to a shorter length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter

import numpy as np

from ..errors import UsageError

POWERS = "powers-of-two"


def read_sizes(sizes: str | Iterable[int]) -> tuple[int, ...] | None:
    """The sizes in ascending order; None for powers of two.

    Raises:
        UsageError: the sizes are neither "powers-of-two" nor positive integers.
    """
    if isinstance(sizes, str):
        if sizes != POWERS:
            raise UsageError(f"sizes={sizes!r}: expected {POWERS!r} or a list of sizes")
        return None
    found = tuple(sorted(set(sizes)))
    if not found or any(not isinstance(size, int | np.integer) or size < 1 for size in found):
        raise UsageError(f"sizes={sizes!r}: expected positive integers, at least one")
    return tuple(map(int, found))


def bucket_of(length: int, sizes: tuple[int, ...] | None) -> int:
    """The smallest size of at least `length`.

    Raises:
        UsageError: `length` exceeds the largest size.
    """
    if sizes is None:
        return 1 << max(length - 1, 0).bit_length()
    for size in sizes:
        if length <= size:
            return size
    raise UsageError(
        f"a length of {length} is more than the largest size, {sizes[-1]}: add a size, or use "
        f"sizes={POWERS!r}"
    )


def propose(
    lengths: Iterable[int] | Mapping[int, int],
    *,
    buckets: int | None = None,
    max_waste: float | None = None,
) -> tuple[int, ...]:
    """Return the sizes with the least padding for given lengths.

    Args:
        lengths: the length of each call; or a mapping from lengths to how often they occurred,
            such as the `lengths` of a bucketed function.
        buckets: the maximum number of sizes.
        max_waste: choose the fewest sizes that keep the padded fraction of all rows within this;
            0.1 if neither is given.

    Raises:
        UsageError: there are no lengths, or an option is out of range.
    """
    counts = {length: count for length, count in Counter(lengths).items() if length and count}
    if not counts or min(counts) < 1:
        raise UsageError("propose: expected lengths from 1, at least one")
    if (buckets is not None and buckets < 1) or (max_waste is not None and max_waste < 0):
        raise UsageError("propose: expected buckets from 1 and max_waste from 0")
    limit = 0.1 if buckets is None and max_waste is None else max_waste
    rows = sum(length * count for length, count in counts.items())
    for padded, sizes in best_sizes(counts, buckets or len(counts)):
        found = sizes
        if limit is not None and padded <= limit * (rows + padded):
            break
    return found


def best_sizes(counts: Mapping[int, int], most: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For one size, two, ... up to `most`: the padded rows of the best choice, and its sizes.

    Args:
        counts: how often each length occurs; not empty.
        most: the maximum number of sizes.
    """
    # `cost[j]` is the least padding of the lengths up to the j-th if the j-th is the last size. One
    # more size lowers it to the minimum over i < j: the cost of the lengths up to the i-th, plus
    # the padding of those after it to the j-th.
    known = np.array(sorted(counts))
    often = np.array([counts[length] for length in known.tolist()])
    calls = np.concatenate([[0], np.cumsum(often)])
    rows = np.concatenate([[0], np.cumsum(known * often)])
    cost = known * calls[1:] - rows[1:]
    chosen: list[tuple[int, ...]] = [(length,) for length in known.tolist()]
    yield int(cost[-1]), chosen[-1]
    for _ in range(1, min(most, len(known))):
        following, choices = cost.copy(), list(chosen)
        for j in range(1, len(known)):
            extra = known[j] * (calls[j + 1] - calls[1 : j + 1]) - (rows[j + 1] - rows[1 : j + 1])
            i = int(np.argmin(cost[:j] + extra))
            if cost[i] + extra[i] < following[j]:
                following[j] = cost[i] + extra[i]
                choices[j] = (*chosen[i], known[j].item())
        cost, chosen = following, choices
        yield int(cost[-1]), chosen[-1]


# Proposals from the shapes of recorded calls, which later calls may exceed

_MULTIPLE = 8  # sizes above 16 are rounded up to a multiple of it, which suits vector units
_MOST_DIMENSIONS = 3  # for which several sizes are tried; further ones get one size each


_LITTLE_WASTE = 0.2  # the share of padding that counts as little


def propose_sizes(seen: Iterable[int], most: int = 4) -> tuple[int, ...]:
    """The fewest sizes to pad to with little waste, or the `most` sizes with the least waste.

    Args:
        seen: the sizes of all calls.
        most: the largest number of programs.
    """
    lengths = sorted(size for size in seen if size > 0)
    sizes: tuple[int, ...] = ()
    for _, sizes in best_sizes(Counter(map(_rounded, lengths)), most) if lengths else ():
        if padding_waste(lengths, sizes) <= _LITTLE_WASTE:
            break
    return sizes


def propose_shapes(
    seen: Sequence[tuple[int, ...]], of_arrays: Sequence[Sequence[int]], most: int = 4
) -> tuple[tuple[tuple[int, ...], ...], int, float]:
    """The sizes to pad several dimensions to, as `propose_sizes` for one.

    Args:
        seen: the sizes of the dimensions in each call, from 1.
        of_arrays: the positions in them of the dimensions of each array.
        most: the largest number of programs, which is that of different padded shapes.

    Returns:
        The sizes of each dimension, the number of programs, and the share of padding.
    """
    choices = [
        best_sizes(Counter(map(_rounded, lengths)), most if at < _MOST_DIMENSIONS else 1)
        for at, lengths in enumerate(zip(*seen, strict=True))
    ]
    found = []
    for pairs in product(*choices):
        sizes = tuple(each for _, each in pairs)
        padded = [tuple(map(bucket_of, shape, sizes)) for shape in seen]
        programs = len(set(padded))
        if programs <= most:  # as one size for each dimension has
            share = 1 - _elements(seen, of_arrays) / _elements(padded, of_arrays)
            found.append((sizes, programs, share))
    little = [each for each in found if each[2] <= _LITTLE_WASTE]
    return min(little, key=itemgetter(1)) if little else min(found, key=itemgetter(2))


def _elements(shapes: Iterable[tuple[int, ...]], of_arrays: Sequence[Sequence[int]]) -> int:
    return sum(math.prod(shape[at] for at in own) for shape in shapes for own in of_arrays)


def _rounded(size: int) -> int:
    return size if size <= 2 * _MULTIPLE else -(-size // _MULTIPLE) * _MULTIPLE


def padding_waste(seen: Iterable[int], sizes: Iterable[int]) -> float:
    """The share of padding among all elements, if `seen` are padded to the next of `sizes`."""
    lengths, ordered = list(seen), sorted(sizes)
    padded = sum(next((size for size in ordered if size >= n), n) for n in lengths)
    return 1 - sum(lengths) / padded if padded else 0.0

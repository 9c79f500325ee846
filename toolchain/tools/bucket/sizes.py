"""Sizes of buckets: the size for a length, and the best sizes for given lengths.

`best_sizes` finds the sizes with the least padding by dynamic programming over the sorted lengths:
the best choice of n sizes up to a length extends one of n - 1 sizes up to a shorter length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ...errors import UsageError

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

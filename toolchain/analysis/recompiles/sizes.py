"""Which sizes to pad to, for a dimension that varies."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

_COARSE = 8  # the multiple that sizes above 16 are rounded up to: what vector units take


def propose_sizes(seen: Iterable[int], most: int = 4, waste: float = 0.2) -> tuple[int, ...]:
    """The fewest sizes to pad to that waste little, or the `most` that waste least.

    Args:
        seen: the sizes that came up, once for each time.
        most: how many programs there may be.
        waste: the share of padding that is little.
    """
    lengths = sorted(size for size in seen if size > 0)
    choices = sorted({_round_up(length) for length in lengths})
    for count in range(1, min(most, len(choices)) + 1):
        sizes = _least_padding(lengths, choices, count)
        if padding_waste(lengths, sizes) <= waste:
            return sizes
    return _least_padding(lengths, choices, most) if choices else ()


def padding_waste(seen: Iterable[int], sizes: Iterable[int]) -> float:
    """The share of all elements along the dimension that would be padding."""
    lengths, ordered = list(seen), sorted(sizes)
    padded = sum(next((size for size in ordered if size >= n), n) for n in lengths)
    return 1 - sum(lengths) / padded if padded else 0.0


def _round_up(size: int) -> int:
    return size if size <= 2 * _COARSE else -(-size // _COARSE) * _COARSE


def _least_padding(lengths: list[int], choices: list[int], most: int) -> tuple[int, ...]:
    """The best cut of the sorted choices into `most` ranges, each padded to its largest.

    best[j] after i rounds = the least padding of all lengths up to choices[j] by i sizes.
    """
    counts = [sum(1 for n in lengths if _round_up(n) <= choice) for choice in choices]
    best: list[tuple[int, tuple[int, ...]]] = [
        (count * choice, (choice,)) for count, choice in zip(counts, choices, strict=True)
    ]
    for _ in range(most - 1):
        step = list(best)
        for start, end in itertools.combinations(range(len(choices)), 2):
            cost = best[start][0] + (counts[end] - counts[start]) * choices[end]
            if cost < step[end][0]:
                step[end] = (cost, (*best[start][1], choices[end]))
        best = step
    return best[-1][1]

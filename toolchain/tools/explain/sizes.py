"""Which sizes to pad to, for a dimension that varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..bucket.sizes import best_sizes

_COARSE = 8  # the multiple that sizes above 16 are rounded up to: what vector units take


def propose_sizes(seen: Iterable[int], most: int = 4, waste: float = 0.2) -> tuple[int, ...]:
    """The fewest sizes to pad to that waste little, or the `most` that waste least.

    Args:
        seen: the sizes that came up, once for each time.
        most: how many programs there may be.
        waste: the share of padding that is little.
    """
    lengths = sorted(size for size in seen if size > 0)
    if not lengths:
        return ()
    for _, sizes in best_sizes(Counter(map(_round_up, lengths)), most):
        found = sizes
        if padding_waste(lengths, found) <= waste:
            break
    return found


def padding_waste(seen: Iterable[int], sizes: Iterable[int]) -> float:
    """The share of all elements along the dimension that would be padding."""
    lengths, ordered = list(seen), sorted(sizes)
    padded = sum(next((size for size in ordered if size >= n), n) for n in lengths)
    return 1 - sum(lengths) / padded if padded else 0.0


def _round_up(size: int) -> int:
    return size if size <= 2 * _COARSE else -(-size // _COARSE) * _COARSE

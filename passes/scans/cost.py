"""Cost conditions of the pass `scans`: when a loop is faster than XLA's windows.

XLA computes an element of a cumulative sum from a window of 16 or 32 elements, on several levels: 2
to 10 ns for each, 300 to 900 for log-sum-exp. A loop computes each element from the one before, one
row at a time. Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: 16
to 100,000 elements along the axis, 1 to 65,536 along the others, the axis first, last and in the
middle; sums, products, maxima and log-sum-exp; f32, bf16 and i32.

The model adds the time of the loops for each choice of blocks and takes the fastest; `Scan`
describes the work, `Plan` the loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from jxc.cost.cpu import (
    CACHE,
    ITERATION,
    TRANSPOSED,
    elements_of_iteration,
    lines_apart,
    running_ns,
)
from jxc.cost.rates import Rate, Rates

XLA_LOG = Rate("running-log-of-xla", "the same as cumlogsumexp, in ns", 320.0)
ROW = Rate("looped-row", "one element of a row added by an iteration of such a loop, in ns", 0.4)
COLUMN = Rate("looped-column", "the same of a column: each is in a row of its own, in ns", 1.7)
LONE = Rate("looped-alone", "the same of a row of its own, 8 elements in an iteration, ns", 1.7)
LOG = Rate("looped-log", "one element of a row in a loop like cumlogsumexp, in ns", 3.0)

SHORTEST = 16
"""Shorter axes are left alone: XLA computes each element with one window."""

LONGEST_SUM = 512
"""Longer sums of floats are computed in blocks: rounding errors add up along a chain."""

BLOCKS = (16, 32, 64, 128)
"""Extents of blocks to choose from."""

CACHED_LINES = 768
"""Columns of more cache lines are evicted from 48 KiB before the next iteration reads them.

Rows that are 2 KiB apart compete for few lines: 512 rows of 512 ran at half the speed of XLA's
windows, 512 rows of 500 at 2.5 times theirs.
"""

UNCACHED = 2.5
"""How many times longer such columns take; 1.5 to 5 were measured."""

_ARRAYS = 4
"""Arrays of all elements that a loop over transposed rows reads or writes."""

GAIN = 1.5
"""How many times faster the loops must be by this model: each compiles 0 to 0.1 s longer."""

LOOP = 10000.0
"""The time that is added to that of each loop, in ns: less gain is not worth compiling it."""


@dataclass(frozen=True)
class Scan:
    """A scan as rows of neighboring elements.

    Attributes:
        outer: product of the extents before the axis.
        length: extent of the axis.
        inner: product of the extents after it: elements that are adjacent in memory.
        bytes: size of an element.
        is_log: whether it is a log-sum-exp.
        is_rounded: whether rounding errors add up.
        is_ordered: whether the elements must be combined one after the other, not in blocks.
    """

    outer: int
    length: int
    inner: int
    bytes: int
    is_log: bool
    is_rounded: bool
    is_ordered: bool


class Level(NamedTuple):
    """A loop that combines the elements of each block, all blocks at once.

    Attributes:
        block: how many elements each block has.
        is_transposed: whether the elements that an iteration combines are made adjacent first; only
            for several rows.
        together: how many elements an iteration combines, one after the other.
    """

    block: int
    is_transposed: bool
    together: int = 1


Plan = tuple[Level, ...]
"""The loop over elements, the loop over their totals, and so on; the last has only one block."""


def plan_of(rates: Rates, scan: Scan) -> Plan | None:
    """The fastest loops, or None where XLA's own windows are about as fast."""
    if scan.length < SHORTEST:
        return None
    ours, plan = _plan(rates, scan)
    elements = scan.outer * scan.length * scan.inner
    windows = rates[XLA_LOG] * elements if scan.is_log else running_ns(rates, elements)
    return plan if windows >= GAIN * ours else None


def _plan(rates: Rates, scan: Scan) -> tuple[float, Plan]:
    """The time of the best loops, in ns, and the loops."""
    blocks = () if scan.is_ordered else BLOCKS
    plans = [_blocked(rates, scan, block) for block in blocks if 2 * block <= scan.length]
    if not plans or not scan.is_rounded or scan.length <= LONGEST_SUM:
        ns, level = _looped(rates, scan)
        plans.append((ns, (level,)))
    return min(plans)


def _looped(rates: Rates, scan: Scan) -> tuple[float, Level]:
    """The time of one loop over the whole axis, and how it runs."""
    elements = scan.outer * scan.length * scan.inner
    if scan.is_ordered and scan.outer * scan.inner == 1:
        together = elements_of_iteration([scan.length], 0)
        return LOOP + rates[LONE] * elements, Level(scan.length, False, together)
    column = rates[COLUMN]
    if scan.outer * lines_apart(scan.length * scan.inner * scan.bytes) > CACHED_LINES:
        column *= UNCACHED
    across = rates[ROW] + (column - rates[ROW]) / scan.inner
    transposed = 2 * rates[TRANSPOSED]
    if _ARRAYS * elements * scan.bytes > CACHE:
        transposed *= UNCACHED
    along = rates[ROW] + transposed
    each = min(across, along) + (rates[LOG] if scan.is_log else 0)
    ns = LOOP + scan.length * rates[ITERATION] + each * elements
    return ns, Level(scan.length, along < across and scan.outer > 1)


def _blocked(rates: Rates, scan: Scan, block: int) -> tuple[float, Plan]:
    """The time of two loops over all blocks at once and a scan of the totals of the first."""
    count = -(-scan.length // block)
    totals, levels = _plan(rates, replace(scan, length=count))
    within, level = _looped(rates, replace(scan, outer=scan.outer * count, length=block))
    each = rates[ROW] + (rates[LOG] if scan.is_log else 0)
    added = LOOP + block * rates[ITERATION] + each * scan.outer * scan.length * scan.inner
    return added + totals + within, (level, *levels)

"""Cost conditions of the pass `scans`: when a loop is faster than XLA's windows.

XLA computes an element of a cumulative sum from a window of 16 or 32 elements, on several levels: 2
to 10 ns for each, 300 to 900 for log-sum-exp. A loop computes each element from the one before, one
row at a time. Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512: 16
to 100,000 elements along the axis, 1 to 65,536 along the others, the axis first, last and in the
middle; sums, products, maxima and log-sum-exp; f32, bf16 and i32.

The model adds the time of the loops for each choice of blocks and takes the fastest; `Scan`
describes the work, `ScanPlan` the loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jxc.cost.cpu import ITERATION, RUNNING, lines_apart
from jxc.cost.rates import Rate, Rates

XLA_LOG = Rate("running-log-of-xla", "the same as cumlogsumexp, in ns", 320.0)
ROW = Rate("looped-row", "one element of a row added by an iteration of such a loop, in ns", 0.4)
COLUMN = Rate("looped-column", "the same of a column: each is in a row of its own, in ns", 1.7)
LOG = Rate("looped-log", "one element of a row in a loop like cumlogsumexp, in ns", 3.0)

SHORTEST = 16
"""Shorter axes are left alone: XLA computes each element with one window."""

LONGEST_SUM = 1024
"""Longer sums of floats are computed in blocks: rounding errors add up along a chain."""

BLOCKS = (16, 32, 64, 128)
"""Extents of blocks to choose from."""

ROWS_AT_ONCE = 32
"""The rows in a group: they stay in the cache while a loop reads them column by column.

20,000 rows of 50 ran 2 to 3 times faster than XLA, 65,536 of 64 3 to 4, 2000 of 1000 4.
"""

CACHED_LINES = 768
"""Columns of more cache lines are evicted from 48 KiB before the next iteration reads them.

Rows that are 2 KiB apart compete for few lines: 512 rows of 512 ran at half the speed of XLA's
windows, 512 rows of 500 at 2.5 times theirs.
"""

UNCACHED = 2.5
"""How many times longer such columns take; 1.5 to 5 were measured."""

GAIN = 1.5
"""How many times faster one loop must be by this model: it compiles 0 to 0.1 s longer."""

GAIN_OF_BLOCKS = 2.0
"""The same for several loops, which compile 0.1 to 0.3 s longer."""

SIMPLER = 2.0
"""One loop is preferred if it takes at most this many times longer than several."""

LOOP = 10000.0
"""The time that is added to that of each loop, in ns: less gain is not worth compiling it."""

LEAST_WORK = 50000.0
"""Scans that take XLA fewer ns are left alone."""


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
    """

    outer: int
    length: int
    inner: int
    bytes: int
    is_log: bool
    is_rounded: bool


@dataclass(frozen=True)
class ScanPlan:
    """The loops that compute a scan.

    Attributes:
        blocks: how many elements the first loop combines, how many totals of those the next one,
            and so on; the last takes all that is left, so that `(length,)` is one loop.
        rows: how many of the `outer` rows are computed at a time.
    """

    blocks: tuple[int, ...]
    rows: int


def plan_of(rates: Rates, scan: Scan) -> ScanPlan | None:
    """The fastest loops, or None where XLA's own windows are about as fast."""
    if scan.length < SHORTEST:
        return None
    ours, blocks = _plan(rates, scan)
    needed, plan = (
        ours * (GAIN if len(blocks) == 1 else GAIN_OF_BLOCKS),
        ScanPlan(blocks, scan.outer),
    )
    if scan.outer > ROWS_AT_ONCE and _may_be_one_loop(scan):
        grouped = GAIN * _grouped(rates, scan)
        if grouped < needed:
            needed, plan = grouped, ScanPlan((scan.length,), ROWS_AT_ONCE)
    theirs = rates[XLA_LOG] if scan.is_log else rates[RUNNING]
    windows = theirs * scan.outer * scan.length * scan.inner
    return plan if windows >= max(LEAST_WORK, needed) else None


def _may_be_one_loop(scan: Scan) -> bool:
    return not scan.is_rounded or scan.length <= LONGEST_SUM


def _plan(rates: Rates, scan: Scan) -> tuple[float, tuple[int, ...]]:
    """The time of the best loops, in ns, and their blocks."""
    plans = [_blocked(rates, scan, block) for block in BLOCKS if 2 * block <= scan.length]
    if not plans or _may_be_one_loop(scan):
        single = _looped(rates, scan), (scan.length,)
        if not plans or single[0] <= SIMPLER * min(plans)[0]:
            return single
    return min(plans)


def _looped(rates: Rates, scan: Scan) -> float:
    column = rates[COLUMN]
    if scan.outer * lines_apart(scan.length * scan.inner * scan.bytes) > CACHED_LINES:
        column *= UNCACHED
    each = rates[ROW] + (column - rates[ROW]) / scan.inner
    if scan.is_log:
        each += rates[LOG]
    return LOOP + scan.length * (rates[ITERATION] + each * scan.outer * scan.inner)


def _blocked(rates: Rates, scan: Scan, block: int) -> tuple[float, tuple[int, ...]]:
    """The time of a loop over all blocks at once, a scan of their totals, and their combination."""
    count = -(-scan.length // block)
    totals, blocks = _plan(rates, replace(scan, length=count))
    within = _looped(rates, replace(scan, outer=scan.outer * count, length=block))
    each = rates[ROW] + (rates[LOG] if scan.is_log else 0)
    combined = each * scan.outer * scan.length * scan.inner
    return within + totals + combined, (block, *blocks)


def _grouped(rates: Rates, scan: Scan) -> float:
    """The time of a loop for each group of rows, which are copied out and back."""
    groups = -(-scan.outer // ROWS_AT_ONCE)
    copied = 2 * rates[ROW] * scan.outer * scan.length * scan.inner
    return groups * (_looped(rates, replace(scan, outer=ROWS_AT_ONCE)) - LOOP) + copied + 2 * LOOP

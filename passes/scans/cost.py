"""Where a loop beats XLA's windows for running sums on CPU, and in which blocks.

XLA computes an element of a running sum from a window of 16 or 32 elements, on several levels: 2 to
10 ns for each, 300 to 900 for a logarithm of sums of exponentials. A loop computes each from the
one before, a row at a time. Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores
with AVX-512: 16 to 100,000 elements along the axis, 1 to 65,536 beside it, the axis first, last and
between; sums, products, maxima and logarithms of sums of exponentials; f32, bf16 and i32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...cost.rates import Rate, Rates

XLA_SUM = Rate("running-sum-of-xla", "one element of stablehlo.reduce_window as cumsum, in ns", 6.0)
XLA_LOG = Rate("running-log-of-xla", "the same as cumlogsumexp, in ns", 320.0)
TURN = Rate("turn-of-a-loop", "a turn of stablehlo.while that adds 16 elements, in ns", 20.0)
ROW = Rate("looped-row", "one element of a row added by a turn of such a loop, in ns", 0.4)
COLUMN = Rate("looped-column", "the same of a column: each is in a row of its own, in ns", 1.7)
LOG = Rate("looped-log", "one element of a row in a loop like cumlogsumexp, in ns", 3.0)

SHORTEST = 16
"""Shorter axes are left alone: XLA takes one window for each element, and a loop to compile."""

LONGEST_SUM = 1024
"""Longer sums of floats are taken in blocks: one after the other, their errors would add up."""

BLOCKS = (16, 32, 64, 128)
"""Extents of blocks to choose from."""

ROWS_AT_ONCE = 32
"""So many rows stay in the cache while a loop goes along their columns: a loop over such groups.

20,000 rows of 50 ran 2 to 3 times faster than XLA, 65,536 of 64 3 to 4, 2000 of 1000 4.
"""

LINE = 64
"""Bytes that a cache takes at once."""

PAGE = 4096
"""Addresses so many bytes apart, and a power of two less, compete for places in the cache."""

LINES_OF_A_PAGE = 3
"""Rows so long that each is in a page of its own: the table of pages overflows before the cache."""

CACHED_LINES = 2000
"""Columns that take more lines are out of the cache before the next turn reads on."""

UNCACHED = 2.5
"""How many times as long such columns take: 1.5 to 5."""

GAIN = 1.5
"""How many times faster one loop must come out, by these figures: it compiles 0 to 0.1 s longer."""

GAIN_OF_BLOCKS = 2.0
"""The same for several loops, which compile 0.1 to 0.3 s longer."""

SIMPLER = 2.0
"""One loop may take so many times as long as several, which compile longer."""

LOOP = 10000.0
"""What a loop must gain to be worth compiling rather than another turn of the next one, in ns."""

LEAST_WORK = 50000.0
"""What takes XLA fewer ns is not worth a loop to compile."""


@dataclass(frozen=True)
class Scan:
    """What is to be scanned, as rows of neighbouring elements.

    Attributes:
        outer: extents before the axis, multiplied.
        length: extent of the axis.
        inner: extents after it, multiplied: elements that lie side by side.
        bytes: size of an element.
        is_log: whether logarithms of sums of exponentials are combined.
        is_rounded: whether errors add up.
    """

    outer: int
    length: int
    inner: int
    bytes: int
    is_log: bool
    is_rounded: bool


@dataclass(frozen=True)
class Plan:
    """Which loops compute a scan.

    Attributes:
        blocks: how many elements the first loop combines, how many totals of those the next, and so
            on; the last takes all that is left, so `(length,)` is one loop.
        rows: how many of the `outer` rows are taken at a time.
    """

    blocks: tuple[int, ...]
    rows: int


def plan_of(rates: Rates, scan: Scan) -> Plan | None:
    """The loops that are fastest, or None where XLA's own windows are about as fast."""
    if scan.length < SHORTEST:
        return None
    ours, blocks = _plan(rates, scan)
    needed, plan = ours * (GAIN if len(blocks) == 1 else GAIN_OF_BLOCKS), Plan(blocks, scan.outer)
    if scan.outer > ROWS_AT_ONCE and _may_be_one_loop(scan):
        grouped = GAIN * _grouped(rates, scan)
        if grouped < needed:
            needed, plan = grouped, Plan((scan.length,), ROWS_AT_ONCE)
    theirs = rates[XLA_LOG] if scan.is_log else rates[XLA_SUM]
    windows = theirs * scan.outer * scan.length * scan.inner
    return plan if windows >= max(LEAST_WORK, needed) else None


def _may_be_one_loop(scan: Scan) -> bool:
    return not scan.is_rounded or scan.length <= LONGEST_SUM


def _plan(rates: Rates, scan: Scan) -> tuple[float, tuple[int, ...]]:
    """What the best loops take, in ns, and their blocks."""
    plans = [_blocked(rates, scan, block) for block in BLOCKS if 2 * block <= scan.length]
    if not plans or _may_be_one_loop(scan):
        single = _looped(rates, scan), (scan.length,)
        if not plans or single[0] <= SIMPLER * min(plans)[0]:
            return single
    return min(plans)


def _looped(rates: Rates, scan: Scan) -> float:
    column = rates[COLUMN]
    if scan.outer * _lines_apart(scan.length * scan.inner * scan.bytes) > CACHED_LINES:
        column *= UNCACHED
    each = rates[ROW] + (column - rates[ROW]) / scan.inner
    if scan.is_log:
        each += rates[LOG]
    return LOOP + scan.length * (rates[TURN] + each * scan.outer * scan.inner)


def _blocked(rates: Rates, scan: Scan, block: int) -> tuple[float, tuple[int, ...]]:
    """A loop over all blocks at once, their totals scanned, and those combined with each."""
    count = -(-scan.length // block)
    totals, blocks = _plan(rates, replace(scan, length=count))
    within = _looped(rates, replace(scan, outer=scan.outer * count, length=block))
    each = rates[ROW] + (rates[LOG] if scan.is_log else 0)
    spread = each * scan.outer * scan.length * scan.inner
    return within + totals + spread, (block, *blocks)


def _grouped(rates: Rates, scan: Scan) -> float:
    """One loop for every few rows: these are copied out, and what it gives is copied back."""
    groups = -(-scan.outer // ROWS_AT_ONCE)
    copied = 2 * rates[ROW] * scan.outer * scan.length * scan.inner
    return groups * (_looped(rates, replace(scan, outer=ROWS_AT_ONCE)) - LOOP) + copied + 2 * LOOP


def _lines_apart(distance: int) -> int:
    """How many lines of the cache each of many rows takes up, `distance` bytes from the next."""
    competing = max(min(distance & -distance, PAGE) // LINE, 1)
    return max(competing, LINES_OF_A_PAGE) if distance > PAGE // 2 else competing

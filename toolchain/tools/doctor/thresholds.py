"""Minimum sizes below which a finding is not reported, where several checks use them."""

from __future__ import annotations

MIN_BYTES = 1 << 20
"""Bytes of a value that is written, copied, held or captured without need."""

MIN_WIDENED_BYTES = 1 << 16
"""Bytes of values whose elements are wider than necessary. The ops that read them widen too."""

MIN_TIME_SHARE = 0.005
"""Share of the program's time by the roofline."""

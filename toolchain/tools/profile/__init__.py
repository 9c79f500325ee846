"""Measured time by line of Python, layer, kernel and program: `jxc profile`.

`recording.py` runs jaxlib's profiler, a listener for compilations and a sampler of Python's stack
while a program runs; these and the reader of the trace are in `jxc.events`. `spans.py` divides the
wall clock between everything that was active, by `jxc.events.wall`. `programs.py` joins kernels
with the optimized HLO, `build.py` adds up the rows, `profile.py` holds the result, `changes.py`
measures the cost of recording and the effect of O2, and `presentation.py` prints the tables.

`tracks.py` has everything that was active as tracks of events. `page.py` draws them and the tree of
`flame.py` as an HTML page, `perfetto.py` writes them as a trace.
"""

from __future__ import annotations

SCHEMA_VERSION = 2
"""The version of the object that `jxc profile --json` writes."""

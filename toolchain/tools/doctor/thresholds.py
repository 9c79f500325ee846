"""From what size on a finding is worth a word: below, nobody would notice that it is gone."""

from __future__ import annotations

LEAST_BYTES = 1 << 20
"""Of a value that is written, copied, held or captured without need."""

LEAST_WIDENED = 1 << 16
"""Bytes of a value whose elements are wider than they need to be; what follows is as wide."""

LEAST_DEAD = 1 << 16
"""Bytes of an output that tells nothing: it is written at each call."""

LEAST_SHARE = 0.02
"""Of a program's time by the roofline."""

LEAST_SHARE_OF_GATHERS = 0.01
"""The same for gathers, which are far from the roofline: they move an element at a time."""

LEAST_SHARE_OF_MEMORY = 0.05
"""Of a program's memory at the peak."""

LEAST_REPEATS = 4
"""Of the same equations in a row: below, a loop saves little and hides what is going on."""

LEAST_REPEATED = 100
"""Equations that a loop would leave out: XLA:CPU takes about 1.3 ms for each."""

LEAST_SHARE_OF_LIBRARY = 0.5
"""Of a program's equations, what a library's loop must repeat: the user cannot change a part."""

LEAST_SECONDS_OF_LIBRARY = 5.0
"""Of compiling that a library's loop costs."""

LEAST_TURNS = 64
"""Of a loop whose overhead matters."""

OVERHEAD_RATIO = 4
"""How many times as long the start of kernels takes as the work in them, in a tiny loop body."""

LEAST_OVERHEAD = 1e-4
"""Seconds in one run that a loop's overhead takes."""

LEAST_GAIN = 0.1
"""Of a run's measured time, what passes must save for an op to be called slow."""

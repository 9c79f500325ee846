"""Minimum sizes below which a finding is not reported."""

from __future__ import annotations

MIN_BYTES = 1 << 20
"""Bytes of a value that is written, copied, held or captured without need."""

MIN_WIDENED_BYTES = 1 << 16
"""Bytes of values whose elements are wider than necessary. The ops that read them widen too."""

MIN_OUTPUT_BYTES = 1 << 16
"""Bytes of an output that carries no information; it is written at each call."""

MIN_TIME_SHARE = 0.005
"""Share of the program's time by the roofline."""

MIN_GATHER_TIME_SHARE = 0.01
"""The same for gathers. They move one element at a time and run far below the roofline."""

MIN_MEMORY_SHARE = 0.05
"""Share of the program's peak memory."""

MIN_REPEATS = 4
"""Repetitions of the same equations. For fewer, a loop saves little and is harder to read."""

MIN_REPEATED_EQUATIONS = 100
"""Equations that a loop would leave out. XLA:CPU compiles one in about 1.3 ms."""

MIN_LIBRARY_SHARE = 0.5
"""Share of a program's equations that a library's loop repeats. The user cannot change part of
a library."""

MIN_LIBRARY_COMPILE_SECONDS = 5.0
"""Seconds of compiling that a library's loop costs."""

MIN_ITERATIONS = 64
"""Iterations of a loop whose overhead matters."""

MIN_OVERHEAD_RATIO = 4
"""Ratio of kernel launch time to kernel work, in the body of a tiny loop."""

MIN_OVERHEAD_SECONDS = 1e-4
"""Seconds of one run that a loop spends on kernel launches."""

MIN_GAIN = 0.1
"""Share of a run that our passes must save before an op is called slow."""

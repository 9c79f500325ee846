"""What JAX traces, lowers and compiles while a program runs, and why it does so again.

`compilations.py` matches JAX's events (`jxc.events.listener`) to compilations.
`calls.py` and `functions.py` describe what a call depends on, `differences.py` compares two calls,
`reasons.py` and `groups.py` word the result, and `tracing.py` finds side effects of tracing and
explains its errors. `log.py` is the Python API, `presentation.py` prints the table, and `page.py`
writes the page.
"""

from __future__ import annotations

SCHEMA_VERSION = 1
"""The version of the object that `jxc explain --json` writes."""

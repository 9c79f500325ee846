"""Nothing to measure: what scatters gain does not hang on the machine."""

from __future__ import annotations

from . import Probe

PROBES: list[Probe] = []

"""What was compiled while somebody was listening."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from ..pipeline import Report


@dataclass(frozen=True)
class Compilation:
    """One program that a pipeline rewrote on its way to XLA.

    Attributes:
        name: the module's, such as "jit_step".
        pipeline: the name under which it was lowered.
        report: what each pass did.
        ops_before: ops in the module that JAX lowered.
        ops_after: ops in the one that XLA got.
    """

    name: str
    pipeline: str
    report: Report
    ops_before: int
    ops_after: int


@dataclass
class Log:
    """The programs compiled on one thread while a block was open, inner blocks' too, in order."""

    compilations: list[Compilation] = field(default_factory=list)
    thread: int = field(default_factory=threading.get_ident, repr=False)

    @property
    def hits(self) -> Counter[str]:
        """How often each rule fired, over all programs."""
        return sum((Counter(c.report.hits) for c in self.compilations), Counter())


_open: list[Log] = []


def start(log: Log) -> None:
    """Let `log` hear of what its thread compiles."""
    _open.append(log)


def stop(log: Log) -> None:
    """Let `log` hear no more."""
    _open[:] = [each for each in _open if each is not log]


def tell(done: Compilation) -> None:
    """Tell the logs of this thread."""
    thread = threading.get_ident()
    for log in list(_open):
        if log.thread == thread:
            log.compilations.append(done)

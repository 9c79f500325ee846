"""What was compiled while somebody was listening."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from jaxlib.mlir import ir

from ..ir import write_text
from ..pipeline import Report, Step, StepReport


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


def text_to_read(module: ir.Module) -> str:
    """A module with its locations; constants of more than 16 elements are left out."""
    return write_text(module, debug_info=True, elide_larger_than=16)


@dataclass
class Passes:
    """What passes did to one program on its way to XLA, whether or not they came to an end.

    As an instrument of a pipeline it keeps the module's text after each pass that changed it.

    Attributes:
        seconds: all that they took, copying and verifying the module too.
        texts: the name of each pass that changed the module, and its text after it.
        seconds_writing: what writing these texts took; not a part of `seconds`.
    """

    seconds: float = 0.0
    texts: list[tuple[str, str]] = field(default_factory=list)
    seconds_writing: float = 0.0
    _last: str = ""

    def before(self, step: Step, module: ir.Module) -> None:
        if not self._last:
            self._last = self._text(module)

    def after(self, step: Step, module: ir.Module, report: StepReport) -> None:
        if report.rules and not any(count.hits for count in report.rules):
            return
        text = self._text(module)
        if text != self._last:
            self.texts.append((step.name, text))
            self._last = text

    def _text(self, module: ir.Module) -> str:
        start = perf_counter()
        text = text_to_read(module)
        self.seconds_writing += perf_counter() - start
        return text


@dataclass
class PassesHeard:
    """Who wants to hear of passes on any thread.

    Attributes:
        tell: called where passes have run, before XLA gets the program.
        keep_texts: whether somebody wants the module after each pass.
    """

    tell: Callable[[Passes], None] | None = None
    keep_texts: bool = False


passes_heard = PassesHeard()

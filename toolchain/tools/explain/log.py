"""`jxc.explain()` and `jxc.assert_compiles(n)`: recording, and what was recorded."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ...errors import JxcError, UsageError
from . import SCHEMA_VERSION
from .calls import Call
from .effects import Effect, hearing_prints
from .failures import Failure
from .groups import Group, Row, groups_of, rows_of
from .listen import Recording
from .reasons import reason_for
from .recorder import listening
from .records import Compilation

_COMPARED = 32
"""How many earlier calls of a function are looked at for the nearest: the latest."""


class Log:
    """What a program made JAX trace, lower and compile, on all threads.

    Readable while it is recorded, too.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._explained: set[int] = set()
        self._earlier: dict[Hashable, list[tuple[int, Call]]] = {}

    @property
    def compilations(self) -> list[Compilation]:
        """Every program, in the order in which they began, each with the reason if it came again.

        What was traced and not compiled, by `jax.eval_shape` say, is among them.
        """
        found = list(self._recording.compilations)
        for each in found:
            if each.is_compiled and each.number not in self._explained:
                self._explained.add(each.number)
                self._explain(each, self._recording.calls[each.number])
        return found

    def _explain(self, compilation: Compilation, call: Call) -> None:
        earlier = self._earlier.setdefault(call.key, [])
        looked_at = earlier[-1:] if compilation.is_eager else earlier[-_COMPARED:]
        lines = {number: line for number, _ in looked_at if (line := self._line(number))}
        here = self._line(compilation.number)
        elsewhere = {number: line for number, line in lines.items() if line != here}
        compilation.reason = reason_for(call, looked_at, elsewhere)
        earlier.append((compilation.number, call))

    def _line(self, number: int) -> str:
        """The user's line that called for a program; empty where it is not known."""
        called = self._recording.compilations[number - 1].called
        return str(called) if called else ""

    @property
    def rows(self) -> list[Row]:
        """What cost how much: by function and line, the costliest first."""
        return rows_of(self.compilations)

    @property
    def groups(self) -> list[Group]:
        """Why programs were compiled again, the costliest reason first."""
        return groups_of(self.compilations, self._recording.calls)

    @property
    def effects(self) -> list[Effect]:
        """What Python did while functions were traced, and does not at their calls."""
        return list(self._recording.effects.found.values())

    @property
    def failures(self) -> list[Failure]:
        """Traces that ended in an error about traced values."""
        return list(self._recording.failures)

    @property
    def hits(self) -> Mapping[str, int]:
        """How often a function that was jitted anew was known to JAX already, by its name."""
        return Counter(self._recording.hits)

    def failed(self, error: BaseException) -> None:
        """The program ended in `error`: outside of any jit, it is heard of only here."""
        self._recording.failed(error, program, (), {})

    def __str__(self) -> str:
        """How many programs there were, and what to do about those that came again."""
        compiled = [each for each in self.compilations if each.is_compiled]
        seconds = sum(sum(each.seconds.values()) for each in compiled)
        said: list[Group | Effect | Failure] = [*self.groups, *self.effects, *self.failures]
        lines = [f"- {each.sentence.removesuffix('.')}. {each.fix}" for each in said]
        return "\n".join([f"{_programs(len(compiled))} compiled in {seconds:.3g} s", *lines])

    def as_json(self) -> dict[str, Any]:
        """All of it as one object; seconds by stage, bytes in bytes."""
        compilations = self.compilations
        return {
            "schema_version": SCHEMA_VERSION,
            "compiled": sum(each.is_compiled for each in compilations),
            "seconds": sum(sum(each.seconds.values()) for each in compilations),
            "compilations": [each.as_json() for each in compilations],
            "rows": [each.as_json() for each in self.rows],
            "reasons": [each.as_json() for each in self.groups],
            "effects": [each.as_json() for each in self.effects],
            "failures": [each.as_json() for each in self.failures],
            "hits": dict(self.hits),
        }


class explain:
    """Record what the block makes JAX trace, lower and compile, on all threads, and why.

        with jxc.explain() as log:
            train()
        for group in log.groups:
            print(group.sentence, group.fix)

    Calls that JAX's caches know are as quick as ever.

    Args:
        keep_texts: keep each program's jaxpr, StableHLO and optimised HLO, for a page.

    Raises:
        JxcError: on entering, where this jax is not one that can be listened to.
    """

    def __init__(self, *, keep_texts: bool = False) -> None:
        self._keep_texts = keep_texts
        self._open: list[contextlib.ExitStack] = []

    def __enter__(self) -> Log:
        recording = Recording(keep_texts=self._keep_texts)
        with contextlib.ExitStack() as stack:
            stack.enter_context(listening(recording))
            stack.enter_context(hearing_prints(recording.heard_print))
            stack.callback(recording.finish)
            self._open.append(stack.pop_all())
        return Log(recording)

    def __exit__(self, *exc: Any) -> None:
        self._open.pop().close()


class TooManyCompilations(JxcError, AssertionError):
    """A block compiled more, or fewer, programs than was said; `log` has them."""

    log: Log


class assert_compiles(contextlib.ContextDecorator):
    """See that the block, or the function, compiles so many programs, on all threads together.

        with jxc.assert_compiles(0):
            step(params, batch)

    Args:
        exactly: how many.
        at_most: how many at most, instead.
        eager: whether single operations outside of any jit count.

    Raises:
        TooManyCompilations: an `AssertionError` that names what was compiled, where, and why.
        UsageError: neither number is given, or both are.
    """

    def __init__(
        self, exactly: int | None = None, /, *, at_most: int | None = None, eager: bool = True
    ) -> None:
        if (exactly is None) == (at_most is None):
            raise UsageError("expected assert_compiles(N) or assert_compiles(at_most=N)")
        self._exactly, self._at_most, self._eager = exactly, at_most, eager
        self._explain = explain()
        self._logs: list[Log] = []

    def __enter__(self) -> Log:
        self._logs.append(self._explain.__enter__())
        return self._logs[-1]

    def __exit__(self, kind: type[BaseException] | None, *exc: Any) -> None:
        __tracebackhide__ = True  # pytest shows the user's own line
        self._explain.__exit__(kind, *exc)
        log = self._logs.pop()
        if kind is not None:
            return
        compiled = [each for each in log.compilations if each.is_compiled]
        counted = [each for each in compiled if self._eager or not each.is_eager]
        if self._at_most is not None and len(counted) > self._at_most:
            raise _miscounted(f"at most {_programs(self._at_most)}", counted, log)
        if self._exactly is not None and len(counted) != self._exactly:
            raise _miscounted(_programs(self._exactly), counted, log)


def _programs(count: int) -> str:
    return {0: "no program", 1: "one program"}.get(count, f"{count} programs")


def _miscounted(expected: str, found: Sequence[Compilation], log: Log) -> TooManyCompilations:
    lines = [f"expected {expected} to be compiled, found {len(found)}"]
    for each in found[:_NAMED]:
        types = ", ".join(f"{name}: {type_}" for name, type_ in each.arguments.items())
        where = f" at {each.called}" if each.called else ""
        lines.append(f"  {each.number}. {each.function}({_cut(types)}){where}")
        if each.reason and not each.is_eager:
            lines.append(f"     {each.reason.sentence}. {each.reason.fix}")
    if len(found) > _NAMED:
        lines.append(f"  and {len(found) - _NAMED} more")
    error = TooManyCompilations("\n".join(lines))
    error.log = log
    return error


_NAMED = 10


def _cut(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def program() -> None:
    """Stands for a whole program where an error is not of one function."""

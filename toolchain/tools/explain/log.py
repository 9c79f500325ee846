"""`jxc.explain()` and `jxc.assert_compiles(n)`: recording a block, and the log of it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ...backend.children import ChildProcess
from ...backend.jax_state import own_process_id
from ...errors import JxcError, UsageError
from ...events.listener import listening
from . import SCHEMA_VERSION
from .calls import JitCall
from .compilations import Compilation, Recording
from .groups import CompilationRow, RecompilationGroup, groups_of, rows_of
from .reasons import reason_for
from .tracing import FailedTrace, SideEffect, watching_prints

_MAX_EARLIER_CALLS = 32  # of a function that a call is compared with: the latest
_MAX_LISTED = 10  # programs in an error message
_MAX_TYPES = 100  # characters of a program's argument types


class ExplainLog:
    """What JAX traced, lowered and compiled in a `with jxc.explain()` block, on all threads.

    `print(log)` prints the table of `jxc explain`. It can be read while the block runs, too.

    Attributes:
        children: child processes that compiled programs, which are not recorded; `jxc explain` sets
            it.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.children: Sequence[ChildProcess] = ()
        self._explained: set[int] = set()
        self._earlier: dict[Hashable, list[tuple[int, JitCall]]] = {}

    @property
    def compilations(self) -> list[Compilation]:
        """Every program, in the order in which they began; those compiled again have a reason.

        It includes programs that were only traced, by `jax.eval_shape` for instance.
        """
        found = list(self._recording.compilations)
        for each in found:
            if each.is_compiled and each.number not in self._explained:
                self._explained.add(each.number)
                self._add_reason(each, self._recording.calls[each.number])
        return found

    def _add_reason(self, compilation: Compilation, call: JitCall) -> None:
        earlier = self._earlier.setdefault(call.key, [])
        compared = earlier[-1:] if compilation.is_eager else earlier[-_MAX_EARLIER_CALLS:]
        lines = {number: self._recording.compilations[number - 1].called for number, _ in compared}
        elsewhere = {
            number: str(line)
            for number, line in lines.items()
            if line and str(line) != str(compilation.called)
        }
        compilation.reason = reason_for(call, compared, elsewhere)
        earlier.append((compilation.number, call))

    @property
    def rows(self) -> list[CompilationRow]:
        """The time by function and line, the longest first."""
        return rows_of(self.compilations)

    @property
    def groups(self) -> list[RecompilationGroup]:
        """Why programs were compiled again, the longest time first."""
        return groups_of(self.compilations, self._recording.calls)

    @property
    def effects(self) -> list[SideEffect]:
        """Side effects of tracing, which do not happen when compiled programs run."""
        return list(self._recording.effects.values())

    @property
    def failures(self) -> list[FailedTrace]:
        """Traces that ended in an error about a traced value."""
        return list(self._recording.failures)

    @property
    def hits(self) -> Mapping[str, int]:
        """How often JAX reused a trace for a function that was jitted anew, by its name.

        These are not all hits of JAX's cache: calls of the same jitted function are not recorded.
        """
        return Counter(self._recording.hits)

    def failed(self, error: BaseException) -> None:
        """Record the error that ended the program; outside of any jit, no event reports it."""
        self._recording.failed(error, program, (), {})

    def __repr__(self) -> str:
        compiled = [each for each in self.compilations if each.is_compiled]
        seconds = sum(each.total for each in compiled)
        again = sum(each.reason is not None for each in compiled)
        took = f" in {seconds:.3g} s" if compiled else ""
        more = f", {again} of them again" if again else ""
        return f"<jxc.explain log: {_programs(len(compiled))} compiled{took}{more}>"

    def table(self, *, all_rows: bool = False, plain: bool = False) -> str:
        """The text that `jxc explain` prints.

        Args:
            all_rows: list every line of the table.
            plain: without colours, even if standard error is a terminal.
        """
        from .presentation import table

        found = self.rows, self.groups, self.effects, self.failures
        return table(*found, children=self.children, all_rows=all_rows, plain=plain)

    def __str__(self) -> str:
        return self.table(plain=True).rstrip("\n")

    def _repr_html_(self) -> str:
        from ...display.console import HtmlConsole
        from ...display.fragment import fragment
        from .presentation import print_log

        console = HtmlConsole()
        print_log(console, self.rows, self.groups, self.effects, self.failures)
        return fragment("", (), console.parts)

    @property
    def process(self) -> int:
        """The number of this process in `jax.distributed`; 0 without."""
        return own_process_id()

    def as_json(self) -> dict[str, Any]:
        """All of it as one object; times in seconds, sizes in bytes."""
        compilations = self.compilations
        return {
            "schema_version": SCHEMA_VERSION,
            "process": self.process,
            "compiled": sum(each.is_compiled for each in compilations),
            "seconds": sum(each.total for each in compilations),
            "compilations": [each.as_json() for each in compilations],
            "rows": [each.as_json() for each in self.rows],
            "reasons": [each.as_json() for each in self.groups],
            "effects": [each.as_json() for each in self.effects],
            "failures": [each.as_json() for each in self.failures],
            "hits": dict(self.hits),
            "children": [each.as_json() for each in self.children],
        }


class explain:
    """Record what JAX traces, lowers and compiles in a block, on all threads, and explain why.

        with jxc.explain() as log:
            train()
        print(log)                  # the table of `jxc explain`
        for group in log.groups:    # why programs were compiled again
            print(group.sentence, group.fix)

    Calls that hit JAX's caches have no overhead.

    Args:
        keep_texts: keep the jaxpr, StableHLO and optimized HLO of each program.

    Raises:
        JxcError: on entering, if this version of jax cannot be recorded.
    """

    def __init__(self, *, keep_texts: bool = False) -> None:
        self._keep_texts = keep_texts
        self._open: list[contextlib.ExitStack] = []

    def __repr__(self) -> str:
        return f"jxc.explain(keep_texts={self._keep_texts})"

    def __enter__(self) -> ExplainLog:
        recording = Recording(keep_texts=self._keep_texts)
        with contextlib.ExitStack() as stack:
            stack.enter_context(listening(recording))
            stack.enter_context(watching_prints(recording.printed))
            stack.callback(recording.finish)
            self._open.append(stack.pop_all())
        return ExplainLog(recording)

    def __exit__(self, *exc: object) -> None:
        self._open.pop().close()


class TooManyCompilations(JxcError, AssertionError):
    """A block compiled more, or fewer, programs than `assert_compiles` allows; `log` lists them."""

    log: ExplainLog


class assert_compiles(contextlib.ContextDecorator):
    """Check how many programs a block, or a decorated function, compiles, on all threads together.

        with jxc.assert_compiles(0):
            step(params, batch)

    What JAX's caches hold from before the block is not compiled again and does not count.

    Args:
        exactly: the number of programs.
        at_most: the largest number of programs, instead.
        eager: whether single operations outside of any jit count.

    Raises:
        TooManyCompilations: an `AssertionError` that names what was compiled, where, and why.
        UsageError: neither number is given, or both are.
    """

    def __init__(
        self, exactly: int | None = None, /, *, at_most: int | None = None, eager: bool = True
    ) -> None:
        given = exactly if at_most is None else at_most
        if (exactly is None) == (at_most is None) or not isinstance(given, int):
            raise UsageError("expected assert_compiles(N) or assert_compiles(at_most=N)")
        self._exactly, self._at_most, self._eager = exactly, at_most, eager
        self._explain = explain()
        self._logs: list[ExplainLog] = []

    def __repr__(self) -> str:
        number = str(self._exactly) if self._at_most is None else f"at_most={self._at_most}"
        return f"jxc.assert_compiles({number}, eager={self._eager})"

    def __enter__(self) -> ExplainLog:
        self._logs.append(self._explain.__enter__())
        return self._logs[-1]

    def __exit__(self, kind: type[BaseException] | None, *exc: Any) -> None:
        __tracebackhide__ = True  # pytest shows the user's line
        self._explain.__exit__()
        log = self._logs.pop()
        if kind is not None:
            return
        compiled = [each for each in log.compilations if each.is_compiled]
        counted = [each for each in compiled if self._eager or not each.is_eager]
        if problems := wrong_count(counted, self._exactly, self._at_most):
            error = TooManyCompilations("\n".join(problems))
            error.log = log
            raise error


def wrong_count(
    compiled: Sequence[Compilation], exactly: int | None, at_most: int | None
) -> list[str]:
    """The lines of a message that lists programs, if their number is not as expected."""
    count = len(compiled)
    if at_most is not None and count > at_most:
        expected = f"at most {_programs(at_most)}"
    elif exactly is not None and count != exactly:
        expected = _programs(exactly)
    else:
        return []
    lines = [f"expected {expected} to be compiled, found {count}"]
    for position, each in enumerate(compiled[:_MAX_LISTED], 1):
        types = ", ".join(f"{name}: {type_}" for name, type_ in each.arguments.items())
        types = types if len(types) <= _MAX_TYPES else f"{types[: _MAX_TYPES - 1]}…"
        where = f" at {each.called}" if each.called else ""
        lines.append(f"  {position}. {each.function}({types}){where}")
        if each.reason and not each.is_eager:
            lines.append(f"     {each.reason.sentence}. {each.reason.fix}")
    return [*lines, f"  and {count - _MAX_LISTED} more"] if count > _MAX_LISTED else lines


def _programs(count: int) -> str:
    return {0: "no program", 1: "one program"}.get(count, f"{count} programs")


def program() -> None:
    """Stands for the whole program in errors that no traced function raised."""

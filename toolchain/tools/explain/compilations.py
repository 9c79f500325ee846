"""Compilations from the events of JAX: each lowering and executable is matched to its trace.

JAX does not say which function a module or an executable came from. A lowering is matched to its
trace by the identity of the jaxpr, and an executable to its lowering by the identity of the module.
A jaxpr that was never traced here is the derivative, or another transformation, of a function that
was; JAX gives both the same source.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...backend import jax_state
from ...backend.log import ProgramTexts, text_to_read
from ...compiled.memory import peak_bytes
from ...errors import JxcError
from ...events.listener import CompileEvent, LoweringEvent, TraceEvent
from ...hlo import parse_hlo
from ...hlo.work import executed, totals_of
from ...ir import count_ops
from ...ir.module import module_name
from ...source import SourceLine
from .calls import JitCall, call_of, derived_call, lowered_call, static_values
from .functions import JitFunction, describe_function, is_users, name_of, unwrapped
from .tracing import (
    FailedTrace,
    SideEffect,
    WatchedVariable,
    changes,
    failure_of,
    variables_of,
)

if TYPE_CHECKING:
    from .reasons import Reason


@dataclass
class Compilation:
    """One program that JAX traced, and usually lowered and compiled.

    Attributes:
        number: from 1, in the order in which programs began.
        function: its name, as the user wrote it.
        defined: the line on which the function is defined.
        called: the user's line that called it.
        arguments: the type of each array argument, such as {"x": "f32[8,128]"}.
        static: the value of each static argument, as text.
        started: seconds since recording began.
        seconds: by stage, in order: "trace", "lower", "passes", "compile" or "load".
        ops: StableHLO ops as JAX lowered it; None if it was not lowered.
        peak_bytes: memory of the executable: arguments, results and temporaries; None if unknown.
        temporary_bytes: the part that is neither argument nor result; None if unknown.
        cache_key: of JAX's persistent cache; empty if that is off.
        from_cache: whether the executable came from the persistent cache.
        reason: why the function was compiled again; None for the first time.
        hlo: the optimized HLO, large constants elided; empty if it was not compiled.
        texts: the program at each stage; None if texts are not kept.
        is_eager: whether it is a single JAX operation, called outside of any jit.
        thread: the name of the thread.
    """

    number: int
    function: str
    defined: SourceLine | None = None
    called: SourceLine | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    static: Mapping[str, str] = field(default_factory=dict)
    started: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    ops: int | None = None
    peak_bytes: int | None = None
    temporary_bytes: int | None = None
    cache_key: str = ""
    from_cache: bool = False
    reason: Reason | None = None
    hlo: str = field(default="", repr=False)
    texts: ProgramTexts | None = None
    is_eager: bool = False
    thread: str = ""

    @property
    def is_compiled(self) -> bool:
        """Whether there is an executable; `jax.eval_shape`, for one, only traces."""
        return "compile" in self.seconds or "load" in self.seconds

    @property
    def total(self) -> float:
        """Seconds in all stages."""
        return sum(self.seconds.values())

    @property
    def signature(self) -> str:
        """Types of arguments and values of static ones, in one line."""
        static = {name: f"{value} (static)" for name, value in self.static.items()}
        return ", ".join(f"{name}: {text}" for name, text in {**self.arguments, **static}.items())

    @cached_property
    def flops(self) -> float | None:
        """Of one run, counted in the optimized HLO as `jxc report` does; None if unknown."""
        try:
            return totals_of(executed(parse_hlo(self.hlo))).flops if self.hlo else None
        except JxcError:  # HLO that jxc cannot parse
            return None

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in self.arguments.items())
        where = f" at {self.called}" if self.called else ""
        return f"<Compilation {self.number}: {self.function}({arguments}){where}>"

    def as_json(self) -> dict[str, Any]:
        """Everything but the texts."""
        omitted = ("texts", "hlo", "is_eager")
        fields = {name: value for name, value in vars(self).items() if name not in omitted}
        return fields | {
            "defined": str(self.defined) if self.defined else None,
            "called": str(self.called) if self.called else None,
            "arguments": dict(self.arguments),
            "static": dict(self.static),
            "seconds": dict(self.seconds),
            "flops": self.flops,
            "reason": asdict(self.reason) if self.reason else None,
            "eager": self.is_eager,
        }


@dataclass
class _TracedProgram:
    """A compilation in progress.

    Attributes:
        compilation: the record.
        call: the call that it was traced for.
        source: the function as JAX's messages name it.
        latest_call: the latest call that reused the trace, with its own options.
        jaxpr: the result of the trace.
        is_lowered: whether a lowering was matched to it.
    """

    compilation: Compilation
    call: JitCall
    source: str
    latest_call: JitCall | None = None
    jaxpr: weakref.ref[Any] | None = None
    is_lowered: bool = False


class _OpenTrace(NamedTuple):
    """A trace that has begun: its program, and variables that it may change."""

    event: TraceEvent
    program: _TracedProgram | None
    variables: list[WatchedVariable]


class _ThreadState(threading.local):
    """The traces that are open on a thread, and the latest program of each source."""

    def __init__(self) -> None:
        self.open: list[_OpenTrace] = []
        self.latest: dict[str, _TracedProgram] = {}


class Recording:
    """Everything that JAX traces, lowers and compiles while it listens, on all threads."""

    def __init__(self, *, keep_texts: bool = False) -> None:
        self.keep_texts = keep_texts
        self.compilations: list[Compilation] = []
        self.calls: dict[int, JitCall] = {}
        self.effects: dict[Hashable, SideEffect] = {}
        self.failures: list[FailedTrace] = []
        self.hits: Counter[str] = Counter()
        self._start = perf_counter()
        self._lock = threading.RLock()
        self._thread = _ThreadState()
        self._by_jaxpr: dict[int, _TracedProgram] = {}
        self._by_module: dict[int, _TracedProgram] = {}
        self._reported_errors: set[int] = set()

    def _begin(self, call: JitCall, called: SourceLine | None, source: str) -> _TracedProgram:
        function = call.function
        compilation = Compilation(
            number=0,
            function=function.name,
            defined=None if function.owner == "compiler" else function.defined,
            called=called,
            arguments={leaf.name: leaf.description for leaf in call.leaves},
            static={name: value.text for name, value in call.static.items()},
            started=perf_counter() - self._start,
            is_eager=function.is_operation,
            thread=threading.current_thread().name,
        )
        return _TracedProgram(compilation, call, source)

    def _enter(self, program: _TracedProgram) -> None:
        """Number a program, once it is certain that it is one of its own."""
        with self._lock:
            if not program.compilation.number:
                program.compilation.number = len(self.compilations) + 1
                self.compilations.append(program.compilation)
            self.calls[program.compilation.number] = program.call

    def _add_effect(self, effect: SideEffect) -> None:
        """Count the side effects of one line together."""
        key = (effect.kind, effect.function, effect.name, effect.place)
        with self._lock:
            known = self.effects.setdefault(key, effect)
            if known is not effect:
                known.times += 1
                known.holds_tracer |= effect.holds_tracer

    # Tracing

    def trace_begins(self, event: TraceEvent) -> None:
        is_of_user = is_users(event.function)
        program, variables = None, []
        if event.is_own or is_of_user:
            program = self._begin(call_of(event), event.called, event.source)
        if is_of_user:
            variables = variables_of(event.function, static_values(event))
        self._thread.open.append(_OpenTrace(event, program, variables))

    def trace_ends(self, event: TraceEvent) -> None:
        open_traces = self._thread.open
        if not open_traces or open_traces[-1].event is not event:  # it began before recording did
            return
        trace = open_traces.pop()
        for effect in changes(name_of(unwrapped(event.function)), trace.variables):
            self._add_effect(effect)
        if event.error is not None:
            self.failed(event.error, event.function, tuple(event.args), event.kwargs)
        elif trace.program is not None:
            self._traced(event, trace.program)

    def _traced(self, event: TraceEvent, program: _TracedProgram) -> None:
        known = self._program_of_jaxpr(event.jaxpr)
        if known is not None:  # JAX had a trace for equal arguments
            known.latest_call = program.call
            self._thread.latest[program.source] = known
            self.hits[program.call.function.name] += event.is_own
            return
        program.jaxpr = weakref.ref(event.jaxpr)
        self._thread.latest[program.source] = program
        with self._lock:
            self._by_jaxpr[id(event.jaxpr)] = program
        if self.keep_texts:
            program.compilation.texts = ProgramTexts(jaxpr=event.jaxpr)
        if event.is_own:
            program.compilation.seconds["trace"] = event.seconds
            if not program.compilation.is_eager:  # an operation may be part of a scan's trace
                self._enter(program)

    def _program_of_jaxpr(self, jaxpr: Any) -> _TracedProgram | None:
        found = self._by_jaxpr.get(id(jaxpr))
        return found if found and found.jaxpr and found.jaxpr() is jaxpr else None

    def failed(
        self,
        error: BaseException,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Record an error about a traced value, once."""
        failure = failure_of(error, function, args, kwargs)
        if failure is not None and id(error) not in self._reported_errors:
            self._reported_errors.add(id(error))
            self.failures.append(failure)

    def printed(self, line: SourceLine) -> None:
        """Record a `print` of the user's while a function is traced."""
        users = [t.event.function for t in self._thread.open if is_users(t.event.function)]
        if users:
            self._add_effect(SideEffect("print", name_of(unwrapped(users[-1])), "print", line))

    def finish(self) -> None:
        """Find the functions that were traced with values that have changed since."""
        latest = [(call.function.identity(), call.function) for call in self.calls.values()]
        for function, then in {id(f): (f, then) for f, then in latest if f is not None}.values():
            if then.owner not in ("user", "typed"):
                continue
            changed_by_trace = {each.name for each in self.effects.values()}
            now = describe_function(function).captured
            for name, value in then.captured.items():
                current = now.get(name, value)
                if value.is_data and current.token != value.token and name not in changed_by_trace:
                    effect = SideEffect("stale", then.name, name, then.defined)
                    effect.values = value.text, current.text
                    self._add_effect(effect)

    # Lowering and compiling

    def lowered(self, event: LoweringEvent) -> None:
        program = self._program_of_lowering(event)
        compilation = program.compilation
        compilation.seconds["lower"] = event.seconds
        compilation.ops = count_ops(event.module)
        compilation.called = compilation.called or event.called
        program.is_lowered = True
        program.call.layout = event.layout
        if self.keep_texts:
            jaxpr = compilation.texts.jaxpr if compilation.texts else event.jaxpr
            compilation.texts = ProgramTexts(jaxpr=jaxpr, stablehlo=text_to_read(event.module))
        self._enter(program)
        with self._lock:
            self._by_module[id(event.module)] = program

    def _program_of_lowering(self, event: LoweringEvent) -> _TracedProgram:
        traced = self._program_of_jaxpr(event.jaxpr)
        if traced is not None and not traced.is_lowered:
            return traced
        if traced is not None:  # the same jaxpr for other shardings or donations
            call = replace(traced.latest_call or traced.call)
            return self._begin(call, event.called, traced.source)
        origin = self._thread.latest.get(event.source)
        if origin is None:
            return self._begin(lowered_call(event), event.called, "")
        # A transformation outside of jit made this program of a jitted function. The first one
        # replaces the function's own program, which was traced for it alone.
        call = derived_call(event, origin.latest_call or origin.call)
        made = self._begin(call, event.called, event.source)
        if not call.function.is_operation:
            made.compilation.function = f"{call.function.name} (transformed)"
        if origin.is_lowered:
            return made
        origin.is_lowered = True
        made.compilation.seconds.update(origin.compilation.seconds)
        made.compilation.started = origin.compilation.started
        if number := origin.compilation.number:
            made.compilation.number = number
            with self._lock:
                self.compilations[number - 1] = made.compilation
        return made

    def compiled(self, event: CompileEvent) -> None:
        with self._lock:
            program = self._by_module.get(id(event.module))
        if program is None or program.compilation.is_compiled:
            # The module was compiled before, or lowered before recording began.
            name = module_name(event.module).removeprefix("jit_")
            call = JitCall(JitFunction.unknown(name), ())
            if program is not None and program.call.function.name == name:
                call = replace(program.call)
            program = self._begin(call, event.called, name)
            self._enter(program)
        compilation = program.compilation
        if event.passes is not None:
            compilation.seconds["passes"] = event.passes.seconds
        compilation.seconds["load" if event.is_loaded else "compile"] = event.seconds
        compilation.cache_key, compilation.from_cache = event.key, event.is_loaded
        with contextlib.suppress(Exception):  # a backend without HLO
            compilation.hlo = jax_state.hlo_text(event.executable)
        if (sizes := jax_state.memory_of(event.executable)) is not None:
            compilation.peak_bytes = peak_bytes(**sizes) or None
            compilation.temporary_bytes = sizes["temporaries"]
        if self.keep_texts:
            known = compilation.texts or ProgramTexts()
            compilation.texts = replace(
                known,
                stablehlo=known.stablehlo or text_to_read(event.module),
                passes=tuple(event.passes.texts) if event.passes else (),
                hlo=compilation.hlo,
            )

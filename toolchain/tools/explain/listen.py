"""From what JAX is heard doing to compilations: which trace a lowering and an executable are of."""

from __future__ import annotations

import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from ...backend import _private
from ...backend.log import text_to_read
from ...source import SourceLine, owner_of
from ..page import ProgramTexts
from .calls import Call, call_of, derived_call, lowered_call, static_values
from .effects import Effect, Effects, changes, spots_of
from .events import Compiling, Listener, Lowering, Tracing
from .failures import Failure, failure_of
from .functions import Function, code_of, describe_function, innermost, name_of
from .records import Compilation


@dataclass
class _Program:
    """A compilation on its way, and what finds it again.

    Attributes:
        compilation: what is told of it.
        call: that it was traced for.
        source: the function as JAX names it.
        next_call: the latest one that the trace served, with the options of that time.
        jaxpr: what came of the trace.
        is_lowered: whether it was.
    """

    compilation: Compilation
    call: Call
    source: str
    next_call: Call | None = None
    jaxpr: weakref.ref[Any] | None = None
    is_lowered: bool = False


@dataclass
class _Thread:
    """What one thread was last seen doing."""

    tracing: list[Tracing] = field(default_factory=list)
    last: dict[str, _Program] = field(default_factory=dict)


class Recording(Listener):
    """Everything that JAX traces, lowers and compiles, as compilations."""

    def __init__(self, *, keep_texts: bool = False) -> None:
        self.keep_texts = keep_texts
        self.compilations: list[Compilation] = []
        self.calls: dict[int, Call] = {}
        self.effects = Effects()
        self.failures: list[Failure] = []
        self.hits: Counter[str] = Counter()
        self._start = perf_counter()
        self._lock = threading.RLock()
        self._local: dict[int, _Thread] = {}
        self._by_jaxpr: dict[int, _Program] = {}
        self._by_module: dict[int, _Program] = {}
        self._blamed: set[int] = set()

    @property
    def _thread(self) -> _Thread:
        with self._lock:
            return self._local.setdefault(threading.get_ident(), _Thread())

    def _begin(self, call: Call, called: SourceLine | None, source: str) -> _Program:
        compilation = Compilation(
            number=0,
            function=call.function.name,
            defined=None if call.function.owner == "compiler" else call.function.defined,
            called=called,
            arguments={leaf.name: leaf.words for leaf in call.leaves},
            static={name: known.words for name, known in call.static.items()},
            started=perf_counter() - self._start,
            is_eager=call.function.is_operation,
            thread=threading.current_thread().name,
        )
        return _Program(compilation, call, source)

    def _enter(self, program: _Program) -> None:
        """Number a compilation, once it is sure that it is one."""
        with self._lock:
            if not program.compilation.number:
                program.compilation.number = len(self.compilations) + 1
                self.compilations.append(program.compilation)
            self.calls[program.compilation.number] = program.call

    # Tracing

    def begins(self, tracing: Tracing) -> None:
        is_users = _is_users(tracing.function)
        if tracing.is_own or is_users:
            tracing.notes[id(self)] = self._begin(call_of(tracing), tracing.called, tracing.source)
        self._thread.tracing.append(tracing)
        if is_users:
            tracing.spots[id(self)] = spots_of(tracing.function, static_values(tracing))

    def ends(self, tracing: Tracing) -> None:
        open_ = self._thread.tracing
        if not open_ or open_[-1] is not tracing:  # it began before we listened
            return
        open_.pop()
        for effect in changes(
            name_of(innermost(tracing.function)), tracing.spots.pop(id(self), ())
        ):
            self.effects.add(effect)
        program = tracing.notes.pop(id(self), None)
        if tracing.error is not None:
            self.failed(tracing.error, tracing.function, tuple(tracing.args), tracing.kwargs)
        elif program is not None:
            self._traced(tracing, program)

    def _traced(self, tracing: Tracing, program: _Program) -> None:
        known = self._of_jaxpr(tracing.jaxpr)
        if known is not None:
            known.next_call = program.call
            self._thread.last[program.source] = known
            self.hits[program.call.function.name] += tracing.is_own
            return
        program.jaxpr = weakref.ref(tracing.jaxpr)
        self._thread.last[program.source] = program
        with self._lock:
            self._by_jaxpr[id(tracing.jaxpr)] = program
        if self.keep_texts:
            program.compilation.texts = ProgramTexts(jaxpr=tracing.jaxpr)
        if tracing.is_own:  # else it is a part of another's
            program.compilation.seconds["trace"] = tracing.seconds
            if not program.compilation.is_eager:  # may be a part of what scan or vmap trace
                self._enter(program)

    def _of_jaxpr(self, jaxpr: Any) -> _Program | None:
        found = self._by_jaxpr.get(id(jaxpr))
        is_alive = found is not None and found.jaxpr is not None and found.jaxpr() is jaxpr
        return found if is_alive else None

    def failed(
        self,
        error: BaseException,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Say once what was asked of a traced value that it does not have."""
        failure = failure_of(error, function, args, kwargs)
        if failure is not None and id(error) not in self._blamed:
            self._blamed.add(id(error))
            self.failures.append(failure)

    def heard_print(self, place: SourceLine) -> None:
        """A line of the user's printed while a function was traced."""
        users = [each.function for each in self._thread.tracing if _is_users(each.function)]
        if users:
            self.effects.add(Effect("print", name_of(innermost(users[-1])), "print", place))

    def finish(self) -> None:
        """See which functions that are still there were traced with values that are no more."""
        latest = [(call.function.find(), call.function) for call in self.calls.values()]
        for function, then in {id(f): (f, then) for f, then in latest if f is not None}.values():
            if then.owner in ("user", "typed"):
                self._find_stale(then, describe_function(function))

    def _find_stale(self, then: Function, now: Function) -> None:
        changing = {each.name for each in self.effects.found.values()}  # by the trace itself
        for name, known in then.closed_over.items():
            current = now.closed_over.get(name, known)
            if known.is_data and current.token != known.token and name not in changing:
                values = (known.words, current.words)
                self.effects.add(Effect("stale", then.name, name, then.defined, values=values))

    # Lowering and compiling

    def lowered(self, lowering: Lowering) -> None:
        program = self._program_of(lowering)
        compilation = program.compilation
        compilation.seconds["lower"] = lowering.seconds
        compilation.ops = lowering.ops
        compilation.called = compilation.called or lowering.called
        program.is_lowered = True
        program.call.layout = lowering.layout
        if self.keep_texts:
            jaxpr = compilation.texts.jaxpr if compilation.texts else lowering.jaxpr
            text = text_to_read(lowering.module)
            compilation.texts = ProgramTexts(jaxpr=jaxpr, stablehlo=text)
        self._enter(program)
        with self._lock:
            self._by_module[id(lowering.module)] = program

    def _program_of(self, lowering: Lowering) -> _Program:
        """What is lowered: traced just now, traced before, or made out of what was."""
        traced = self._of_jaxpr(lowering.jaxpr)
        if traced is not None and not traced.is_lowered:
            return traced
        if traced is not None:  # the same jaxpr for other shardings, or donated
            call = replace(traced.next_call or traced.call)
            return self._begin(call, lowering.called, traced.source)
        origin = self._thread.last.get(lowering.source)
        if origin is None:
            return self._begin(lowered_call(lowering, _unseen(lowering)), lowering.called, "")
        return self._derived(lowering, origin)

    def _derived(self, lowering: Lowering, origin: _Program) -> _Program:
        """A program made of a jitted function by a transformation outside of it.

        The first one takes the place of the function's own, which was traced for it.
        """
        call = derived_call(lowering, origin.next_call or origin.call)
        made = self._begin(call, lowering.called, lowering.source)
        if not call.function.is_operation:
            made.compilation.function = f"{call.function.name} (transformed)"
        if origin.is_lowered:
            return made
        origin.is_lowered = True
        number, seconds = origin.compilation.number, origin.compilation.seconds
        made.compilation.seconds.update(seconds)
        made.compilation.started = origin.compilation.started
        if number:
            made.compilation.number = number
            with self._lock:
                self.compilations[number - 1] = made.compilation
        return made

    def compiled(self, compiling: Compiling) -> None:
        with self._lock:
            program = self._by_module.get(id(compiling.module))
        if program is None or program.compilation.is_compiled:
            program = self._unlowered(compiling, program)
        compilation = program.compilation
        if compiling.passes is not None:
            compilation.seconds["passes"] = compiling.passes.seconds
        compilation.seconds["load" if compiling.is_loaded else "compile"] = compiling.seconds
        compilation.cache_key, compilation.from_cache = compiling.key, compiling.is_loaded
        compilation.flops = _private.flops_of(compiling.executable)
        held, temporaries = _private.memory_of(compiling.executable)
        compilation.peak_bytes, compilation.temporary_bytes = held, temporaries
        if self.keep_texts:
            _keep_texts(compilation, compiling)

    def _unlowered(self, compiling: Compiling, like: _Program | None) -> _Program:
        """A module that was compiled before, or not lowered while this was recorded."""
        name = _module_name(compiling)
        if like is not None and like.call.function.name == name:
            call = replace(like.call)
        else:
            call = Call(Function(name, None, "user", "function", (), {}, 0), ())
        program = self._begin(call, compiling.called, name)
        self._enter(program)
        return program


def _is_users(function: Any) -> bool:
    code = code_of(innermost(function))
    return code is not None and owner_of(code.co_filename) in ("user", "typed")


def _unseen(lowering: Lowering) -> Function:
    """A function that was not seen traced, by what JAX calls it: "step at train.py:3"."""
    found = re.fullmatch(r"(.+?) at (.+):(\d+)", lowering.source)
    if found is None:
        name = re.sub(r"^\w+\((.*)\)$", r"\1", lowering.name)
        return Function(name, None, "user", "function", (), {}, 0)
    place = SourceLine(found[2], int(found[3]), found[1])
    return Function(found[1], place, owner_of(found[2]), "function", (), {}, 0)


def _module_name(compiling: Compiling) -> str:
    name = compiling.module.operation.attributes["sym_name"]
    return str(name).strip('"').removeprefix("jit_")


def _keep_texts(compilation: Compilation, compiling: Compiling) -> None:
    known = compilation.texts or ProgramTexts()
    compilation.texts = ProgramTexts(
        jaxpr=known.jaxpr,
        stablehlo=known.stablehlo or text_to_read(compiling.module),
        passes=tuple(compiling.passes.texts) if compiling.passes else (),
        hlo=_private.hlo_text(compiling.executable),
    )

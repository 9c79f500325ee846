"""Recording a program: jaxlib's profiler, compilations, and samples of Python's stack.

The sampler runs from the start. The session of the profiler begins when JAX lowers its first
program: then the backend exists, without which its devices are not recorded.
"""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import JxcError
from ...events.heap import heap_bytes
from ...events.recorded import CompileSpan, Recorded
from ...events.sampler import StackSampler
from ...source import SourceLine
from ...units import show_count

if TYPE_CHECKING:
    from ...cost.device import Device
    from ...events.listener import CompileEvent, LoweringEvent, TraceEvent
    from ...events.runs import Trace
    from .profile import Profile

_LONGEST = 60.0  # seconds of recorded calls
MOST_EVENTS = 300_000
"""About how many events are recorded: 0.2 to 0.5 seconds of a sampler.

jaxlib 0.10.2 needs 1.3 KB and 7 to 11 µs for each to make the trace, when recording ends.
"""
_EVENT_BYTES = 160  # on the heap while events are recorded, for each
_CHECK = 0.02  # seconds between two looks at the heap: some 20,000 events


class ProfileRecorder:
    """Records a program from its creation to `finish`.

    Args:
        name: of the program.
        seconds: how long the profiler records at most.
        module: of a program that was compiled before; None if it is not known.
        most_events: about how many events are recorded; they are in memory.
    """

    keep_texts = False  # for `events.listener.EventListener`

    def __init__(
        self, name: str, seconds: float, module: Any = None, most_events: int = MOST_EVENTS
    ) -> None:
        self._name, self._limit, self._module = name, seconds, module
        self._most_events = most_events
        self._sampler = StackSampler()
        self._stack = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._session: Any = None
        self._stopped = threading.Event()
        self._is_compiling = False
        self._data: list[bytes] = []
        self._notes: list[str] = []
        self._tracing: dict[int, int] = {}
        self._compiling: list[CompileSpan] = []
        self._ended = 0
        self.compiled_events: list[CompileEvent] = []
        self._started = time.time_ns()
        self._sampler.start()

    def listen(self) -> None:
        """Listen for compilations; jax has been imported.

        Raises:
            JxcError: this version of jax cannot be recorded.
        """
        from ...events.listener import listening
        from ...events.session import skip_absent_tpus

        skip_absent_tpus()
        self._stack.enter_context(listening(self))

    def start_session(self) -> None:
        """Start the profiler, unless it was started before."""
        from ...events import session

        with self._lock:
            if self._session is not None or self._ended or self._notes:
                return
            try:
                self._session = session.start_session()
            except Exception as error:  # jaxlib's own types
                self._fail(error)
                return
            self._stack.enter_context(session.before_other_sessions(self._end_for_other))
            threading.Thread(target=self._watch, name="jxc-profile-limit", daemon=True).start()

    # The events of `events.listener`

    def trace_begins(self, event: TraceEvent) -> None:
        if event.is_own:
            self._tracing[id(event)] = time.time_ns()

    def trace_ends(self, event: TraceEvent) -> None:
        if (started := self._tracing.pop(id(event), None)) is not None:
            self._compiling.append(CompileSpan(started, time.time_ns()))

    def lowered(self, event: LoweringEvent) -> None:
        self._is_compiling = True
        self._note_compiling(event.seconds)
        self.start_session()

    def compiled(self, event: CompileEvent) -> None:
        self._is_compiling = False
        self._note_compiling(event.seconds)
        self.compiled_events.append(event)

    def _note_compiling(self, seconds: float) -> None:
        now = time.time_ns()
        self._compiling.append(CompileSpan(now - int(seconds * 1e9), now))

    # The end

    def _watch(self) -> None:
        """End recording at the limit of seconds or events.

        Nothing counts events while they are recorded: the growth of the heap tells when there may
        be enough. Compilers use the heap too, so it is not looked at while one runs.
        """
        last = time.monotonic() + self._limit
        base = heap_bytes()
        while not self._stopped.wait(_CHECK):
            if time.monotonic() > last:
                self._end_at_limit()
                return
            if self._is_compiling:
                base = max(base, heap_bytes())
            elif heap_bytes() - base > _EVENT_BYTES * self._most_events:
                if self._ends_at_events():
                    return
                base = heap_bytes()

    def _end_at_limit(self) -> None:
        if self._end_session():
            self._notes.append(
                f"recorded the first {self._limit:g} s in which JAX ran; --seconds records more"
            )

    def _ends_at_events(self) -> bool:
        """End the session; start another one if it had few events."""
        from ...events import session
        from ...events.wire import count_events

        with self._lock:
            if self._ended or self._session is None:
                return True
            ended = time.time_ns()
            try:
                self._data.append(self._session.stop())
                self._session = None
                count = sum(map(count_events, self._data))
                if count < self._most_events / 2:
                    self._session = session.start_session()
                    return False
            except Exception as error:  # jaxlib's own types
                self._fail(error)
                return True
            self._ended = ended
            self._sampler.stop()
        self._notes.append(
            f"recorded the first {show_count(count)} events, since each takes 1.3 KB of memory; "
            "--events records more"
        )
        return True

    def _end_for_other(self) -> None:
        if self._end_session():
            self._notes.append(
                "recording ended when the program started a profiler of its own, since a process "
                "can have one"
            )

    def _end_session(self) -> bool:
        with self._lock:
            if self._ended:
                return False
            self._ended = time.time_ns()
            self._sampler.stop()
            try:
                if self._session is not None:
                    self._data.append(self._session.stop())
            except Exception as error:  # jaxlib's own types
                self._fail(error)
            return True

    def _fail(self, error: Exception) -> None:
        reason = str(error).partition("\n")[0].removesuffix(".")
        note = f"the profiler recorded no kernel: {reason}"
        if not isinstance(error, JxcError):
            note += (
                ". Expected no other profiler in this process: remove jax.profiler.start_trace, or "
                "a callback that profiles"
            )
        self._notes.append(note)

    def stop(self) -> None:
        """Stop recording, if the limit has not ended it, after the devices are done.

        Python waits for them at its end. What computes a result that the program has dropped is not
        known here, and not waited for.
        """
        if self._session is not None and not self._ended:
            import jax

            # Errors of the program, and Ctrl-C of somebody who does not want to wait:
            with contextlib.suppress(Exception, KeyboardInterrupt):
                jax.block_until_ready(jax.live_arrays())
                jax.effects_barrier()
        self._stopped.set()
        self._end_session()
        self._stack.close()

    def finish(
        self,
        progress: Callable[[str], None] = lambda _: None,
        *,
        with_o2: bool = False,
    ) -> Profile:
        """The profile, after `stop`.

        Args:
            progress: called with a description of each step.
            with_o2: whether to measure what recording cost and what O2 would change; on the CPU
                only.
        """
        from .build import build

        if not self._sampler.is_sampling:
            self._notes.append(
                "the lines of Python on the host are unknown: a Python without the GIL cannot be "
                "sampled. Expected PYTHON_GIL=1, or another build of Python"
            )
        size = sum(map(len, self._data))
        progress(f"reading a trace of {size / 1e6:.0f} MB")
        trace = self._read()
        called: dict[str, set[SourceLine]] = {}
        for event in self.compiled_events:
            name = _module_name(event)
            called.setdefault(name, set()).update(filter(None, [event.called]))
        recorded = Recorded(
            name=self._name,
            started=self._started,
            ended=self._ended,
            trace=trace,
            samples=self._sampler.samples,
            compiling=self._compiling,
            called={
                name: next(iter(found)) if len(found) == 1 else None
                for name, found in called.items()
            },
            compiled=len(self.compiled_events),
            notes=self._notes,
            lowered=self._lowered,
        )
        progress("joining it with the optimized HLO")
        device = _device(trace)
        profile = build(recorded, device)
        if not with_o2 or device.kind != "cpu":
            return profile
        from .changes import with_measurements

        return with_measurements(profile, self.compiled_events, device, record_calls, progress)

    def _read(self) -> Trace:
        from ...events.runs import Trace
        from ...events.trace import read_trace

        trace = Trace()
        try:
            with warnings.catch_warnings():  # of jaxlib's types in Python 3.13
                warnings.simplefilter("ignore")
                loaded = {_module_name(e) for e in self.compiled_events if e.is_loaded}
                while self._data:
                    trace.join(read_trace(self._data.pop(0), loaded))
        except (ValueError, RuntimeError) as error:  # larger than protobuf's 2 GB, for one
            self._notes.append(f"the trace cannot be read: {error}. --seconds records less")
        return trace

    def _lowered(self, program: str, hlo: str) -> Any:
        from .changes import event_of

        if (event := event_of(program, hlo, self.compiled_events)) is not None:
            return event.module
        is_named = self._module is not None and _is_of(program, self._module)
        return self._module if is_named else None


def record_calls(call: Callable[[], object], calls: int, module: Any = None) -> Profile:
    """The profile of some calls of a compiled function."""
    recorder = ProfileRecorder("", _LONGEST, module)
    recorder.start_session()
    for _ in range(calls):
        call()
    recorder.stop()
    return recorder.finish()


def _is_of(program: str, module: Any) -> bool:
    from ...ir.module import module_name

    return program.partition("(")[0] == module_name(module)


def _module_name(event: CompileEvent) -> str:
    from ...ir.module import module_name

    return module_name(event.module)


def _device(trace: Trace) -> Device:
    """The device of this machine, or one without rates if it is not known."""
    from ...backend.targets import find_target
    from ...cost.device import Device, device_named
    from ...frontend import kind_of_platform

    unknown = Device("", "", "", 0, 0.0, {}, 0.0, "")
    if not trace.ops:  # there may be no backend either
        return unknown
    import jax

    platform = jax.default_backend()
    if platform == "cpu":
        return find_target("cpu").device
    return device_named(kind_of_platform(platform), jax.devices()[0].device_kind) or unknown

"""O3 inside JAX: a stored verdict decides, or the first call of a program is measured.

When a program is compiled under O3, its verdict is looked up (`verdicts`). Without one the program
is compiled under O2, and its first call is tuned: the candidates run on the arguments of that call,
which are on the device and realistic, and the fastest executable replaces the first one before
JAX's C++ dispatch has copied it. `tools.tune` has the candidates and measures them; it is loaded by
name, since a room may not import a later one.

A program is not tuned if running it twice could be noticed or could fail: it has effects or
callbacks, or lets XLA choose layouts. In a job of several processes stored verdicts are not used
either: they differ between machines, and the processes must run the same programs.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
from jaxlib.mlir import ir

from ..errors import UsageError
from ..ir import clone_module, functions, has_side_effect, walk
from ..ir.module import donated_arguments, module_name
from ..pipeline import PipelineReport, make_pipeline, run_pipeline
from ..rewrite import PassContext
from ..source import first_time, warn_user
from ..units import show_bytes
from . import _private, interception
from .first_call import replace_at_first_call
from .verdicts import (
    DEFAULT,
    TuneVerdict,
    find_verdict,
    key_of,
    local_device,
    present_device,
    warn_if_not_stored,
)
from .xla_options import with_xla_options

SECONDS = "JXC_TUNE_SECONDS"
"""The environment variable with the time budget of one program in seconds; 0 never tunes."""

MOST_SECONDS = 60.0
"""The budget without that variable, if ten times the time of compiling under O2 is not less."""

LEAST_SECONDS = 5.0
_COMPILE_TIMES = 10.0


class NotTuned(Exception):
    """A program keeps O2 and gets no verdict, for the reason given."""


@dataclass(frozen=True)
class TuneSettings:
    """How the programs of one thread are tuned.

    Attributes:
        seconds: the budget for one program; None for that of the environment.
        again: whether programs that have a verdict are tuned again.
        tell: called with a line of progress; None for the default, a line on a terminal.
        done: called with the verdict of each program that was tuned, or the reason why it was not;
            by default, a verdict that is not stored causes a warning.
    """

    seconds: float | None = None
    again: bool = False
    tell: Callable[[str], None] | None = None
    done: Callable[[TuneVerdict | str], None] = warn_if_not_stored


_settings: ContextVar[TuneSettings | None] = ContextVar("jxc.tune", default=None)


@contextmanager
def tuning(settings: TuneSettings) -> Iterator[None]:
    """Tune the programs that this thread compiles in the block by these settings."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def budget_seconds(compile_seconds: float, settings: TuneSettings) -> float:
    """The time budget of one program.

    Args:
        compile_seconds: of the program under O2, passes included.
        settings: of the thread that compiled it.

    Raises:
        UsageError: the environment variable is not a number.
    """
    if settings.seconds is not None:
        return settings.seconds
    if (text := os.environ.get(SECONDS)) is None:
        return min(MOST_SECONDS, max(LEAST_SECONDS, _COMPILE_TIMES * compile_seconds))
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{SECONDS}={text!r}: expected a number of seconds") from None


@dataclass(eq=False)
class TunePlan:
    """What O3 does with a program that is about to be compiled.

    Attributes:
        verdict: the stored verdict; None without one.
        reason: why the program is not tuned; empty if its first call will be.
        key, device: those of its verdict.
        settings: of the thread that compiled.
    """

    verdict: TuneVerdict | None
    reason: str
    key: str
    device: str
    settings: TuneSettings

    @property
    def label(self) -> str:
        """The pipeline as logs show it before tuning."""
        if self.verdict is not None:
            return self.verdict.label
        return f"O3: O2, not tuned: {self.reason}" if self.reason else "O3: O2"

    @property
    def pipeline(self) -> str:
        """The passes to run now."""
        return self.verdict.pipeline if self.verdict is not None else "O2"

    def compile_arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of JAX's compile function with the XLA options of the verdict."""
        if self.verdict is None or not self.verdict.xla_options:
            return args
        devices, options, *rest = args
        return devices, with_xla_options(options, self.verdict.xla_options), *rest


def plan_of(
    module: ir.Module, context: PassContext, backend: Any, args: tuple[Any, ...]
) -> TunePlan:
    """What O3 does with a program.

    Args:
        module: the program as JAX lowered it, without a stamp.
        context: of its passes.
        backend, args: of JAX's compile function.
    """
    settings = _settings.get() or TuneSettings()
    devices, _, callbacks, *_ = args
    device = local_device(backend.platform, str(devices.flat[0].device_kind))
    if reason := why_not(module, callbacks, backend):
        settings.done(reason)
        return TunePlan(None, reason, "", device, settings)
    key = key_of(module, device, context.assumptions)
    return TunePlan(None if settings.again else find_verdict(key), "", key, device, settings)


@dataclass(eq=False)
class FirstCall:
    """The first call of a program under O3, with what is needed to run candidates on it.

    Attributes:
        plan: made when the program was compiled.
        module: the program as JAX lowered it. It belongs to this value: do not change it.
        context: the target and the promises for passes.
        base: jaxlib's executable of the program under O2.
        report: what O2 did.
        compile_seconds: of O2, passes included.
        compiling: the backend, and the arguments of JAX's compile function after the module.
        lock: to hold while passes run.
        arrays: the arguments of the call.
        handlers: of its results.
        donated: the positions of arguments whose buffers the program may overwrite.
    """

    plan: TunePlan
    module: ir.Module
    context: PassContext
    base: Any
    report: PipelineReport
    compile_seconds: float
    compiling: tuple[Any, ...]
    lock: Any
    arrays: Sequence[Any] = ()
    handlers: Sequence[Any] = ()
    donated: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.donated = donated_arguments(functions(self.module)["main"])

    @property
    def name(self) -> str:
        """The name of the program, such as "jit_step"."""
        return module_name(self.module)

    @property
    def seconds(self) -> float:
        """The time budget for this program."""
        return budget_seconds(self.compile_seconds, self.plan.settings)

    def rewritten(self, pipeline: str) -> tuple[ir.Module, PipelineReport]:
        """A copy of the module after a pipeline."""
        with self.lock:
            copy = clone_module(self.module)
            return copy, run_pipeline(copy, make_pipeline(pipeline), self.context)

    def compile(self, module: ir.Module, xla_options: Mapping[str, Any]) -> Any:
        """jaxlib's executable of a module. It does not enter JAX's persistent cache."""
        backend, _, options, callbacks, devices, *_ = self.compiling
        chosen = with_xla_options(options, xla_options)
        return _private.compile_uncached(backend, module, devices, chosen, callbacks)

    def run(self, executable: Any, arrays: Sequence[Any]) -> list[Any]:
        """The results of an executable, not waited for."""
        return _private.execute(executable, arrays, self.handlers)

    def fresh(self) -> list[Any]:
        """The arguments of the call, with copies of those that the program may overwrite."""
        given = list(self.arrays)
        for index in sorted(self.donated):
            given[index] = _private.copied([given[index]])[0]
        return given


def tune_at_first_call(
    call: FirstCall,
    tuned: Callable[[TuneVerdict, PipelineReport, ir.Module], None],
    failed: Callable[[Exception], None],
) -> None:
    """Tune a program when it is called, if its plan says so.

    Args:
        call: the call to come, still without arguments.
        tuned: called with the verdict, and the report and the module of the chosen pipeline.
        failed: called if tuning raises; the program keeps its executable.
    """
    plan = call.plan
    if plan.reason or plan.verdict is not None:
        return
    if call.seconds <= 0:
        plan.settings.done("the time budget is 0")
        return

    def choose(arrays: Sequence[Any], handlers: Sequence[Any]) -> tuple[Any, list[Any] | None]:
        call.handlers = handlers
        try:
            _require_memory(call, arrays)
            call.arrays = arrays
            call.arrays = call.fresh()
            start = perf_counter()
            results = jax.block_until_ready(call.run(call.base, arrays))
            seconds = perf_counter() - start
        except NotTuned as error:
            plan.settings.done(str(error))
            return call.base, None
        try:
            tune = importlib.import_module("jxc.tools.tune.timed").tune_call
            chosen, verdict, report, module = tune(call, seconds)
        except NotTuned as error:
            plan.settings.done(str(error))
            return call.base, results
        except Exception as error:  # a bug of jxc must not end the user's program
            failed(error)
            return call.base, results
        finally:
            call.arrays, call.handlers = (), ()
        tuned(verdict, report, module)
        plan.settings.done(verdict)
        return chosen, results

    _install()
    with _pending_lock:
        _pending[id(call.base)] = (call.base, choose)


def is_one_of_a_job() -> bool:
    """Whether other processes of `jax.distributed` run too; warns once that O3 is O2 then."""
    count: int = jax.process_count()
    if count > 1 and first_time(("O3", "job")):
        warn_user(
            f"O3 runs the passes of O2 in this job of {count} processes: times differ between "
            "processes, and all of them must run the same programs."
        )
    return count > 1


def stored_choice(
    module: ir.Module, platform: str, absent: str, assume: frozenset[str]
) -> tuple[str, Mapping[str, Any]]:
    """The passes and XLA's options of O3 on a program: those of its verdict, else of O2.

    Args:
        module: the program as JAX lowered it.
        platform: that it was lowered for.
        absent: the target, if it is hardware that is not here; empty for this machine.
        assume: the user's promises.
    """
    if not absent and is_one_of_a_job():
        return DEFAULT, {}
    verdict = find_verdict(key_of(module, absent or present_device(platform), assume))
    return (DEFAULT, {}) if verdict is None else (verdict.pipeline, verdict.xla_options)


def why_not(module: ir.Module, callbacks: Sequence[Any], backend: Any) -> str:
    """Why a program must not be run several times; empty if it may."""
    if _private.is_for_absent_devices(backend):
        return "it is for devices that are not here"
    if is_one_of_a_job():
        return "this process is one of a job"
    if callbacks:
        return "it calls back into Python"
    if jax.config.jax_debug_nans or jax.config.jax_debug_infs:
        return "JAX checks its results for NaN or infinity"
    main = functions(module).get("main")
    if main is None or "tf.main" in main.attributes:
        return "it has no @main"
    text = str(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else ""
    text += str(main.attributes["res_attrs"]) if "res_attrs" in main.attributes else ""
    if 'layout_mode = "auto"' in text:
        return "XLA chooses the layouts of its arguments"
    for op in walk(module.operation):
        if has_side_effect(op):
            return f"it has effects ({op.operation.name})"
    return ""


def _require_memory(call: FirstCall, arrays: Sequence[Any]) -> None:
    """Check that a second run of a program fits beside what the process holds.

    Raises:
        NotTuned: it may not.
    """
    sizes = _private.memory_of(call.base) or {}
    copies = sum(arrays[index].nbytes for index in call.donated)
    sampled = sizes.get("arguments", 0)  # moved by an ulp
    needed = 2 * copies + sampled + 3 * sizes.get("outputs", 0) + sizes.get("temporaries", 0)
    free = free_bytes(arrays)
    if free is not None and needed > free / 2:
        raise NotTuned(f"runs beside it need {show_bytes(needed)}, and {show_bytes(free)} are free")


def free_bytes(arrays: Sequence[Any] = ()) -> int | None:
    """The free memory of the device of arrays, or of this machine; None if it is not known.

    Where a system does not say what is free, it is all memory of the machine.
    """
    device = next((each for array in arrays for each in array.devices()), None)
    if device is not None and (stats := device.memory_stats()):
        limit, used = stats.get("bytes_limit"), stats.get("bytes_in_use")
        return None if limit is None or used is None else int(limit - used)
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(x for x in lines if x.startswith("MemAvailable")).split()[1])
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


_pending: dict[int, tuple[Any, Callable[..., Any]]] = {}
_pending_lock = threading.Lock()
_is_installed = False


def _install() -> None:
    global _is_installed
    with _pending_lock:
        if not _is_installed:
            interception.install({"load": _load})
            _is_installed = True


def _load(proceed: Callable[..., Any], unloaded: Any) -> Any:
    """Let the first call of an executable that is pending choose another."""
    loaded = proceed(unloaded)
    with _pending_lock:
        _, choose = _pending.pop(id(loaded.xla_executable), (None, None))
    if choose is not None:
        replace_at_first_call(loaded, choose)
    return loaded

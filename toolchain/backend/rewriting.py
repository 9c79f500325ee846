"""What runs between JAX and XLA: programs are stamped when lowered, and rewritten when compiled.

The module that JAX keeps and prints is never changed; a rewritten copy goes to XLA. If a pass
fails, or XLA refuses what the passes made, the program is compiled unchanged, with a warning. The
processes of a program that spans several agree first (`agreement`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ..cost.device import device_named
from ..cost.rates import rates_of
from ..cost.thresholds import is_tiny
from ..errors import JxcError
from ..frontend import kind_of_platform
from ..ir import clone_module, count_ops, write_text
from ..ir.module import module_name
from ..pipeline import PassError, PipelineReport, make_pipeline, run_pipeline
from ..pipeline.reproducer import write_reproducer
from ..rewrite import PassContext
from ..source import first_time, warn_user
from . import agreement, log, tuning
from .job import announce
from .log import RewrittenProgram
from .other_programs import is_of_other_program, note_applied
from .pass_cache import PassCache, PipelineResult, pass_cache
from .registered import (
    STAMP,
    Registered,
    blocks,
    blocks_of_thread,
    effective_pipeline,
    find_registered,
    late_pipeline,
    lock,
    warn_of_other_task,
    warn_of_other_thread,
)
from .verdicts import TuneVerdict
from .xla_options import without_attribute


def lower_and_stamp(lower: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    announce()
    result = lower(*args, **kwargs)
    if name := effective_pipeline():
        warn_of_other_task()
        with result.module.context:
            result.module.operation.attributes[STAMP] = ir.StringAttr.get(name)
    elif blocks:
        warn_of_other_thread(result.module)
    return result


def rewrite_and_compile(
    compile_: Callable[..., Any], backend: Any, computation: ir.Module, *args: Any, **kwargs: Any
) -> Any:
    stamp = computation.operation.attributes.get(STAMP)
    group = agreement.group_of(backend, args[0])
    if stamp is None:
        if group is not None:
            group.agree(computation, computation, "")
        return compile_(backend, computation, *args, **kwargs)
    name = ir.StringAttr(stamp).value
    passes, start = log.PassTexts(), perf_counter()
    plain = clone_module(computation)
    del plain.operation.attributes[STAMP]
    try:
        run = _planned(plain, name, backend, args, group)
        callbacks = kwargs.get("host_callbacks", args[2] if len(args) > 2 else ())
        module = _rewritten(plain, run, passes, backend, callbacks)
    except Exception as error:  # of a strict pipeline
        if group is not None:
            group.agree(plain, plain, name, _first_line(error))
        raise
    finally:
        if notify := log.pass_observer.notify:
            passes.seconds = perf_counter() - start - passes.seconds_writing
            notify(passes)
    rest = args if run.plan is None else run.plan.compile_arguments(args)
    agreed = None if group is None else _agreed(group, run, module)
    if agreed is not None and not agreed.verdict.agreed:
        module, rest = plain, args
    try:
        bare, options = without_attribute(module, rest[1])
        executable = compile_(backend, bare, rest[0], options, *rest[2:], **kwargs)
    except Exception as error:
        if agreed is not None and module is not plain:
            agreed.refused(module_name(plain), error)
        if module is plain or run.found.strict:
            raise
        executable = compile_(backend, plain, *args, **kwargs)  # raises if the program is wrong
        _report_failure(error, plain, "XLA does not compile what the pipeline made: ")
        return executable
    if agreed is not None and module is not plain:
        agreed.accepted()
    if run.plan is not None and run.program is not None:
        seconds = perf_counter() - start
        _tune_at_first_call(run, run.plan, plain, executable, seconds, (backend, *args))
    return executable


@dataclass(eq=False)
class _Run:
    """The passes of one program.

    Attributes:
        plain: the program as JAX lowered it.
        found: the pipeline under which the program was lowered.
        label: its name in logs.
        context: of the passes.
        plan: what O3 does; None under other pipelines.
        program: the entry in logs, once the passes have run; None if they do not or fail.
        failure: why the passes have no result; empty if they have.
    """

    plain: ir.Module
    found: Registered
    label: str
    context: PassContext
    plan: tuning.TunePlan | None = None
    program: RewrittenProgram | None = None
    failure: str = ""

    @cached_property
    def is_skipped(self) -> bool:
        """Whether the pipeline is a level and the program tiny."""
        return self.found.is_level and is_tiny(self.plain)


def _planned(
    plain: ir.Module, name: str, backend: Any, args: tuple[Any, ...], group: agreement.Group | None
) -> _Run:
    """The passes to run on a program; under O3 those of its verdict."""
    found, kind = find_registered(name), kind_of_platform(backend.platform)
    rates = rates_of(kind) if group is None else group.rates(kind)
    context = PassContext(kind, found.assume, rates)
    device = None if kind == "cpu" else device_named(kind, backend.devices()[0].device_kind)
    if device is not None:
        context = replace(context, device=device)
    run = _Run(plain, found, name, context)
    if not found.is_tuned or run.is_skipped:
        return run
    try:
        run.plan = tuning.plan_of(plain, run.context, backend, args)
        run.found = replace(found, pipeline=late_pipeline(run.plan.pipeline))
        run.label = run.plan.label
    except Exception as error:  # a bug of jxc must not end the user's program
        if found.strict:
            raise
        _report_failure(error, plain, "O3: ")
    return run


def _agreed(group: agreement.Group, run: _Run, module: ir.Module) -> agreement.Agreement:
    """What the processes of a program agree on; warns if that is not the rewritten module.

    Raises:
        JxcError: they do not agree, and the pipeline is strict.
    """
    plain, name = run.plain, module_name(run.plain)
    options = None if run.plan is None or run.plan.verdict is None else run.plan.verdict.xla_options
    agreed = group.agree(plain, module, run.label, run.failure, options)
    if agreed.verdict.agreed:
        return agreed
    if run.found.strict:
        raise JxcError(agreed.message(name))
    agreed.warn(name)
    if (program := run.program) is not None:
        label = f"{run.label}: not used, the processes do not agree"
        now = replace(
            program, pipeline=label, report=PipelineReport([]), ops_after=program.ops_before
        )
        log.replace_in_logs((block.log for block in blocks_of_thread()), program, now)
        run.program = None
    return agreed


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def _tune_at_first_call(
    run: _Run,
    plan: tuning.TunePlan,
    plain: ir.Module,
    executable: Any,
    seconds: float,
    compiling: tuple[Any, ...],
) -> None:
    """Let the first call of a program decide between candidates, unless there is a verdict."""
    program = run.program
    assert program is not None

    def tuned(verdict: TuneVerdict, report: PipelineReport, module: ir.Module) -> None:
        label, ops = verdict.label, count_ops(module)
        now = replace(program, pipeline=label, report=report, ops_after=ops)
        log.replace_in_logs((block.log for block in blocks_of_thread()), program, now)

    def failed(error: Exception) -> None:
        if run.found.strict:
            raise error
        _report_failure(error, plain, "O3 was not tuned: ")

    call = tuning.FirstCall(
        plan, plain, run.context, executable, program.report, seconds, compiling, lock
    )
    tuning.tune_at_first_call(call, tuned, failed)


def _rewritten(
    plain: ir.Module,
    run: _Run,
    passes: log.PassTexts,
    backend: Any,
    host_callbacks: Sequence[Any],
) -> ir.Module:
    """A rewritten copy of `plain`; `plain` itself if a level skips it or a pass fails."""
    found = run.found
    with lock:
        try:
            if run.is_skipped:
                for block in blocks_of_thread():
                    block.log.skipped += 1
                return plain
            cache = pass_cache(plain, found.pipeline, run.context, backend, host_callbacks)
            result, is_kept = _passed(plain, run, passes, cache)
        except Exception as error:  # a bug of jxc must not end the user's program
            if is_of_other_program(found.pipeline, module_name(plain), run.label, error):
                return plain
            if found.strict:
                raise
            run.failure = _first_line(error)
            _report_failure(error, plain)
            return plain
        note_applied(run.label)
        run.program = RewrittenProgram(
            module_name(plain), run.label, result.report, *result.ops, from_cache=is_kept
        )
        for block in blocks_of_thread():
            block.log.compilations.append(run.program)
    return result.module


def _passed(
    plain: ir.Module, run: _Run, passes: log.PassTexts, cache: PassCache | None
) -> tuple[PipelineResult, bool]:
    """The result of the passes, and whether it comes from the cache."""
    is_observed = log.pass_observer.keep_texts
    kept = None if cache is None or is_observed else cache.read(plain.context)
    if kept is not None:
        return kept, True
    copy = clone_module(plain)
    pipeline = make_pipeline(run.found.pipeline)
    instruments = [passes] if is_observed else []
    report = run_pipeline(copy, pipeline, run.context, instruments=instruments)
    result = PipelineResult(copy, report, (count_ops(plain), count_ops(copy)))
    if cache is not None:
        cache.write(result)
    return result, False


def _report_failure(error: Exception, original: ir.Module, what: str = "") -> None:
    step = error.step.name if isinstance(error, PassError) else what
    program = module_name(original)
    if not first_time((step, program)):
        return
    saved = ""
    if isinstance(error, PassError):
        try:
            saved = f" Reproducer: {write_reproducer(write_text(original), error)}"
        except OSError as cannot:
            saved = f" No reproducer was written: {cannot}"
        error.add_note(saved.strip())
    message = str(error) if isinstance(error, JxcError) else f"{type(error).__name__}: {error}"
    warn_user(f"{what}{message}\nProgram {program!r} is compiled without the pipeline.{saved}")

"""Compiling for the CPU that is here: in this process, to be run, timed, printed."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from ...errors import JxcError, UsageError
from ...files import write_json
from .job import Job


def act(job: Job, flags: dict[str, Any]) -> None:
    """Compile a job and do what the flags say with it."""
    start = perf_counter()
    optimised = job.plain.opt(job.pipeline, assume=job.assume)
    passes_seconds = perf_counter() - start
    options = xla_options(flags["xla_option"])
    start = perf_counter()
    executable = _compiled(optimised, options, job.name, flags["hlo_pass"])
    xla_seconds = perf_counter() - start
    summary = _summary(job, optimised, executable, passes_seconds, xla_seconds)
    return _run(job, executable, summary, flags, options)


def _compiled(
    lowered: Any, options: dict[str, Any], name: str = "-", hlo_pass: str | None = None
) -> Any:
    from ...backend.artifacts.hlo_pass import compile_with
    from ...backend.targets import find_target

    here = find_target("cpu")
    return compile_with(lowered, here, xla_options=options, hlo_pass=hlo_pass, name=name)


def xla_options(texts: tuple[str, ...]) -> dict[str, Any]:
    """What `--xla-option` says, by name."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--xla-option {text}: expected NAME=VALUE")
        options[name] = _literal(value)
    return options


def _literal(text: str) -> Any:
    known = {"true": True, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    return int(text) if text.lstrip("-").isdecimal() else text


def _summary(
    job: Job, optimised: Any, executable: Any, passes_seconds: float, xla_seconds: float
) -> dict[str, Any]:
    from ...ir import count_ops

    cost, memory = executable.cost(), executable.memory()
    return {
        "ops": {"before": count_ops(job.plain.module), "after": count_ops(optimised.module)},
        "rules": optimised.report.hits,
        "seconds": {"passes": passes_seconds, "xla": xla_seconds},
        "flops": cost.get("flops", 0.0),
        "bytes_accessed": cost.get("bytes accessed", 0.0),
        "memory": memory,
    }


def _run(
    job: Job, executable: Any, summary: dict[str, Any], flags: dict[str, Any], options: Any
) -> None:
    from .instrumented import print_seen
    from .run import print_bench, print_difference, print_outputs, print_summary

    if not (flags["run"] or flags["bench"] or flags["diff_plain"]):
        if flags["as_json"]:
            return print_json(summary, flags["output"])
        return print_summary(summary)
    from ...check.fill import fill

    args, kwargs = fill((job.args, job.kwargs), flags["inputs"], flags["seed"])
    agrees = True
    if flags["run"]:
        outputs, seen = _ran(executable, args, kwargs)
        print_outputs(outputs, summary, quiet=flags["as_json"])
        if seen is not None:
            print_seen(seen, summary, quiet=flags["as_json"])
            agrees = seen.nans is None
    if flags["bench"] or flags["diff_plain"]:
        programs = {"jxc": executable}
        if flags["diff_plain"]:
            programs = {"jax.jit": _compiled(job.plain, options), **programs}
        print_bench(programs, args, kwargs, flags["bench"] or 20, summary, quiet=flags["as_json"])
    if flags["diff_plain"]:
        is_same = print_difference(programs, args, kwargs, summary, quiet=flags["as_json"])
        agrees = agrees and is_same
    if flags["as_json"]:
        print_json(summary, flags["output"])
    if not agrees:
        sys.exit(1)
    return None


def _ran(executable: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """What it returned, and what instrumenting passes saw; None where there were none."""
    import jax

    from ...tools.debug.executable import Instrumented

    try:
        if isinstance(executable, Instrumented):
            return executable.run(*args, **kwargs)
        return jax.block_until_ready(executable(*args, **kwargs)), None
    except Exception as error:  # a callback of the user's, or memory
        raise JxcError(f"running it failed: {type(error).__name__}: {error}") from error


def print_json(figures: dict[str, Any], output: str) -> None:
    """One object, with the version of its form."""
    write_json({"schema_version": 1, **figures}, output)

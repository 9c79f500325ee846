"""Compiling for this machine's CPU in this process: running, timing, comparing with plain jax.jit.

What is printed is also collected in a summary, the object of `--json`. Flops and bytes are those of
`jxc report`.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any

import click
import numpy as np

from ...backend.targets import find_target
from ...backend.timing import interleave, repeated_call, show_milliseconds, time_ratio
from ...check.deviation import Deviation, compare_calls
from ...display.progress import progress
from ...errors import JxcError
from ...files import write_json
from ...hlo import parse_hlo
from ...hlo.work import executed, totals_of
from ...units import show_bytes, show_count
from .job import CompileJob
from .options import CompileOptions

_SHOWN = 8  # elements up to which a result is printed whole


def compile_and_run(job: CompileJob, options: CompileOptions) -> None:
    """Compile a program for this machine, and run it, time it or print a summary."""
    from ...ir import count_ops

    pipeline, found_options = job.passes_for(find_target("cpu"))
    start = perf_counter()
    optimised = job.plain.opt(pipeline, assume=job.assume)
    passed = perf_counter()
    executable = _compiled(optimised, options, job.name, options.hlo_pass, found_options)
    seconds = {"passes": passed - start, "xla": perf_counter() - passed}
    totals = totals_of(executed(parse_hlo(executable.as_text("hlo"))))
    summary = {
        "ops": {"before": count_ops(job.plain.module), "after": count_ops(optimised.module)},
        "rules": optimised.report.hits,
        "seconds": seconds,
        "flops": totals.flops,
        "bytes_accessed": totals.bytes_in + totals.bytes_out,
        "memory": executable.memory(),
    }
    agrees = True
    if options.run or options.bench or options.diff_plain:
        agrees = _run(job, executable, summary, options)
    elif not options.as_json:
        _print_summary(summary)
    if options.as_json:
        write_json({"schema_version": 1, **summary}, options.output)
    if not agrees:
        sys.exit(1)


def _compiled(
    lowered: Any,
    options: CompileOptions,
    name: str = "-",
    hlo_pass: str | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    from ...backend.artifacts.hlo_pass import compile_with

    settings = {**more, **options.xla_options()}
    with progress(f"compiling {name}"):
        return compile_with(
            lowered, find_target("cpu"), xla_options=settings, hlo_pass=hlo_pass, name=name
        )


def _run(
    job: CompileJob, executable: Any, summary: dict[str, Any], options: CompileOptions
) -> bool:
    """Run, time and compare a program; returns whether its results are right as far as checked."""
    from ...check.fill import fill

    args, kwargs = fill((job.args, job.kwargs), options.inputs)
    agrees, quiet = True, options.as_json
    if options.run:
        outputs, recorded = _ran(executable, args, kwargs)
        print_outputs(outputs, summary, quiet=quiet)
        if recorded is not None:
            _print_instrumented(recorded, summary, quiet=quiet)
            agrees = recorded.nans is None
    if options.bench or options.diff_plain:
        programs = {"jxc": executable}
        if options.diff_plain:
            programs = {"jax.jit": _compiled(job.plain, options), **programs}
        print_bench(programs, args, kwargs, options.bench or 20, summary, quiet=quiet)
        if options.diff_plain:
            plain, ours = programs.values()
            found = compare_calls(plain, ours, args, kwargs)
            summary["difference"] = {**vars(found), "agrees": found.agrees}
            agrees = agrees and found.agrees
            if not quiet:
                _print_difference(found)
    return agrees


def _ran(executable: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The results, and the record of instrumenting passes; None where there were none."""
    import jax

    from ...tools.debug.executable import Instrumented

    try:
        if isinstance(executable, Instrumented):
            return executable.run(*args, **kwargs)
        return jax.block_until_ready(executable(*args, **kwargs)), None
    except Exception as error:  # a callback of the user's, or memory
        raise JxcError(f"running it failed: {type(error).__name__}: {error}") from error


def _print_instrumented(recorded: Any, summary: dict[str, Any], *, quiet: bool) -> None:
    """Print statistics of traced values, and where the first NaN comes from."""
    summary["values"] = [each.as_json() for each in recorded.values]
    summary["values_left_out"] = recorded.left_out
    summary["nans"] = recorded.nans.as_json() if recorded.nans else None
    if quiet:
        return
    for each in recorded.values:
        click.echo(str(each))
    if recorded.left_out:
        click.echo(
            f"{recorded.left_out} more values have that name; the pass option most=N prints more"
        )
    if recorded.nans:
        click.echo(str(recorded.nans))


def _print_summary(summary: dict[str, Any]) -> None:
    """Print ops, rules, seconds, flops, bytes and memory, a line each."""
    ops, seconds, memory = summary["ops"], summary["seconds"], summary["memory"]
    rows = {
        "ops": f"{ops['before']} -> {ops['after']}",
        "rules": ", ".join(f"{name} {n}" for name, n in summary["rules"].items()) or "none fired",
        "passes": f"{seconds['passes'] * 1e3:.1f} ms",
        "XLA": f"{seconds['xla'] * 1e3:.0f} ms",
        "flops": show_count(summary["flops"]),
        "bytes": f"{show_bytes(summary['bytes_accessed'])} moved",
        "memory": ", ".join(f"{name} {show_bytes(size)}" for name, size in memory.items() if size),
    }
    for name, value in rows.items():
        click.echo(f"{name:8}{value}")


def print_outputs(outputs: Any, summary: dict[str, Any], *, quiet: bool) -> None:
    """Print each result: its path, type, and values or their statistics."""
    import jax

    summary["outputs"] = [
        _output(jax.tree_util.keystr(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(outputs)
    ]
    for row in summary["outputs"] if not quiet else ():
        values = row.get("values")
        if values is None:
            values = f"min {row['min']:.6g}  mean {row['mean']:.6g}  max {row['max']:.6g}"
        click.echo(f"{row['path'] or 'result'}: {row['type']}  {values}")


def _output(path: str, leaf: Any) -> dict[str, Any]:
    import jax

    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    shape = ",".join(map(str, array.shape))
    row: dict[str, Any] = {"path": path, "type": f"{array.dtype.name}[{shape}]"}
    is_real = array.dtype.kind in "biuf" or "float" in array.dtype.name
    if array.size <= _SHOWN or not is_real:
        row["values"] = np.array2string(array, threshold=_SHOWN, separator=", ").replace("\n", "")
        return row
    wide = array.astype(np.float64)
    row |= {"min": float(wide.min()), "mean": float(wide.mean()), "max": float(wide.max())}
    counts = {"nans": np.isnan(wide).sum(), "infinities": np.isinf(wide).sum()}
    return row | {name: int(count) for name, count in counts.items() if count}


def print_bench(
    programs: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    rounds: int,
    summary: dict[str, Any],
    *,
    quiet: bool,
) -> None:
    """Milliseconds per call of each program, and the ratio of two, with its interval."""
    calls = {
        name: repeated_call(program, args, kwargs, donates=_donates(program))
        for name, program in programs.items()
    }
    seconds = interleave(calls, rounds)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    summary["bench"] = {"rounds": rounds, "median_seconds": medians}
    width = max(8, *(len(name) + 1 for name in medians))
    lines = [f"{name:{width}}{show_milliseconds(s)} a call" for name, s in seconds.items()]
    if len(seconds) == 2:
        plain, ours = seconds.values()
        found = time_ratio(plain, ours)
        summary["bench"] |= {"ratio": found.ratio, "interval": [found.low, found.high]}
        lines.append(f"ratio   {found} (above 1: jxc is faster)")
    if not quiet:
        how = f"medians (and quartiles) of {rounds} interleaved rounds"
        click.echo("\n".join([*lines, how]))


def _donates(program: Any) -> bool:
    import jax

    donated = jax.tree.leaves(jax.tree.map(lambda i: i.donated, program.compiled.args_info))
    return any(donated) or bool(program.memory()["alias"])


def _print_difference(found: Deviation) -> None:
    """Print how much the results differ, and whether that is rounding."""
    detail = "bit for bit"
    if not found.equal_bits:
        detail = (
            f"within {found.error:.2g} relative; one ulp of input moves plain jax.jit by "
            f"{found.sensitivity:.2g}"
        )
    if found.misplaced:
        detail += f"; {found.misplaced} elements are NaN or infinite in one only"
    verdict = "agree" if found.agrees else "DIFFER"
    where = "" if found.agrees else f" (output {found.output})"
    click.echo(f"results {verdict} {detail}{where}")

"""What `jxc compile` prints, and the figures it puts into `--json`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from ...backend.timing import interleave, show_milliseconds, time_ratio
from ...check.deviation import compare_calls
from ...units import show_bytes

_SHOWN = 8  # elements an output may have to be printed whole


def print_summary(summary: dict[str, Any]) -> None:
    """Ops, rules, seconds, and XLA's own counts, a line each."""
    ops, seconds, memory = summary["ops"], summary["seconds"], summary["memory"]
    rows = {
        "ops": f"{ops['before']} -> {ops['after']}",
        "rules": _rules(summary["rules"]),
        "passes": f"{seconds['passes'] * 1e3:.1f} ms",
        "XLA": f"{seconds['xla'] * 1e3:.0f} ms",
        "flops": f"{summary['flops']:.4g}",
        "bytes": f"{summary['bytes_accessed']:.4g} accessed",
        "memory": ", ".join(f"{name} {show_bytes(size)}" for name, size in memory.items() if size),
    }
    for name, value in rows.items():
        click.echo(f"{name:8}{value}")


def _rules(hits: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in hits.items()) or "none fired"


def print_outputs(outputs: Any, summary: dict[str, Any], *, quiet: bool) -> None:
    """One line for each array returned: its path, type, and values or their statistics."""
    import jax

    rows = [
        (jax.tree_util.keystr(path), x) for path, x in jax.tree_util.tree_leaves_with_path(outputs)
    ]
    summary["outputs"] = [_output(path, x) for path, x in rows]
    if not quiet:
        for row in summary["outputs"]:
            values = (
                row.get("values")
                or f"min {row['min']:.6g}  mean {row['mean']:.6g}  max {row['max']:.6g}"
            )
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
    calls = {name: _caller(program, args, kwargs) for name, program in programs.items()}
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


def _caller(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with arguments already on the device; fresh copies where the program eats them."""
    import jax

    args, kwargs = jax.device_put((args, kwargs))
    donated = any(jax.tree.leaves(jax.tree.map(lambda i: i.donated, program.compiled.args_info)))
    if not donated and not program.memory()["alias"]:
        return lambda: program(*args, **kwargs)

    def call() -> Any:
        fresh_args, fresh_kwargs = jax.tree.map(jax.numpy.copy, (args, kwargs))
        return program(*fresh_args, **fresh_kwargs)

    return call


def print_difference(
    programs: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    summary: dict[str, Any],
    *,
    quiet: bool,
) -> bool:
    """How far the results lie apart; returns whether that is rounding."""
    plain, ours = programs.values()
    found = compare_calls(plain, ours, args, kwargs)
    summary["difference"] = {**vars(found), "agrees": found.agrees}
    verdict = "agree" if found.agrees else "DIFFER"
    detail = (
        "bit for bit"
        if found.equal_bits
        else f"within {found.error:.2g} relative; one ulp of input moves plain jax.jit by "
        f"{found.sensitivity:.2g}"
    )
    if found.misplaced:
        detail += f"; {found.misplaced} elements are NaN or infinite in one only"
    if not quiet:
        click.echo(
            f"results {verdict} {detail}" + ("" if found.agrees else f" (output {found.output})")
        )
    return found.agrees

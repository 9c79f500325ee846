"""Ops that are slow on the target, and what our passes would gain."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from ....backend.timing import interleave
from ....errors import JxcError
from ....frontend.places import Place
from ...report import Compiled, report
from ..equations import bytes_of
from ..finding import Cost, Finding
from ..program import Program
from ..registry import compiled_check
from ..thresholds import LEAST_GAIN, LEAST_WIDENED
from ..watched import Hit

_PASSES = (
    "convolution",
    "elementary",
    "indexing",
    "pooling",
    "reductions",
    "scans",
    "small-matrices",
    "sorting",
)
"""Those whose rules are there because the target is slow at something, and not to tidy."""

_SLOW_F64 = 8  # times as many f32 operations a second as f64's


@compiled_check
def slow_on_target(program: Program) -> Iterator[Finding]:
    """Ops that the target is slow at: f64 where there are no units for it, and what O2 replaces.

    Depthwise convolutions, pooling windows, sorts, sines and the like on XLA:CPU. Said only where
    our passes gain a tenth of a run: measured, where the target is this machine's CPU, elsewhere by
    the compiler's own estimate, or the roofline.
    """
    yield from _doubles(program)
    hits = _large(program)
    gain = _gain(program) if hits else None
    if gain is None:
        return
    before, after, how = gain
    if before - after < LEAST_GAIN * before:
        return
    lines = _heavy_lines(hits)
    for place in lines:
        own = [hit for hit in hits if hit.place == place]
        names = dict.fromkeys(f"{hit.op} ({hit.rule})" for hit in own)
        together = f"; together with {len(lines) - 1} more" if len(lines) > 1 else ""
        yield Finding(
            place,
            f"slow on {program.target.name}: {', '.join(list(names)[:2])}",
            f'Compile it by jxc.jit(fn), or under `with jxc.use("O2")`, which replaces it: '
            f"{own[0].doc.rstrip('.')}.",
            Cost(seconds=before - after, how=f"of {before:.3g} s a run, {how}{together}"),
        )


def _heavy_lines(hits: list[Hit]) -> list[Place | None]:
    """The lines that do a tenth or more of what the one does that does the most."""
    work: dict[Place | None, int] = {}
    for hit in hits:
        work[hit.place] = work.get(hit.place, 0) + hit.flops + hit.bytes
    return [place for place in work if 10 * work[place] >= max(work.values())]


def _large(program: Program) -> list[Hit]:
    """The hits that take a share of what the program does."""
    return [hit for hit in program.hits if hit.pass_name in _PASSES]


def _gain(program: Program) -> tuple[float, float, str] | None:
    """Seconds of a run without our passes and with them, and how they are known."""
    if program.target.is_present and program.target.kind == "cpu":
        return _measured(program)
    made = report(program.lowered, program.target, "O2", with_plain=False).optimised
    if not isinstance(made, Compiled):
        return None
    sides = [program.compiled, made]
    known = [each.estimated_seconds for each in sides]
    if all(known):
        return known[0] or 0.0, known[1] or 0.0, "by the compiler's own estimate"
    return (*(each.roofline_seconds for each in sides), "by the roofline")  # type: ignore[return-value]


def _measured(program: Program) -> tuple[float, float, str] | None:
    """Both programs timed on random arguments; None where they talk to the world, or cannot run.

    Nor is run what would take this machine's memory or time: a linter is no training.
    """
    from ....check.fill import fill

    if program.jaxpr.effects or any("callback" in step.name for step in program.steps):
        return None
    if _COPIES * program.compiled.memory.peak > _free_memory() / 2:
        return None
    if program.compiled.roofline_seconds > _PATIENCE:
        return None
    plain = program.lowered
    try:
        args, kwargs = _abstract(plain.jax_lowered.args_info)
        args, kwargs = fill((args, kwargs), "random")
        both = {"plain": plain.compile(), "ours": plain.opt("O2").compile()}
    except (JxcError, TypeError, ValueError):
        return None
    calls = {name: _caller(made, args, kwargs) for name, made in both.items()}
    before, after = _times(calls["plain"], calls["ours"])
    if any(each > (1 - LEAST_GAIN) * other for each, other in zip(after, before, strict=True)):
        return None  # what does not show in every round may be what else the machine does
    return statistics.median(before), statistics.median(after), "measured"


_PATIENCE = 2.0  # seconds that timing may take, but for a call of each
_COPIES = 4  # of what a program holds at its peak: two programs, and the arguments they donate


def _free_memory() -> int:
    """Bytes that this machine has left, or has where it does not tell."""
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


def _times(plain: Callable[[], Any], ours: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Seconds a call of both, in turn: five rounds, fewer where a call takes long."""
    first = [_first(call) for call in (plain, ours)]
    rounds = min(5, int(_PATIENCE / max(sum(first), 1e-9)))
    if rounds < 2:
        return first[:1], first[1:]
    seconds = interleave({"plain": plain, "ours": ours}, rounds)
    return seconds["plain"], seconds["ours"]


def _first(call: Callable[[], Any]) -> float:
    """Seconds of a call; of the second where the first is quick."""
    import jax

    for _ in range(2):
        start = perf_counter()
        jax.block_until_ready(call())
        took = perf_counter() - start
        if took > _PATIENCE / 2:
            break
    return took


def _abstract(info: Any) -> Any:
    import jax

    return jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info)


def _caller(made: Any, args: Any, kwargs: Any) -> Any:
    import jax

    args, kwargs = jax.device_put((args, kwargs))
    if not made.memory()["alias"]:
        return lambda: made(*args, **kwargs)
    return lambda: made(*jax.tree.map(jax.numpy.copy, args), **jax.tree.map(jax.numpy.copy, kwargs))


def _doubles(program: Program) -> Iterator[Finding]:
    """The first line that computes in f64, where the target has no units for it, or few."""
    peaks = program.target.device.peak_flops
    has_units = program.target.kind == "cpu" or (
        "f64" in peaks and peaks["f64"] * _SLOW_F64 > peaks.get("f32", 0.0)
    )
    sizes: dict[Place | None, int] = {}
    for step in () if has_units else program.steps:
        avals = [each.aval for each in step.equation.outvars]
        size = sum(bytes_of(a) for a in avals if str(getattr(a, "dtype", "")) == "float64")
        if size >= LEAST_WIDENED:
            sizes[step.place] = sizes.get(step.place, 0) + size
    if sizes:
        place = max(sizes, key=lambda each: sizes[each])
        rate = f"{peaks['f64'] / peaks['f32']:.2g} of f32's rate" if "f64" in peaks else "software"
        yield Finding(
            place,
            f"f64 on {program.target.name} runs at {rate}"
            if "f64" in peaks
            else f"f64 on {program.target.name} is computed by software, several ops for each",
            "Compute in f32, or in f32 pairs where it matters; leave jax_enable_x64 off.",
            Cost(
                bytes=sum(sizes.values()),
                how=f"of f64 values on {len(sizes)} line{'s' * (len(sizes) != 1)}",
            ),
        )

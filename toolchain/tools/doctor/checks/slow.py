"""Ops that are slow on the target, and what our passes would gain."""

from __future__ import annotations

from collections.abc import Iterator

from ....source import SourceLine
from ...report.report import Compiled, report
from ..equations import bytes_of
from ..finding import Cost, Finding
from ..measure import measured
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


def _heavy_lines(hits: list[Hit]) -> list[SourceLine | None]:
    """The lines that do a tenth or more of what the one does that does the most."""
    work: dict[SourceLine | None, int] = {}
    for hit in hits:
        work[hit.place] = work.get(hit.place, 0) + hit.flops + hit.bytes
    return [place for place in work if 10 * work[place] >= max(work.values())]


def _large(program: Program) -> list[Hit]:
    """The hits that take a share of what the program does."""
    return [hit for hit in program.hits if hit.pass_name in _PASSES]


def _gain(program: Program) -> tuple[float, float, str] | None:
    """Seconds of a run without our passes and with them, and how they are known."""
    if program.target.is_present and program.target.kind == "cpu":
        return measured(program)
    made = report(program.lowered, program.target, "O2", with_plain=False).optimised
    if not isinstance(made, Compiled):
        return None
    sides = [program.compiled, made]
    known = [each.estimated_seconds for each in sides]
    if all(known):
        return known[0] or 0.0, known[1] or 0.0, "by the compiler's own estimate"
    return (*(each.roofline_seconds for each in sides), "by the roofline")  # type: ignore[return-value]


def _doubles(program: Program) -> Iterator[Finding]:
    """The first line that computes in f64, where the target has no units for it, or few."""
    peaks = program.target.device.peak_flops
    has_units = program.target.kind == "cpu" or (
        "f64" in peaks and peaks["f64"] * _SLOW_F64 > peaks.get("f32", 0.0)
    )
    sizes: dict[SourceLine | None, int] = {}
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

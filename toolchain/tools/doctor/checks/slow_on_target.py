"""Ops that are slow on the target, and the time that our passes save there.

If rules of O2 replace ops of the program, the program is compiled with and without O2. If the
target is this machine's CPU, both are timed; elsewhere both are estimated. Findings are reported
only if O2 gains `_MIN_GAIN` of a run.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import jax

from ....backend.artifacts.loading import callable_here
from ....backend.timing import interleave, repeated_call
from ....backend.tuning import free_bytes
from ....compiled.kernels import Kernel
from ....compiled.program import Compiled, compile_lowered, read_optimised
from ....cost.device import Device
from ....errors import JxcError
from ....hlo import Module
from ....source import SourceLine
from ....units import counted
from ..finding import Finding, FindingCost, compiled_check
from ..kernel_times import TimedRun, time_kernels
from ..program import ExaminedProgram
from ..rule_hits import RuleHit
from ..thresholds import MIN_WIDENED_BYTES

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
"""The passes whose rules replace an op that is slow on the target, not those that simplify."""

_MIN_GAIN = 0.1  # of a run
_SLOW_F64 = 8  # times slower than f32: then f64 has few units
_MAX_SECONDS = 2.0  # of timing, without three calls of each program
_MIN_ROUNDS, _MAX_ROUNDS = 2, 5
_COPIES = 4  # of the peak memory: two programs, and copies of the arguments that they donate


@compiled_check
def slow_on_target(program: ExaminedProgram) -> Iterator[Finding]:
    """Ops that are slow on the target: f64 without hardware for it, and ops that O2 replaces.

    Examples are depthwise convolutions, pooling windows, sorts and sines on XLA:CPU. Reported only
    if O2 saves a tenth of a run: measured if the target is this machine's CPU, otherwise by the
    compiler's estimate, or else by the roofline.
    """
    yield from _doubles(program)
    gain, hits = gain_of(program), slow_hits(program)
    if gain is None or not gain.is_reported:
        return
    work: Counter[SourceLine | None] = Counter()
    for hit in hits:
        work[hit.place] += hit.flops + hit.bytes
    least = max(work.values()) / 10
    lines = [place for place in work if work[place] >= least]
    saved = gain.before - gain.after
    parts = _parts(program, {place: work[place] for place in lines})
    for place in lines:
        own = [hit for hit in hits if hit.place == place]
        names = dict.fromkeys(f"{hit.op} ({hit.rule})" for hit in own)
        times = max(hit.times for hit in own)
        loop = f", in {times} iterations of a loop" if times > 1 else ""
        how = f"of {gain.before:.3g} s a run, {gain.how}"
        if len(lines) > 1:
            how += f"; the part of this line in what {len(lines)} lines save"
        yield Finding(
            place,
            f"slow on {program.target.name}: {', '.join(list(names)[:2])}{loop}",
            f'Compile it with jxc.jit(fn), or under `with jxc.use("O2")`, which replaces it: '
            f"{own[0].doc.rstrip('.')}.",
            FindingCost(seconds=saved * parts[place], how=how),
        )


def _parts(
    program: ExaminedProgram, work: Mapping[SourceLine | None, int]
) -> dict[SourceLine | None, float]:
    """The part of each line in what O2 saves: by its measured time, or else by flops and bytes."""
    if len(work) == 1:
        return dict.fromkeys(work, 1.0)
    plain = timeable(program, "O0") if program.target.kind == "cpu" else None
    run = plain.timed(program.target.device) if plain else None
    seconds: Counter[tuple[str, int]] = Counter()
    for each in run.kernels if run else ():
        for line in each.kernel.lines[:1]:
            seconds[line.file, line.line] += each.seconds  # type: ignore[assignment]
    found = {place: seconds[place.file, place.line] if place else 0.0 for place in work}
    weights = found if all(found.values()) else {place: float(n) for place, n in work.items()}
    return {place: weight / sum(weights.values()) for place, weight in weights.items()}


class Gain(NamedTuple):
    """Seconds of a run without our passes and with them, and the source of the numbers."""

    before: float
    after: float
    how: str

    @property
    def is_reported(self) -> bool:
        """Whether O2 saves enough of a run."""
        return self.before - self.after >= _MIN_GAIN * self.before


def gain_of(program: ExaminedProgram) -> Gain | None:
    """What O2 gains where it replaces ops that are slow on the target; None if it is not known."""
    if "gain" not in program.kept:
        program.kept["gain"] = _gain(program) if slow_hits(program) else None
    found: Gain | None = program.kept["gain"]
    return found


def slow_hits(program: ExaminedProgram) -> list[RuleHit]:
    """The rewrites of O2 that replace an op that is slow on the target."""
    return [hit for hit in program.hits if hit.pass_name in _PASSES]


def _gain(program: ExaminedProgram) -> Gain | None:
    if program.target.is_present and program.target.kind == "cpu":
        return measured(program)
    made = compile_lowered(program.lowered, program.target, "O2")
    if not isinstance(made, Compiled):
        return None
    before, after = program.compiled.estimated_seconds, made.estimated_seconds
    if before and after:
        return Gain(before, after, "by the compiler's own estimate")
    return Gain(program.compiled.roofline_seconds, made.roofline_seconds, "by the roofline")


def measured(program: ExaminedProgram) -> Gain | None:
    """The measured seconds of a run without our passes and with them, and on which arguments.

    Returns:
        None if the program cannot be timed here, or if our passes do not gain in every round.
    """
    both = timeable(program, "O0"), timeable(program, "O2")
    if both[0] is None or both[1] is None:
        return None
    before, after = _times(both[0].run, both[1].run)
    if any(ours > (1 - _MIN_GAIN) * plain for ours, plain in zip(after, before, strict=True)):
        return None  # a gain that is not in every round may be other load on the machine
    return Gain(statistics.median(before), statistics.median(after), both[0].how)


class Timeable(NamedTuple):
    """A compiled program that can be timed on this machine's CPU.

    Attributes:
        run: calls it on the arguments that were given, or on random ones in place of types.
        module: its optimized HLO.
        kernels: those of `module`.
        how: "measured on ..." these arguments.
    """

    run: Callable[[], Any]
    module: Module
    kernels: Sequence[Kernel]
    how: str

    def timed(self, device: Device) -> TimedRun | None:
        """A recorded run, see `time_kernels`."""
        return time_kernels(self.run, self.module, self.kernels, device)


def timeable(program: ExaminedProgram, level: str) -> Timeable | None:
    """The program at O0 or O2.

    Returns:
        None if it has side effects, cannot run here, or might take much of this machine's memory or
        time.
    """
    if level not in program.kept:
        program.kept[level] = _timeable(program, level)
    found: Timeable | None = program.kept[level]
    return found


def _timeable(program: ExaminedProgram, level: str) -> Timeable | None:
    from ....check.fill import fill

    if program.jaxpr.effects or any("callback" in each.name for each in program.equations):
        return None
    free = free_bytes()
    if free is not None and _COPIES * program.compiled.memory.peak > free / 2:
        return None
    if program.compiled.roofline_seconds > _MAX_SECONDS:
        return None
    plain, info = program.lowered, program.lowered.jax_lowered.args_info
    types = jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info)
    try:
        args, kwargs = fill(program.given or types, "random")
        if level == "O0":
            made: Any = callable_here(plain, program.compiled.build)
            compiled = program.compiled
        else:
            made = plain.opt(level).compile()
            compiled = read_optimised(made.compiled.as_text(), program.target)
    except (JxcError, TypeError, ValueError):
        return None
    donates = any(array.donated for array in program.arguments)
    arguments = "the arguments given" if program.given else "random arguments"
    run = repeated_call(made, args, kwargs, donates=donates)
    return Timeable(run, compiled.module, compiled.kernels, f"measured on {arguments}")


def _times(plain: Callable[[], Any], ours: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Seconds of each call of both, called in alternation for up to `_MAX_SECONDS`.

    The first call of each is not timed: it does work that later calls need not repeat.
    """
    for call in (plain, ours):
        jax.block_until_ready(call())
    start = perf_counter()
    jax.block_until_ready((plain(), ours()))
    rounds = int(_MAX_SECONDS / max(perf_counter() - start, 1e-9))
    seconds = interleave({"plain": plain, "ours": ours}, min(_MAX_ROUNDS, max(_MIN_ROUNDS, rounds)))
    return seconds["plain"], seconds["ours"]


def _doubles(program: ExaminedProgram) -> Iterator[Finding]:
    """The line with the most f64 values, if the target has few units for them or none."""
    peaks = program.target.device.peak_flops
    has_units = program.target.kind == "cpu" or (
        "f64" in peaks and peaks["f64"] * _SLOW_F64 > peaks.get("f32", 0.0)
    )
    sizes: Counter[SourceLine | None] = Counter()
    for each in () if has_units else program.equations:
        avals = [aval for aval in each.results if str(getattr(aval, "dtype", "")) == "float64"]
        size = sum(map(each.bytes_in_one_run, avals))
        if size >= MIN_WIDENED_BYTES:
            sizes[each.place] += size
    if not sizes:
        return
    rate = "is emulated in software: several ops for each"
    if "f64" in peaks:
        rate = f"runs at {peaks['f64'] / peaks['f32']:.2g} times the rate of f32"
    yield Finding(
        sizes.most_common(1)[0][0],
        f"f64 on {program.target.name} {rate}",
        "Compute in f32, or in pairs of f32 where precision matters; leave jax_enable_x64 off.",
        FindingCost(bytes=sizes.total(), how=f"of f64 values on {counted(len(sizes), 'line')}"),
    )

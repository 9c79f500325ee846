"""Reports on a program: what a compiler makes of it, without our passes and with them.

`report` lowers a program for its target and compiles both versions (`compiled`). `as_text` prints
the numbers of all targets side by side, then the sections of each (`sections`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from ...backend.lowered import Lowered, lower
from ...backend.targets import Target, find_target
from ...compiled.fit import Fit
from ...compiled.program import Compiled, Refused, compile_module
from ...compiled.schedule import Step
from ...display.progress import progress as line_of_progress
from ...errors import JxcError, UsageError
from ...ir import write_bytecode
from ...pipeline import PipelineLike
from ...units import counted, show_bytes, show_count, show_seconds, text_width

if TYPE_CHECKING:
    from rich.console import Console

ROWS = 8
"""Rows of a section that are printed unless `--top` says otherwise."""


@dataclass(frozen=True, repr=False)
class Report:
    """A program on one target; `print` gives the tables of the command line.

    Attributes:
        target: the target it was compiled for.
        plain: compiled without our passes; None if that was not requested.
        optimised: compiled with them.
        rules: how often each rule was applied.
        seconds: by stage: "trace", "lower", "passes"; XLA's are in `plain` and `optimised`.
        program: the module before any pass; None if it cannot be lowered for this target.
    """

    target: Target
    plain: Compiled | Refused | None
    optimised: Compiled | Refused
    rules: Mapping[str, int]
    seconds: Mapping[str, float]
    program: ir.Module | None = field(default=None, repr=False)

    @property
    def fit(self) -> Fit | None:
        """Whether it fits into a device's memory, after our passes."""
        return self.optimised.fit

    def __repr__(self) -> str:
        if isinstance(self.optimised, Refused):
            return f"Report({self.target.name}: refused, {self.optimised.message.splitlines()[0]})"
        before = f"{self.plain!r} -> " if isinstance(self.plain, Compiled) else ""
        return f"Report({before}{self.optimised!r})"

    def __str__(self) -> str:
        return as_text([self], {})

    def _repr_html_(self) -> str:
        from ...display.console import HtmlConsole
        from ...display.fragment import fragment

        console = HtmlConsole()
        _print(console, [self], {}, rows=2 * ROWS)
        return fragment("jxc.report", (self.target.name,), console.parts)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        device = self.target.device
        return {
            "target": self.target.name,
            "device": {
                "name": device.name,
                "memory_bytes": device.memory_bytes,
                "bandwidth_bytes_per_second": device.bandwidth,
                "peak_flops": dict(device.peak_flops),
                "source": device.source,
                "network": asdict(device.network) if device.network else None,
            },
            "seconds": dict(self.seconds),
            "rules": dict(self.rules),
            "before": self.plain.as_json() if self.plain else None,
            "after": self.optimised.as_json(),
        }


def report(
    program: Lowered | Callable[..., Any],
    /,
    *args: Any,
    target: Target | str | None = None,
    pipeline: PipelineLike = "O2",
    assume: str | Sequence[str] = (),
    with_plain: bool = True,
    xla_options: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
    **kwargs: Any,
) -> Report:
    """Compile a program for a target, and report its memory, kernels and collectives.

        jxc.report(step, "f32[8,128]", target="tpu:v5e:2x2")
        jxc.report(jxc.lower(step, x), "gpu:h100", "O2")

    Args:
        program: a function, what `jax.jit` made of one, or the result of `jxc.lower`.
        args, kwargs: of a function, as `jxc.lower` takes them; none for a lowered program, except
            that its target and pipeline may be given by position.
        target: the hardware, which need not be present: "cpu" (the default), "tpu:v5e:2x2".
        pipeline: the passes to run.
        assume: promises such as "no-nans".
        with_plain: whether to compile it without the passes too.
        xla_options: XLA's options by name.
        progress: called with a description of each step; by default, a terminal or a notebook
            shows it if it takes long.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the function cannot be lowered, or a pass fails.
    """
    if isinstance(program, Lowered):
        if len(args) > 2 or kwargs or (args and target is not None):
            raise UsageError(
                "report: a lowered program has its arguments; expected report(lowered, target, "
                "pipeline)"
            )
        if args:
            target, pipeline = args[0], args[1] if len(args) == 2 else pipeline
        lowered = program
    elif callable(program):
        lowered = lower(program, *args, **kwargs)
    else:
        raise UsageError(
            "report: expected a function with its arguments, or what jxc.lower returns; found "
            f"{type(program).__name__}"
        )
    hardware = target if isinstance(target, Target) else find_target(target or "cpu")
    with contextlib.ExitStack() as stack:
        tell = progress or stack.enter_context(line_of_progress(f"lowering for {hardware.name}"))
        options = dict(xla_options or {})
        return _report(lowered, hardware, pipeline, assume, with_plain, options, tell)


def _report(
    lowered: Lowered,
    hardware: Target,
    pipeline: PipelineLike,
    assume: str | Sequence[str],
    with_plain: bool,
    options: Mapping[str, Any],
    progress: Callable[[str], None],
) -> Report:
    plain, mesh = lowered, lowered.mesh
    if lowered.platform != hardware.platform:
        progress(f"lowering for {hardware.name}")
        try:
            plain = lowered.for_target(hardware.name)
        except JxcError as error:  # it may still be lowered for other targets
            return Report(hardware, None, Refused(0, str(error), None), {}, lowered.seconds)
    start = perf_counter()
    optimised = plain.opt(pipeline, target=hardware.name, assume=assume)
    seconds = {**lowered.seconds, **plain.seconds, "passes": perf_counter() - start}
    before = None
    if with_plain:
        progress(f"compiling for {hardware.name}, without passes")
        before = compile_module(plain.module, hardware, options, mesh)
    modules = (each.module for each in (plain, optimised))
    if before and len(set(map(write_bytecode, modules))) == 1:
        after = before
    else:
        progress(f"compiling for {hardware.name}")
        after = compile_module(optimised.module, hardware, options, mesh)
    rules = optimised.report.hits if optimised.report else {}
    return Report(hardware, before, after, rules, seconds, plain.module)


# -- as text --------------------------------------------------------------------------------------


def as_text(
    reports: Sequence[Report],
    findings: Mapping[str, Sequence[object]],
    rows: int | None = ROWS,
) -> str:
    """The numbers of every target as columns, the sections of each, and its findings.

    Args:
        reports: one for each target.
        findings: by target, why it is not accepted.
        rows: how many rows of a section are printed; None for all.
    """
    from ...display.console import text_console  # imports rich, to print only

    console = text_console(text_width(120), soft_wrap=False)
    with console.capture() as captured:
        _print(console, reports, findings, rows)
    lines = captured.get().splitlines()
    return "\n".join(line.rstrip() for line in lines)  # tables are padded to their width


def _print(
    console: Console,
    reports: Sequence[Report],
    findings: Mapping[str, Sequence[object]],
    rows: int | None,
) -> None:
    """Print what `as_text` returns."""
    from rich.text import Text

    from .sections import new_table, print_sections

    if reports:
        table = new_table("bold")
        for name in ("", *(each.target.name for each in reports)):
            table.add_column(name)
        for label, cell in _NUMBERS.items():
            cells = [cell(each) for each in reports]
            if any(cells):
                table.add_row(label, *(Text(*c) if isinstance(c, tuple) else c for c in cells))
        console.print(table)
    for each in reports:
        if isinstance(each.optimised, Compiled):
            print_sections(console, each.optimised, rows)
    for each in reports:
        for finding in findings.get(each.target.name, ()):
            console.print(Text(f"{each.target.name}: {finding}", style="bold red"))
        if each.fit and each.fit.fits is False:
            for advice in each.fit.advice or each.fit.largest:
                console.print(Text(f"  {advice}"))


_Cell = str | tuple[str, str]
"""A text, or a text and its style."""


def _both(read: Callable[[Compiled], Any], show: Callable[[Any], str]) -> Callable[[Report], str]:
    """A cell with a number before and after our passes; one number if both print alike."""

    def cell(found: Report) -> str:
        sides = [side for side in (found.plain, found.optimised) if isinstance(side, Compiled)]
        texts = [show(value) for value in map(read, sides) if value is not None]
        return " → ".join(dict.fromkeys(texts))

    return cell


def _verdict(found: Report) -> _Cell:
    if found.fit is None:
        return "not compiled", "bold red"
    if found.fit.fits is None:
        return "not known"
    if not found.fit.fits:
        return "DOES NOT FIT", "bold red"
    return f"yes, {100 * found.fit.needed / found.fit.available:.2g}%", "green"


def _seconds(name: str) -> Callable[[Report], str]:
    return lambda found: show_seconds(found.seconds[name]) if name in found.seconds else ""


def _rules(found: Report) -> str:
    total = sum(found.rules.values())
    return f"{total} by {counted(len(found.rules), 'rule')}" if total else "none"


def _collectives(compiled: Compiled) -> str | None:
    if not compiled.collectives:
        return None
    calls = sum(each.times for each in compiled.collectives)
    size = sum(each.payload * each.times for each in compiled.collectives)
    return f"{calls:.0f}, {show_bytes(size)}"


def _step(show: Callable[[Step], str]) -> Callable[[Report], str]:
    """A cell on the time of a step with its communication; empty where that is not known."""

    def text(compiled: Compiled) -> str | None:
        has_price = compiled.collectives and compiled.step.is_priced
        return show(compiled.step) if has_price else None

    return _both(text, str)


def _hidden(step: Step) -> str:
    return f"{show_seconds(step.hidden_seconds)} of {show_seconds(step.network_seconds)}"


def _refusal(found: Report) -> str:
    """The first line of the compiler's message, if it refused for another reason than memory."""
    refused = found.optimised
    if not isinstance(refused, Refused) or refused.fit:
        return ""
    return refused.message.partition("\n")[0]


_NUMBERS: dict[str, Callable[[Report], _Cell]] = {
    "fits": _verdict,
    "  into": lambda r: show_bytes(r.target.device.memory_bytes) + " a device",
    "memory at peak": _both(lambda c: c.memory.peak, show_bytes),
    "  arguments": _both(lambda c: c.memory.arguments, show_bytes),
    "  outputs": _both(lambda c: c.memory.outputs, show_bytes),
    "  temporaries": _both(lambda c: c.memory.temporaries, show_bytes),
    "  shared (donated)": _both(lambda c: -c.memory.aliases or None, show_bytes),
    "code, constants": _both(lambda c: c.memory.needed - c.memory.peak or None, show_bytes),
    "scratch": _both(lambda c: c.scratch_bytes or None, show_bytes),
    "flops": _both(lambda c: c.totals.flops, show_count),
    "bytes moved": _both(lambda c: c.totals.bytes_in + c.totals.bytes_out, show_bytes),
    "flops a byte": _both(lambda c: c.totals.intensity, "{:.3g}".format),
    "kernels": _both(lambda c: c.totals.launches, "{:.0f}".format),
    "collectives": _both(_collectives, str),
    "time, by the compiler": _both(lambda c: c.estimated_seconds, show_seconds),
    "time, roofline": _both(lambda c: c.roofline_seconds, show_seconds),
    "time of a step": _step(lambda s: show_seconds(s.seconds)),
    "  computation": _step(lambda s: show_seconds(s.computation_seconds)),
    "  communication": _step(lambda s: f"{show_seconds(s.exposed_seconds)}, {s.share:.0%}"),
    "  overlapped": _step(_hidden),
    "StableHLO ops": _both(lambda c: c.ops, str),
    "rewrites": _rules,
    "trace": _seconds("trace"),
    "lower": _seconds("lower"),
    "passes": _seconds("passes"),
    "XLA": _both(lambda c: c.build.seconds, show_seconds),
    "refused": _refusal,
}

"""Comparing two programs: first their ops, then metrics of their optimized HLO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from jaxlib.mlir import ir

from ...errors import JxcError
from ...hlo import parse_hlo
from ...ir import count_ops
from ...units import show_bytes, show_count, show_seconds
from .difference import GraphDifference, differ
from .graph import Graph, ToQuotedLine, graph_of_hlo, line_reader
from .stablehlo import graph_of_module

if TYPE_CHECKING:
    from ...backend.targets import Target
    from ..report.compiled import Compiled, Refused


@dataclass(frozen=True)
class ComparedProgram:
    """One side of a comparison.

    Attributes:
        name: as the user spelled it, such as "HEAD~1:f.py:step".
        module: after the pipeline; None if the program is HLO text.
        hlo: the text, if the program is HLO text.
        pipeline: the pipeline that ran on it, as text.
        target: what it is compiled for; None if it is not compiled.
        to_line: quotes the lines of Python that it was lowered from.
        rules: how often each rule of the pipeline applied.
        seconds: by stage.
    """

    name: str
    module: ir.Module | None
    hlo: str = field(default="", repr=False)
    pipeline: str = ""
    target: Target | None = None
    to_line: ToQuotedLine = field(default_factory=line_reader, repr=False)
    rules: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def target_name(self) -> str:
        """The name of the target; empty if there is none."""
        return self.target.name if self.target else ""


@dataclass(frozen=True)
class Metric:
    """A number of each of two programs.

    Attributes:
        name: in `--json`.
        label: in the table.
        unit: "bytes", "flops", "seconds", or empty for a count.
        before, after: the number of the first and of the second program; None if not known.
    """

    name: str
    label: str
    unit: Literal["", "bytes", "flops", "seconds"]
    before: float | None
    after: float | None

    @property
    def differs(self) -> bool:
        """Whether the number shows that the programs differ.

        Seconds differ in each run, and ops are compared one by one. A number that only one program
        has is not a difference.
        """
        if self.unit == "seconds" or self.name == "ops":
            return False
        return self.before is not None and self.after is not None and self.before != self.after

    @property
    def shown(self) -> tuple[str, str]:
        """Both numbers with their unit; empty if not known."""
        shows = {"bytes": show_bytes, "seconds": show_seconds, "flops": show_count}
        show = shows.get(self.unit, "{:.0f}".format)
        before, after = ("" if n is None else show(n) for n in (self.before, self.after))
        return before, after

    @property
    def ratio(self) -> str:
        """The relative change, such as "+12.5%"; empty if there is none."""
        if not self.before or self.after is None or self.before == self.after:
            return ""
        return f"{100 * (self.after / self.before - 1):+.1f}%"

    def as_json(self) -> dict[str, Any]:
        """The metric as an object."""
        return {"unit": self.unit, "before": self.before, "after": self.after}


@dataclass(frozen=True, repr=False)
class ProgramComparison:
    """How two programs differ.

    Attributes:
        programs: the two.
        difference: op by op.
        metrics: numbers of both.
        compiled: each as the compiler left it; None if it was not compiled.
        stage: which ops are compared: "stablehlo", or "hlo" after XLA has optimized them.
    """

    programs: tuple[ComparedProgram, ComparedProgram]
    difference: GraphDifference
    metrics: Sequence[Metric]
    compiled: tuple[Compiled | Refused | None, Compiled | Refused | None]
    stage: str

    def __repr__(self) -> str:
        names = " and ".join(program.name for program in self.programs)
        groups = self.difference.groups
        lines = len({str(group.site) for group in groups})
        result = f"{len(groups)} differences on {lines} lines" if groups else "the ops are the same"
        return f"<jxc diff of {names}: {'the same' if self.is_same else result}>"

    @property
    def is_same(self) -> bool:
        """Whether nothing differs except times."""
        return self.difference.is_same and not any(each.differs for each in self.metrics)

    def as_json(self) -> dict[str, Any]:
        """The comparison as an object."""
        return {
            "same": self.is_same,
            "stage": self.stage,
            "before": _side_as_json(self.programs[0], self.compiled[0]),
            "after": _side_as_json(self.programs[1], self.compiled[1]),
            "figures": {each.name: each.as_json() for each in self.metrics},
            "difference": self.difference.as_json(),
        }


def _side_as_json(program: ComparedProgram, compiled: Any) -> dict[str, Any]:
    return {
        "name": program.name,
        "pipeline": program.pipeline,
        "target": program.target_name or None,
        "rules": dict(program.rules),
        "seconds": dict(program.seconds),
        "refused": getattr(compiled, "message", None),
    }


def compare(
    one: ComparedProgram,
    other: ComparedProgram,
    *,
    stage: str = "stablehlo",
    xla_options: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> ProgramComparison:
    """Compare two programs.

    Args:
        one, other: their modules must be in one MLIR context. Each is compiled if it has a target,
            unless both are the same program for the same target.
        stage: which ops are compared: "stablehlo", or "hlo" after the compiler.
        xla_options: XLA's options by name.
        progress: called with a description of each step.

    Raises:
        JxcError: the compiler of a target is not installed, or there is no HLO to compare.
    """
    programs = (one, other)
    difference = None
    if stage == "stablehlo":
        progress("comparing")
        difference = differ(*(_graph(program) for program in programs))
    needs_compiler = difference is None or not difference.is_same or one.target != other.target
    compiled: list[Compiled | Refused | None] = [None, None]
    if needs_compiler:
        compiled = [_compiled(program, xla_options or {}, progress) for program in programs]
    if difference is None:
        progress("comparing")
        graphs = [_optimized(p, made) for p, made in zip(programs, compiled, strict=True)]
        difference = differ(*graphs)
    metrics = metrics_of(difference, compiled[0], compiled[1])
    return ProgramComparison(programs, difference, metrics, (compiled[0], compiled[1]), stage)


def _graph(program: ComparedProgram) -> Graph:
    if program.module is None:
        return graph_of_hlo(parse_hlo(program.hlo), program.to_line)
    return graph_of_module(program.module, program.to_line)


def _optimized(program: ComparedProgram, compiled: Any) -> Graph:
    """The graph of a program's optimized HLO."""
    if program.module is None:
        return _graph(program)
    if not hasattr(compiled, "module"):
        reason = getattr(compiled, "message", "") or "it is not compiled (--no-compile)"
        raise JxcError(f"{program.name} has no optimized HLO to compare: {reason}")
    return graph_of_hlo(compiled.module, program.to_line)


def _compiled(
    program: ComparedProgram, xla_options: Mapping[str, Any], progress: Callable[[str], None]
) -> Compiled | Refused | None:
    if program.target is None:
        return None
    from ...backend.from_module import uncallable_from_module
    from ..report.compiled import Refused, compile_module, read_optimised

    if program.module is None:
        return read_optimised(program.hlo, program.target)
    progress(f"compiling {program.name} for {program.target.name}")
    try:
        module = uncallable_from_module(program.module).module
    except JxcError as error:
        return Refused(count_ops(program.module), str(error), None)
    return compile_module(module, program.target, xla_options)


# Metrics

_Read = Callable[["Compiled"], float | None]


def metrics_of(
    difference: GraphDifference, one: Compiled | Refused | None, other: Compiled | Refused | None
) -> list[Metric]:
    """The numbers of two programs that at least one of them has.

    Args:
        difference: has the number of ops, calls followed.
        one, other: the compiled programs; None if they were not compiled.
    """
    ops = [sum(counts.values()) for counts in difference.ops]
    found = [Metric("ops", "ops", "", ops[0], ops[1])]
    if one is None and other is None:
        return found
    from ..report.compiled import Compiled

    for name, label, unit, read in _METRICS:
        before, after = (read(s) if isinstance(s, Compiled) else None for s in (one, other))
        if before is not None or after is not None:
            found.append(Metric(name, label, unit, before, after))
    return found


def _fusions(compiled: Compiled) -> int:
    computations = compiled.module.computations.values()
    return sum(each.opcode == "fusion" for c in computations for each in c.instructions)


def _memory(name: str) -> _Read:
    """Reads a number of the memory; HLO text alone has none, since it does not place buffers."""

    def read(compiled: Compiled) -> float | None:
        is_known = compiled.build.memory or compiled.build.buffer_assignment
        return getattr(compiled.memory, name) if is_known else None

    return read


_METRICS: Sequence[tuple[str, str, Literal["", "bytes", "flops", "seconds"], _Read]] = (
    ("fusions", "fusions", "", _fusions),
    ("kernels", "kernels", "", lambda c: c.totals.launches),
    ("flops", "flops", "flops", lambda c: c.totals.flops),
    ("bytes_moved", "bytes moved", "bytes", lambda c: c.totals.bytes_in + c.totals.bytes_out),
    ("peak_bytes", "memory at peak", "bytes", _memory("peak")),
    ("argument_bytes", "  arguments", "bytes", _memory("arguments")),
    ("output_bytes", "  outputs", "bytes", _memory("outputs")),
    ("temporary_bytes", "  temporaries", "bytes", _memory("temporaries")),
    ("collectives", "collectives", "", lambda c: sum(e.times for e in c.collectives)),
    (
        "collective_bytes",
        "  their bytes",
        "bytes",
        lambda c: sum(e.payload * e.times for e in c.collectives),
    ),
    ("roofline_seconds", "run time, roofline", "seconds", lambda c: c.roofline_seconds),
    ("estimated_seconds", "  by the compiler", "seconds", lambda c: c.estimated_seconds),
    ("compile_seconds", "compile time, XLA", "seconds", lambda c: c.build.seconds or None),
)

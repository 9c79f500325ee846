"""Comparing two programs: first their ops, then metrics of their optimized HLO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ...errors import JxcError
from ...hlo import parse_hlo
from ...ir import count_ops
from .difference import GraphDifference, differ
from .graph import Graph, graph_of_hlo
from .output import ROOFLINE, ComparedProgram, Metric, ProgramComparison
from .stablehlo import graph_of_module

if TYPE_CHECKING:
    from ...compiled.program import Compiled, Refused


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
    from ...compiled.program import Refused, compile_module, read_optimised

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
    from ...compiled.program import Compiled

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
    (ROOFLINE, "run time, roofline", "seconds", lambda c: c.roofline_seconds),
    ("estimated_seconds", "  by the compiler", "seconds", lambda c: c.estimated_seconds),
    ("compile_seconds", "compile time, XLA", "seconds", lambda c: c.build.seconds or None),
)

"""Two programs, compared: their ops, then what a compiler makes of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from ...errors import JxcError
from ...hlo import parse_hlo
from ...ir import count_ops
from .difference import Difference, differ
from .figures import Figure, figures_of
from .graph import Graph, make_sites
from .hlo import graph_of_hlo
from .stablehlo import graph_of_module

if TYPE_CHECKING:
    from ...backend.targets import Target
    from ..report.report import Compiled, Refused


@dataclass(frozen=True)
class Program:
    """One side of a comparison.

    Attributes:
        name: for people, such as "HEAD~1:f.py:step".
        module: after the pipeline; None where it is read from the text of HLO.
        hlo: the text of HLO, where that is what is compared.
        pipeline: what ran on it, as text.
        target: what it is compiled for; None where it is not compiled.
        root: a folder with the files that it was lowered from, where that is not `home`.
        home: where these files lie in the user's checkout.
        rules: how often each rule of the pipeline applied.
        seconds: by stage, as far as it has come.
    """

    name: str
    module: ir.Module | None
    hlo: str = field(default="", repr=False)
    pipeline: str = ""
    target: Target | None = None
    root: str = ""
    home: str = ""
    rules: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """How two programs differ.

    Attributes:
        programs: the two.
        difference: op by op.
        figures: of both.
        compiled: what the compiler made of each; None where none was asked.
        stage: whose ops they are: "stablehlo", or "hlo" once it is optimised.
    """

    programs: tuple[Program, Program]
    difference: Difference
    figures: Sequence[Figure]
    compiled: tuple[Compiled | Refused | None, Compiled | Refused | None]
    stage: str

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but times."""
        return self.difference.is_same and not any(each.differs for each in self.figures)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`, and for the page."""
        return {
            "same": self.is_same,
            "stage": self.stage,
            "before": _said(self.programs[0], self.compiled[0]),
            "after": _said(self.programs[1], self.compiled[1]),
            "figures": {each.name: each.as_json() for each in self.figures},
            "difference": self.difference.as_json(),
        }


def _said(program: Program, compiled: Any) -> dict[str, Any]:
    return {
        "name": program.name,
        "pipeline": program.pipeline,
        "target": program.target.name if program.target else None,
        "rules": dict(program.rules),
        "seconds": dict(program.seconds),
        "refused": getattr(compiled, "message", None),
    }


def compare(
    one: Program,
    other: Program,
    *,
    stage: str = "stablehlo",
    xla_options: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Compare two programs, whose modules lie in one context.

    Args:
        one, other: they are compiled where they have a target, and not where they are the same
            program for the same target.
        stage: whose ops are compared: "stablehlo", or "hlo" after the compiler.
        xla_options: XLA's options by name.
        progress: told what is being done.

    Raises:
        JxcError: the compiler of a target is not installed; there is no HLO to compare.
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
        graphs = [_optimised(p, made) for p, made in zip(programs, compiled, strict=True)]
        difference = differ(*graphs)
    ops = sum(difference.ops[0].values()), sum(difference.ops[1].values())
    figures = figures_of(ops, compiled[0], compiled[1])
    return Comparison(programs, difference, figures, (compiled[0], compiled[1]), stage)


def _graph(program: Program) -> Graph:
    site = make_sites(program.root, program.home)
    if program.module is None:
        return graph_of_hlo(parse_hlo(program.hlo), site)
    return graph_of_module(program.module, site)


def _optimised(program: Program, compiled: Any) -> Graph:
    if program.module is None:
        return _graph(program)
    if not hasattr(compiled, "module"):
        why = getattr(compiled, "message", "") or "it is not compiled (--no-compile)"
        raise JxcError(f"there is no optimised HLO of {program.name} to compare: {why}")
    return graph_of_hlo(compiled.module, make_sites(program.root, program.home))


def _compiled(
    program: Program, xla_options: Mapping[str, Any], progress: Callable[[str], None]
) -> Compiled | Refused | None:
    if program.target is None:
        return None
    from ...backend.from_module import uncallable_from_module
    from ..report.report import Refused, compile_module, read_optimised

    if program.module is None:
        return read_optimised(program.hlo, program.target)
    progress(f"compiling {program.name} for {program.target.name}")
    try:
        module = uncallable_from_module(program.module).module
    except JxcError as error:
        return Refused(count_ops(program.module), str(error), None)
    return compile_module(module, program.target, xla_options)

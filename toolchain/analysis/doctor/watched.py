"""Which ops our passes would replace, and whose lines they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jaxlib.mlir import ir

from ...cost.flops import bytes_of, cost_of
from ...frontend.places import Place, innermost_of
from ...ir import clone_module
from ...ir.frames import frames_of
from ...pipeline import make_pipeline, run_pipeline
from ...rewrite import Facts, Rule
from ...rewrite.driver import rule_pass
from .equations import library_line


@dataclass(frozen=True)
class Hit:
    """A rule that replaced an op.

    Attributes:
        rule: its name.
        pass_name: that of the pass.
        op: the name of the op, such as "convolution".
        place: the user's line.
        flops: of the op; 0 where nobody knows.
        bytes: that it reads and writes.
        result_bytes: of its results.
        doc: what the rule does, its first line.
    library: where in a library the op is from, see `library_line`.
    """

    rule: str
    pass_name: str
    op: str
    place: Place | None
    flops: int
    bytes: int
    result_bytes: int
    doc: str
    library: str = ""


def watched_hits(module: ir.Module, kind: str, home: str | None) -> tuple[Hit, ...]:
    """What the passes of O2 replace in a copy of a module, in the order in which they do.

    Args:
        module: stays as it is.
        kind: the target's: "cpu", "gpu" or "tpu".
        home: a folder whose files are the user's.
    """
    hits: list[Hit] = []
    steps = make_pipeline("O2").steps
    spec = [
        rule_pass(step.name, step.python.doc, [_watched(r, step.name, home, hits) for r in rules])
        if step.python is not None and (rules := step.python.rules)
        else str(step)
        for step in steps
    ]
    run_pipeline(clone_module(module), make_pipeline(spec), Facts(kind), verify_each=False)
    return tuple(hits)


def _watched(rule: Rule, pass_name: str, home: str | None, hits: list[Hit]) -> Rule:
    function = rule.function

    def watching(op: ir.OpView, *facts: Any) -> Any:
        replaced = function(op, *facts)
        if replaced is not None:
            hits.append(_hit(rule, pass_name, op, home))
        return replaced

    return replace(rule, function=watching)


def _hit(rule: Rule, pass_name: str, op: ir.OpView, home: str | None) -> Hit:
    cost = cost_of(op)
    place = place_of(op.location, home)
    return Hit(
        rule.name,
        pass_name,
        op.operation.name.removeprefix("stablehlo."),
        place,
        (cost.flops or 0) if cost else 0,
        cost.bytes if cost else 0,
        sum(_static_bytes(value.type) for value in op.results),
        rule.doc.partition("\n")[0],
        library_line(frames_of(op.location)[::-1], home),
    )


def _static_bytes(kind: ir.Type) -> int:
    is_static = isinstance(kind, ir.RankedTensorType) and kind.has_static_shape
    return bytes_of(kind) if is_static else 0


def place_of(location: ir.Location, home: str | None) -> Place | None:
    """The user's innermost line behind a location."""
    frames = reversed(frames_of(location))
    return innermost_of((Place(*frame) for frame in frames), home)

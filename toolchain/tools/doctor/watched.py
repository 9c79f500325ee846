"""Which ops our passes would replace, and whose lines they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jaxlib.mlir import ir

from ...cost.flops import bytes_of, cost_of
from ...ir import clone_module
from ...ir.frames import frames_of
from ...pipeline import make_pipeline, run_pipeline
from ...rewrite import PassContext, Rule
from ...rewrite.driver import rule_pass
from ...source import SourceLine
from .equations import innermost, library_line
from .thresholds import LEAST_WIDENED


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
    place: SourceLine | None
    flops: int
    bytes: int
    result_bytes: int
    doc: str
    library: str = ""


def watched_hits(module: ir.Module, kind: str, home: str | None) -> tuple[Hit, ...]:
    """What the passes of O2 replace in a copy of a module, in the order in which they do.

    Ops that move less than `LEAST_WIDENED` bytes are left out.

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
    run_pipeline(clone_module(module), make_pipeline(spec), PassContext(kind), verify_each=False)
    return tuple(hits)


def _watched(rule: Rule, pass_name: str, home: str | None, hits: list[Hit]) -> Rule:
    function = rule.function

    def watching(op: ir.OpView, *context: Any) -> Any:
        replaced = function(op, *context)
        if replaced is not None and (hit := _hit(rule, pass_name, op, home)):
            hits.append(hit)
        return replaced

    return replace(rule, function=watching)


def _hit(rule: Rule, pass_name: str, op: ir.OpView, home: str | None) -> Hit | None:
    cost = cost_of(op)
    if cost is None or cost.bytes < LEAST_WIDENED:
        return None
    frames = frames_of(op.location)[::-1]
    return Hit(
        rule.name,
        pass_name,
        op.operation.name.removeprefix("stablehlo."),
        innermost(frames, home),
        cost.flops or 0,
        cost.bytes,
        sum(_static_bytes(value.type) for value in op.results),
        rule.doc.partition("\n")[0],
        library_line([SourceLine(*frame) for frame in frames], home),
    )


def _static_bytes(kind: ir.Type) -> int:
    is_static = isinstance(kind, ir.RankedTensorType) and kind.has_static_shape
    return bytes_of(kind) if is_static else 0

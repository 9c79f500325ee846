"""Which ops the rules of O2 would replace, how often they run, and whose lines they are."""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...backend.targets import Target
from ...cost.flops import bytes_of, cost_of
from ...ir import clone_module
from ...ir.bounds import trip_count
from ...ir.locations import frames_of
from ...pipeline import make_pipeline, run_pipeline
from ...rewrite import PassContext, Rule
from ...rewrite.recording import record_rewrites
from ...source import SourceLine
from .jaxpr import innermost, library_line
from .thresholds import MIN_WIDENED_BYTES


@dataclass(frozen=True)
class RuleHit:
    """A rewrite: a rule replaced an op.

    Attributes:
        rule: the name of the rule.
        pass_name: the name of its pass.
        op: the name of the op, such as "convolution".
        place: the user's line.
        times: how often the op runs in one run of the program: loops of unknown trip count count
            as one iteration.
        flops: in one run; 0 where the op's are not known.
        bytes: read and written in one run.
        result_bytes: of its results, in one run.
        doc: the first line of the rule's docstring.
        library: where in a library the op is from, see `library_line`.
    """

    rule: str
    pass_name: str
    op: str
    place: SourceLine | None
    times: int
    flops: int
    bytes: int
    result_bytes: int
    doc: str
    library: str = ""


def rule_hits(module: ir.Module, target: Target, home: str | None) -> tuple[RuleHit, ...]:
    """The rewrites of O2 on a module, in order.

    Ops that move less than `MIN_WIDENED_BYTES` in one run are left out. An op in a loop counts once
    for each iteration.

    Args:
        module: not changed.
        target: the hardware that it is for.
        home: a folder whose files are the user's.
    """
    hits: list[RuleHit] = []
    steps = make_pipeline("O2")
    passes = {r.name: step.name for step in steps.steps if step.python for r in step.python.rules}

    def record(rule: Rule, op: ir.OpView, *_: object) -> None:
        if hit := _hit(rule, passes[rule.name], op, home):
            hits.append(hit)

    context = PassContext(target.kind, device=target.device)
    with record_rewrites(record):
        run_pipeline(clone_module(module), steps, context, verify_each=False)
    return tuple(hits)


def _hit(rule: Rule, pass_name: str, op: ir.OpView, home: str | None) -> RuleHit | None:
    cost, times = cost_of(op), _times_of(op)
    if cost is None or times * cost.bytes < MIN_WIDENED_BYTES:
        return None
    frames = frames_of(op.location)[::-1]
    return RuleHit(
        rule.name,
        pass_name,
        op.operation.name.removeprefix("stablehlo."),
        innermost(frames, home),
        times,
        times * (cost.flops or 0),
        times * cost.bytes,
        times * sum(bytes_of(each.type) for each in op.results if _is_static(each.type)),
        rule.doc.partition("\n")[0],
        library_line([SourceLine(*frame) for frame in frames], home),
    )


def _times_of(op: ir.OpView) -> int:
    """How often an op runs: the product of the known trip counts of the loops around it."""
    times, parent = 1, op.operation.parent
    while parent is not None:
        if isinstance(parent.opview, hlo.WhileOp):
            times *= trip_count(parent.opview) or 1
        parent = parent.parent
    return times


def _is_static(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape

"""Applies selectors to the pairs of loops of a gradient."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from jxc.ir.labels import Label, label_of
from jxc.rewrite import remark

from .loops import recompute
from .pairs import LoopPair, StackedValue, loop_pairs
from .segments import in_segments
from .selectors import Selector


def compute_again_in_loops(
    module: ir.Operation, selectors: Sequence[Selector], kind: str
) -> dict[Selector, str]:
    """Compute values of forward loops again in their backward loops.

    Args:
        module: after `prepare`.
        selectors: of values in the bodies of loops, and of loops to run in segments.
        kind: of the device: "cpu", "gpu" or "tpu".

    Returns:
        For each selector that matched, why nothing that it chose is computed again; empty if
        something is.
    """
    outcomes: dict[Selector, str] = {}
    of_values = [each for each in selectors if not each.segments]
    _recompute(module, of_values, outcomes, from_results=reads_results(kind))
    _split(module, [each for each in selectors if each.segments], outcomes)
    return outcomes


def reads_results(kind: str) -> bool:
    """Whether a carried value that is a result of the loop too is read from that.

    The TPU compiler keeps another copy of the result then: an LSTM took 32 MiB instead of 16.
    """
    return kind != "tpu"


def _recompute(
    module: ir.Operation,
    selectors: Sequence[Selector],
    outcomes: dict[Selector, str],
    *,
    from_results: bool,
) -> None:
    declined: set[Label] = set()
    for _ in range(2 * len(loop_pairs(module))):  # loops in loops become pairs of their own
        chosen = _first_pair(module, selectors, declined)
        if not chosen:
            return
        values, labels = list(chosen), list(chosen.values())  # the values are gone afterwards
        reasons = {
            labels[values.index(each.value)]: each.reason
            for each in recompute(values, from_results=from_results)
        }
        declined.update(reasons)
        for selector in selectors:
            for label in filter(selector.matches, labels):
                _note(outcomes, selector, reasons.get(label, ""), module)


def _note(
    outcomes: dict[Selector, str], selector: Selector, reason: str, module: ir.Operation
) -> None:
    outcomes[selector] = reason and outcomes.get(selector, reason)
    if reason:
        remark("rematerialize", "declined", module.location, f"{selector}: {reason}")


def _first_pair(
    module: ir.Operation, selectors: Sequence[Selector], declined: set[Label]
) -> dict[StackedValue, Label]:
    """The chosen values of the first pair of loops that has some."""
    for pair in loop_pairs(module):
        chosen = {
            value: label
            for value, label in labels_of(pair).items()
            if label not in declined and any(each.matches(label) for each in selectors)
        }
        if chosen:
            return chosen
    return {}


def labels_of(pair: LoopPair) -> dict[StackedValue, Label]:
    """The labels of the stacked values of a pair that an op computes, not carried ones."""
    owners = {each: each.value.owner for each in pair.stacked}
    return {each: label_of(op) for each, op in owners.items() if not isinstance(op, ir.Block)}


def _split(
    module: ir.Operation, selectors: Sequence[Selector], outcomes: dict[Selector, str]
) -> None:
    for selector in selectors:
        # The last pair first: the loops that replace it come after the pairs that are left.
        for number in reversed(range(len(outermost_pairs(module)))):
            pairs = outermost_pairs(module)
            if number < len(pairs) and selector.matches(label_of(pairs[number].forward.op)):
                levels = selector.levels
                reason = in_segments(pairs[number], selector.segments, levels=levels)
                _note(outcomes, selector, reason, module)


def outermost_pairs(module: ir.Operation) -> list[LoopPair]:
    """The pairs of loops that are in no other loop or branch."""
    return [pair for pair in loop_pairs(module) if is_outermost(pair)]


def is_outermost(pair: LoopPair) -> bool:
    """Whether a pair of loops is in no other loop or branch."""
    return str(pair.forward.op.operation.parent.name) == "func.func"

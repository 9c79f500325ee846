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
) -> set[Selector]:
    """Compute values of forward loops again in their backward loops; the selectors that matched.

    Args:
        module: after `prepare`.
        selectors: of values in the bodies of loops, and of loops to run in segments.
        kind: of the device: "cpu", "gpu" or "tpu".
    """
    used: set[Selector] = set()
    of_values = [each for each in selectors if not each.segments]
    _recompute(module, of_values, used, from_results=reads_results(kind))
    _split(module, [each for each in selectors if each.segments], used)
    return used


def reads_results(kind: str) -> bool:
    """Whether a carried value that is a result of the loop too is read from that.

    The TPU compiler keeps another copy of the result then: an LSTM took 32 MiB instead of 16.
    """
    return kind != "tpu"


def _recompute(
    module: ir.Operation, selectors: Sequence[Selector], used: set[Selector], *, from_results: bool
) -> None:
    declined: set[Label] = set()
    while True:
        chosen = _first_pair(module, selectors, declined)
        if not chosen:
            return
        for selector in selectors:
            if any(selector.matches(label) for label in chosen.values()):
                used.add(selector)
        values = list(chosen)
        labels = list(chosen.values())  # the values are gone afterwards
        for each in recompute(values, from_results=from_results):
            label = labels[values.index(each.value)]
            declined.add(label)
            remark("rematerialize", "declined", module.location, f"{label}: {each.reason}")


def _first_pair(
    module: ir.Operation, selectors: Sequence[Selector], declined: set[Label]
) -> dict[StackedValue, Label]:
    """The chosen values of the first pair of loops that has some."""
    for pair in loop_pairs(module):
        labels = {v: label_of(v.value.owner) for v in pair.stacked if _is_computed(v)}
        chosen = {
            value: label
            for value, label in labels.items()
            if label not in declined and any(each.matches(label) for each in selectors)
        }
        if chosen:
            return chosen
    return {}


def _is_computed(value: StackedValue) -> bool:
    return not isinstance(value.value.owner, ir.Block)


def _split(module: ir.Operation, selectors: Sequence[Selector], used: set[Selector]) -> None:
    for selector in selectors:
        done = set[ir.OpView]()
        for pair in outermost_pairs(module):
            op = pair.forward.op
            if op in done or not selector.matches(label_of(op)):
                continue
            done.add(op)
            used.add(selector)
            reason = in_segments(pair, selector.segments, levels=selector.levels)
            if reason:
                remark("rematerialize", "declined", module.location, f"{selector}: {reason}")


def outermost_pairs(module: ir.Operation) -> list[LoopPair]:
    """The pairs of loops that are in no other loop or branch."""
    pairs = loop_pairs(module)
    return [p for p in pairs if p.forward.op.operation.parent.name == "func.func"]

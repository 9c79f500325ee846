"""Compute values of the forward half again in the backward half, instead of keeping them.

Reverse-mode differentiation keeps values of the forward half until the backward half reads them,
which makes the peak of memory. This pass trades that memory for time, as `jax.checkpoint` does, in
a program that was written without it. `jxc fit` chooses the values.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from jxc.cost.liveness import PeakBlock, peak_block
from jxc.errors import UsageError
from jxc.ir.labels import Label, label_of
from jxc.ir.module import main_of, ops_of
from jxc.ir.propagation import local_types
from jxc.rewrite import File, PassContext, module_pass, remark

from .copies import compares_bits
from .in_loops import compute_again_in_loops
from .pairs import prepare
from .selectors import Selector, parse_options
from .straight_line import compute_again, is_repeatable

_NO_FILE = File()
_NO_MATCH = "the line or its function changed, or the value is no longer kept"


@module_pass
def rematerialize(
    module: ir.Operation, context: PassContext, *, values: str = "", plan: File = _NO_FILE
) -> None:
    """Compute chosen values again where they are read after the peak of memory.

    `values` has words separated by commas, each of which chooses the values of a JAX primitive
    (`tanh`), of a Python function (`mlp`) or of a line (`model.py:42`). `plan` is a file as
    `jxc fit` writes it, which chooses values by where they were written, so that it also applies
    after sizes, the number of layers or other lines have changed:

        [[rematerialize]]
        op = "tanh"
        function = "mlp"
        text = "h = jnp.tanh(x @ w)"
        share = 0.5                   # the first half of them; all of them without it

    Only values that XLA stores, and that are live when the program needs most memory, are computed
    again; the ops that read them later read copies. If the body of a loop needs most of the memory
    at the peak, its values are computed again: a loop over steps of training, for example, or the
    one of `microbatch`. Random bits are the same again, since they
    are functions of their keys. Custom calls and ops with effects are never repeated. An entry of
    a plan that matches no value of the program is an error.
    """
    selectors = parse_options("rematerialize", values, plan)
    main = main_of(module)
    if main is None:
        return
    outcomes, peak, labels = after_loops(module, selectors, context)
    outer, block, timeline = main.regions[0].blocks[0], peak.block, peak.timeline
    chosen = []
    for selector in selectors:
        of_values = {} if selector.segments else labels
        found = [value for value, label in of_values.items() if selector.matches(label)]
        reason = outcomes.get(selector, _NO_MATCH)
        if not found and plan.path and reason and not _is_written([outer, block], selector):
            raise UsageError(
                f"{plan.path}: no value of this program matches {selector}: {reason}. Remove the "
                "entry, or run jxc fit again"
            )
        chosen += selector.chosen(found)
    in_loops = sum(not reason for reason in outcomes.values())
    count = in_loops + compute_again(block, timeline, chosen)
    remark("rematerialize", "applied", module.location, f"{count} values are computed again")


def after_loops(
    module: ir.Operation, selectors: Sequence[Selector], context: PassContext
) -> tuple[dict[Selector, str], PeakBlock, dict[ir.Value, Label]]:
    """Compute values again in loops, and find those that can be computed again besides.

    Args:
        module: with a function @main.
        selectors: of all values.
        context: the target.

    Returns:
        For each selector that matched values of loops, why none of them is computed again, empty if
        one is; the block that needs most memory then, in bytes of one device; and its values that
        can be computed again, with their labels.
    """
    prepare(module)
    outcomes = compute_again_in_loops(module, selectors, context.target)
    main = main_of(module)
    assert main is not None
    with local_types(module):
        peak = peak_block(main.regions[0].blocks[0], context.device, context.rates)
        return outcomes, peak, repeatable_values(peak)


def _is_written(blocks: Sequence[ir.Block], selector: Selector) -> bool:
    """Whether an op has the label of a selector, although its value is not kept.

    Loops that run in segments move the peak: other values need not be computed again then.
    """
    ops = [op for block in blocks for op in ops_of(block)]
    return not selector.segments and any(selector.matches(label_of(op)) for op in ops)


def repeatable_values(peak: PeakBlock) -> dict[ir.Value, Label]:
    """The stored values, made before a peak of memory, that can be computed again; with labels."""
    timeline = peak.timeline
    end = max(timeline.tops, default=-1)
    unfit = {*timeline.captured, *timeline.results, *_compared_values(peak)}
    found = {}
    for step in timeline.steps[: end + 1]:
        values = [value for value in step.results if value not in unfit]
        if values and is_repeatable(step.op):
            found.update(dict.fromkeys(values, label_of(step.op)))
    return found


def _compared_values(peak: PeakBlock) -> set[ir.Value]:
    """The stored values that are compared for equality, or from which XLA computes such values."""
    compared = [op for op in ops_of(peak.block) if compares_bits(op)]
    pending = [value for op in compared for value in op.operands]
    found, seen = set[ir.Value](), set[ir.Value]()
    while pending:
        value = pending.pop()
        if value in peak.timeline.made:
            found.add(value)
        elif value not in seen and not isinstance(value.owner, ir.Block):
            pending += value.owner.operands
        seen.add(value)
    return found

"""The pass `reroll`: repeated segments of a program become one loop.

Tracing writes out a Python loop over layers, time steps or steps of a solver, and XLA compiles each
iteration. The modules, in the order in which they run:

    sequence    the ops of a block as numbers, and the runs of the sequence that repeat
    align       where in a run the first repetition begins
    wiring      which repetitions use values in the same way, and so can be iterations of one loop
    cost        whether the loop compiles and runs faster
    inputs      the values that the loop reads, and stacks of them
    loop        the loop
"""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.errors import UsageError
from jxc.ir.module import blocks_of, has_regions, is_pure, ops_of
from jxc.ir.shardings import is_partitioned
from jxc.ir.values import is_used
from jxc.rewrite import PassContext, module_pass

from .align import aligned
from .cost import MIN_STEPS, feed_loops, is_faster, may_be_faster
from .inputs import Inputs
from .loop import build_loop
from .sequence import Numbering, runs_in
from .wiring import wiring_of


@module_pass
def reroll(
    module: ir.Operation,
    context: PassContext,
    *,
    min_repeats: int = 4,
    min_ops: int = 16,
    if_faster: bool = False,
) -> None:
    """Replace segments that repeat, such as layers and time steps, by a `while`. Contract: exact.

    A segment is a sequence of ops. Its repetitions have the same ops, attributes and types, and are
    wired alike: each uses results of the one before. The loop computes the same ops in the same
    order, so the results differ only where XLA fuses, and so rounds, in another way. XLA compiles
    the segment once:

        values of earlier repetitions   are carried
        the same value in all           is used from outside of the loop
        another value in each           is a row of a stack, of which an iteration slices its row
        slices, pads, constants         whose offsets or values differ use the iteration's number
        results used elsewhere          are written into stacks, and sliced after the loop

    The gradient's loop reads the stacks of the forward pass from the end. Repetitions that differ,
    such as the first layer, stay as they are. Ops with effects are never repeated. Stacking copies
    the parameters: on CPU, the training step of a deep network compiles many times faster, while a
    forward pass alone may run slower. On GPUs and TPUs, a loop often runs slower.

    `min_repeats` is the least number of repetitions, and `min_ops` the least number of ops that a
    loop leaves out. With `if_faster`, only loops that compile and run faster on the target are
    built, by the conditions in `jxc.passes.reroll.cost`; programs for several devices have none.
    """
    if min_repeats < 2:
        raise UsageError(f"reroll: min-repeats={min_repeats}: expected 2 or more")
    # Whether a loop is faster was not measured over several devices.
    if if_faster and (context.target != "cpu" or is_partitioned(module)):
        return
    if if_faster:
        min_repeats = max(min_repeats, MIN_STEPS)
    numbering = Numbering(module)
    for block in blocks_of(module):
        if len(block.operations) > min_ops and (not if_faster or may_be_faster(block)):
            _reroll_block(numbering, block, min_repeats, min_ops, if_faster)


def _reroll_block(
    numbering: Numbering, block: ir.Block, min_repeats: int, min_ops: int, if_faster: bool
) -> None:
    sequence = numbering.sequence(block)
    runs = aligned(sequence, runs_in(sequence.numbers, min_repeats, min_ops))
    feeding = [False] * len(runs)
    if if_faster:
        feeding = feed_loops([wiring_of(sequence, run, min_repeats) for run in runs])
    inputs = Inputs()
    changed = False
    for run, feeds_loops in zip(runs, feeding, strict=True):
        wiring = wiring_of(sequence, run, min_repeats)  # again, because earlier loops change it
        if wiring is None or not wiring.is_loop:
            continue
        if not if_faster or is_faster(wiring, inputs, feeds_loops):
            build_loop(wiring, inputs)
            changed = True
    if changed:
        _erase_dead(block)


def _erase_dead(block: ir.Block) -> None:
    """Erase pure ops without uses: constants of erased repetitions, and rows that loops read."""
    for op in reversed(ops_of(block)):
        if not has_regions(op) and is_pure(op) and not any(map(is_used, op.results)):
            op.operation.erase()

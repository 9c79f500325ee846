"""Cost conditions of the pass `reroll` with `if-faster`: loops that compile and run faster on CPU.

XLA:CPU fuses the ops of one time step into those of the next, and computes a value again for each
user that reads it at another position: the time to compile and to run grows faster than the number
of steps. A loop ends this. Measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores, O2 without and
with the loop, seconds to compile and milliseconds to run:

    program                                     compile         run
    Euler, roll, 16 steps of 1000 numbers       2.87 -> 0.29    5.30 -> 0.38
    Euler, roll, 50 steps of 1000 numbers       28.5 -> 0.18    46.2 -> 0.55
    Euler, roll, 8 steps of 100,000 numbers     0.49 -> 0.11    66.4 -> 9.99
    Runge-Kutta, slices, 10 steps of 100 x 3    6.53 -> 0.32    0.42 -> 0.25
    Runge-Kutta, slices, 10 steps of 100,000 x 3    10.6 -> 0.60    469 -> 23.1
    GRU, 16 steps, 8 x 64                       0.89 -> 0.66    0.63 -> 0.55
    GRU, 8 steps, 32 x 256                      1.14 -> 0.70    5.21 -> 4.92
    GRU, 16 steps, 8 x 64, gradient             6.64 -> 3.10    1.72 -> 1.17
    GRU, 8 steps, 32 x 256, gradient            3.09 -> 3.34    22.0 -> 21.3

A loop that copies parameters into stacks compiles faster too (24 layers of a transformer, width 64,
training: 53.8 -> 6.7 s), but may run slower: the forward pass of 12 layers of width 256 took 82 ms,
and 143 with stacks. Such loops are built only for users who name the pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from jaxlib.mlir import ir

from .inputs import Inputs
from .sequence import Slot
from .wiring import Wiring

MIN_OPS = 64
"""The least number of ops that a loop leaves out: of about 1.3 ms of compile time each."""

MIN_STEPS_OF_GRADIENT = 12
"""The least number of iterations of a loop that writes or reads stacks for a gradient."""

STACKED_RESULTS = 2
"""A loop with more stacked results than this is one of a gradient."""

MOST_USES = 0.7
"""The share of the uses of stacked results that must be in another loop."""

_NOT_IN_PLACE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("concatenate", "convolution", "custom_call", "dot_general", "dynamic_slice"),
        *("dynamic_update_slice", "fft", "gather", "pad", "reduce", "reduce_window", "reverse"),
        *("scatter", "slice", "sort", "transpose", "while"),
    )
)
"""Ops whose elements need other elements of their operands than the one at the same position.

Repetitions without them are one fusion, whose elements pass through all steps in registers: a loop
would write and read them each time.
"""


def is_faster(wiring: Wiring, inputs: Inputs, feeds_loops: bool) -> bool:
    """Whether a loop compiles and runs faster than the repetitions, on CPU.

    Args:
        wiring: the repetitions.
        inputs: the stacks of earlier loops.
        feeds_loops: `feed_loops` of the repetitions, before any loop was built.
    """
    if (wiring.count - 1) * len(wiring.rows[0]) < MIN_OPS or not _mixes_elements(wiring):
        return False
    values = [wiring.values(column) for column in wiring.outside]
    if not all(map(inputs.is_stacked_before, values)):
        return False
    writes = len(_stacked(wiring)) > STACKED_RESULTS
    if not writes and not any(map(inputs.are_rows, values)):
        return True
    return wiring.count >= MIN_STEPS_OF_GRADIENT and (feeds_loops or not writes)


def feed_loops(wirings: Sequence[Wiring | None]) -> list[bool]:
    """Of each, whether others that may become loops have most uses of its stacked results.

    A gradient that stays as it is would read each row of each stack.
    """
    loops = [each for each in wirings if each and each.count >= MIN_STEPS_OF_GRADIENT]
    inside = {op.operation for each in loops for row in each.rows for op in row}
    return [each is not None and _are_inside(each, inside) for each in wirings]


def _are_inside(wiring: Wiring, inside: Collection[ir.Operation]) -> bool:
    users = [slot.owner.operation for slots in _stacked(wiring) for slot in slots]
    return sum(user in inside for user in users) >= MOST_USES * len(users)


def _stacked(wiring: Wiring) -> list[list[Slot]]:
    """The uses of each result that the program uses of more than one iteration."""
    results = wiring.uses_outside.values()
    return [list(chain(*by_row.values())) for by_row in results if len(by_row) > 1]


def _mixes_elements(wiring: Wiring) -> bool:
    """Whether a carried value, or one computed from it, is an operand of an op not in place."""
    carried = {wiring.slots[1][column].value for column in wiring.carried}
    for op in wiring.rows[1]:
        if any(operand in carried for operand in op.operands):
            if op.operation.name in _NOT_IN_PLACE:
                return True
            carried.update(op.results)
    return False

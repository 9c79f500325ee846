"""Cost conditions of the pass `reroll` with `if-faster`: loops that compile and run faster on CPU.

XLA:CPU fuses the ops of one time step into those of the next, and computes a value again for each
user that reads it at another position: the time to compile and to run grows faster than the number
of steps. A loop ends this. It copies what it carries in each iteration. Measured with XLA:CPU of
jaxlib 0.10.2 on two busy x86 cores, O2 without and with the loop, seconds to compile and
milliseconds to run, alternating in one process:

    program                                          compile         run
    Euler, roll, 16 steps, 1000                      2.87 -> 0.29    5.30 -> 0.38
    Euler, roll, 50 steps, 1000                      28.5 -> 0.18    46.2 -> 0.55
    Euler, roll, 8 steps, 100,000                    0.49 -> 0.11    66.4 -> 9.99
    Runge-Kutta, slices, 10 steps, 100 x 3           6.53 -> 0.32    0.42 -> 0.25
    Runge-Kutta, slices, 10 steps, 100,000 x 3       10.6 -> 0.60    469 -> 23.1
    wave, roll, 16 steps, 1000                       2.23 -> 0.16    0.24 -> 0.05
    wave, roll, 16 steps, 100,000                    2.41 -> 0.14    40.2 -> 3.66
    heat, roll, 8 steps, 64 x 64                     4.35 -> 0.38    1.65 -> 0.12
    heat, roll, 8 steps, 128 x 128                   0.89 -> 0.29    0.26 -> 0.24
    heat, roll, 12 steps, 256 x 256                  0.81 -> 0.29    1.96 -> 1.39
    heat, roll, 8 steps, 512 x 512                   0.81 -> 0.46    4.48 -> 5.55
    heat, gradient, 12 steps, 64 x 64                18.2 -> 0.58    17.9 -> 1.23
    GRU, 8 steps, 32 x 256                           1.14 -> 0.70    5.21 -> 4.92
    GRU, 16 steps, 8 x 64                            0.89 -> 0.66    0.63 -> 0.55
    GRU, gradient, 8 steps, 32 x 256                 3.09 -> 3.34    22.0 -> 21.3
    GRU, gradient, 16 steps, 8 x 64                  6.64 -> 3.10    1.72 -> 1.17
    LSTM, 16 steps, 1 x 16                           1.80 -> 0.54    0.32 -> 0.22
    LSTM, 24 steps, 8 x 64                           1.30 -> 1.15    0.54 -> 0.39
    LSTM, 12 steps, 16 x 256                         0.91 -> 0.54    5.14 -> 4.71
    LSTM, gradient, 24 steps, 8 x 64                 14.2 -> 2.96    2.38 -> 1.40
    LSTM, gradient, 12 steps, 16 x 256               4.37 -> 2.08    28.5 -> 25.8

Repetitions of other ops may run slower: softmax of 64 x 1000 2.77 -> 3.27, a convolution 2.95 ->
3.44, Runge-Kutta of a product 32 x 32 0.08 -> 0.10, a dense layer 64 x 512 23.6 -> 25.4. So may
elementwise ones, which XLA computes in registers: a polynomial of 1,000,000 2.60 -> 3.05. A loop
that copies parameters into stacks compiles faster too (a scan written by hand, for training 24
layers of a transformer of width 64: 53.8 -> 6.7 s), but the forward pass of 12 layers of width 256
took 82 ms, and 143 with stacks. All these are built only for users who name the pass.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from jaxlib.mlir import ir

from .align import bytes_of
from .inputs import Inputs
from .sequence import Slot
from .wiring import Wiring

MIN_OPS = 64
"""The least number of ops that a loop leaves out: of about 1.3 ms of compile time each."""

MIN_STEPS = 8
"""The least number of iterations."""

MIN_STEPS_OF_PRODUCTS = 12
"""The least number of iterations with products, or that write or read stacks for a gradient."""

MAX_CARRIED = 1 << 19
"""The most bytes that an iteration may carry: 1 MB was slower."""

MAX_CARRIED_BY_PRODUCTS = 1 << 22
"""The same with products, whose iterations take longer. More was not measured."""

STACKED_RESULTS = 2
"""A loop with more stacked results than this is one of a gradient."""

MOST_USES = 0.7
"""The share of the uses of stacked results that must be in another loop."""

_MOVING = frozenset({"stablehlo.concatenate", "stablehlo.pad", "stablehlo.slice"})
"""Ops that XLA fuses, and whose elements are at other positions than those of their operands."""

_PRODUCT = "stablehlo.dot_general"
_NOT_MEASURED = frozenset(
    f"stablehlo.{name}"
    for name in ("convolution", "custom_call", "fft", "gather", "reduce_window", "scatter", "sort")
) | {"func.call"}
_NOT_MEASURED_ALONE = frozenset({"stablehlo.reduce"})  # without products


def is_faster(wiring: Wiring, inputs: Inputs, feeds_loops: bool) -> bool:
    """Whether a loop compiles and runs faster than the repetitions, on CPU.

    Args:
        wiring: the repetitions.
        inputs: the stacks of earlier loops.
        feeds_loops: `feed_loops` of the repetitions, before any loop was built.
    """
    if wiring.count < MIN_STEPS or (wiring.count - 1) * len(wiring.rows[0]) < MIN_OPS:
        return False
    if not _is_measured(wiring):
        return False
    values = [wiring.values(column) for column in wiring.outside]
    if not all(map(inputs.is_stacked_before, values)):
        return False
    writes = len(_stacked(wiring)) > STACKED_RESULTS
    if not writes and not any(map(inputs.are_rows, values)):
        return True
    return wiring.count >= MIN_STEPS_OF_PRODUCTS and (feeds_loops or not writes)


def _is_measured(wiring: Wiring) -> bool:
    """Whether the ops are of the kinds for which loops were faster, and carry as little."""
    names = {op.operation.name for op in wiring.rows[0]}
    products = _PRODUCT in names
    carried = {wiring.slots[1][column].value for column in wiring.carried}
    if sum(map(bytes_of, carried)) > (MAX_CARRIED_BY_PRODUCTS if products else MAX_CARRIED):
        return False
    if products and wiring.count < MIN_STEPS_OF_PRODUCTS:
        return False
    if names & _NOT_MEASURED or (names & _NOT_MEASURED_ALONE and not products):
        return False
    return _moves(wiring, carried)


def _moves(wiring: Wiring, carried: set[ir.Value]) -> bool:
    """Whether a carried value, or one computed from it, is an operand of a moving op."""
    for op in wiring.rows[1]:
        if any(operand in carried for operand in op.operands):
            if op.operation.name in _MOVING:
                return True
            carried.update(op.results)
    return False


def feed_loops(wirings: Sequence[Wiring | None]) -> list[bool]:
    """Of each, whether others that may become loops have most uses of its stacked results.

    A gradient that stays as it is would read each row of each stack.
    """
    loops = [each for each in wirings if each and each.count >= MIN_STEPS_OF_PRODUCTS]
    inside = {op.operation for each in loops for row in each.rows for op in row}
    return [each is not None and _are_inside(each, inside) for each in wirings]


def _are_inside(wiring: Wiring, inside: Collection[ir.Operation]) -> bool:
    users = [slot.owner.operation for slots in _stacked(wiring) for slot in slots]
    return sum(user in inside for user in users) >= MOST_USES * len(users)


def _stacked(wiring: Wiring) -> list[list[Slot]]:
    """The uses of each result that the program uses of more than one iteration."""
    results = wiring.uses_outside.values()
    return [list(chain(*by_row.values())) for by_row in results if len(by_row) > 1]

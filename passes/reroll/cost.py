"""Cost conditions of the pass `reroll` with `if-faster`: loops that compile and run faster on CPU.

XLA:CPU fuses the ops of one time step into those of the next, and computes a value again for each
user that reads it at another position: the time to compile and to run grows faster than the number
of steps. A loop prevents this, but copies its carried values in each iteration. Measured with
XLA:CPU of jaxlib 0.10.2 on two busy x86 cores, O2 without and with the loop, seconds to compile and
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

Programs that the conditions were not fitted on, measured in the same way:

    Euler of Lorenz, slices, 50 steps, 3             2.39 -> 0.04    0.06 -> 0.01
    Euler of Lorenz, slices, 50 steps, 1000 x 3      11.3 -> 0.18    4.83 -> 0.32
    Burgers, roll, 50 steps, 20,000                  14.3 -> 0.13    257 -> 2.90
    Van der Pol, Runge-Kutta, 10 steps, 2            0.72 -> 0.06    0.04 -> 0.01
    game of life, roll, 10 steps, 64 x 64            6.29 -> 0.35    6.91 -> 0.23
    five-point sum of slices, 10 steps, 300 x 300    0.52 -> 0.12    1.50 -> 1.01
    rolled words, 10 steps, 500                      1.05 -> 0.16    0.081 -> 0.076
    halves exchanged, product, 50 steps, 256 x 128   1.37 -> 0.28    6.95 -> 6.63
    LSTM, 16 steps, 32 x 128                         0.83 -> 0.51    3.37 -> 3.23
    LSTM, gradient, 16 steps, 32 x 128               7.51 -> 2.83    11.6 -> 10.4
    LSTM, 24 steps, 8 x 512                          1.42 -> 0.34    21.3 -> 16.6
    LSTM, 100 steps, 1 x 32                          11.1 -> 0.47    0.38 -> 0.25
    GRU, 50 steps, 64 x 64                           1.94 -> 0.53    3.74 -> 3.19
    GRU, gradient, 20 steps, 4 x 32                  6.44 -> 1.95    0.98 -> 0.58

A loop of the forward pass alone, whose stacks the unrolled gradient reads, compiles slower (LSTM of
512 units, 24 steps: 11.7 -> 16.1 s).

Nested loops of Python have more repetitions, and many write single elements or rows by
`x.at[i, j].set(y)`. XLA computes such a program in hundreds of kernels, or in one that it does not
vectorize. Compiled and run, microseconds:

    Gauss-Seidel by elements, 7 x 7                  3.27 -> 0.24    20 -> 7
    Gauss-Seidel by elements, 15 x 15                37.6 -> 0.50    93 -> 14
    Gaussian kernel by elements, 10 x 10             2.73 -> 0.27    37 -> 8
    forward substitution by rows, 64 x 64            3.92 -> 0.52    66 -> 19
    edit distance, 12 x 12                           0.97 -> 0.33    6.7 -> 8.0
    forces of pairs, 12 bodies                       4.07 -> 0.45    71 -> 12
    product of tiles, 8 x 8 of 32 x 32               8.02 -> 1.38    5185 -> 611
    convolution by slices, 19 x 18 on 64 x 64        0.80 -> 0.11    593 -> 91
    x * 0.9 + 1, 342 times, 100                      1.44 -> 0.39    32 -> 7
    x * 0.9 + 1, 342 times, 4000                     2.48 -> 0.60    143 -> 73
    sines and cosines, 342 times, 100                0.72 -> 0.20    565 -> 140

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

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from jxc.cost.flops import bytes_of

from .inputs import Inputs
from .sequence import Run, Slot, runs_in
from .wiring import Wiring

MIN_OPS = 64
"""The least number of ops that a loop removes; each takes about 1.3 ms to compile."""

MIN_STEPS = 8
"""The least number of iterations."""

MIN_STEPS_OF_PRODUCTS = 12
"""The least number of iterations with products, or that write or read stacks for a gradient."""

MAX_CARRIED = 1 << 19
"""The most bytes that an iteration may carry: 1 MB was slower."""

MAX_CARRIED_BY_ROLLED_AXES = 1 << 16
"""The same with concatenations of values of two axes or more: XLA computes large ones only once.

Heat, roll, 10 steps: 128 x 128 0.26 -> 0.24 ms, 200 x 200 0.65 -> 0.71.
"""

MAX_CARRIED_BY_PRODUCTS = 1 << 22
"""The same with products or scatters, whose iterations take longer. More was not measured."""

MIN_UPDATES = 32
"""The least number of iterations that write elements by a scatter."""

MIN_LONG = 256
"""The least number of iterations of ops that are faster unrolled if there are few."""

MAX_CARRIED_BY_LONG = 1 << 14
"""The most bytes that each of `MIN_LONG` iterations may carry.

Convolution by slices, 11 x 11 on 64 x 64: 72 -> 43 us, on 300 x 300: 388 -> 749.
"""

STACKED_RESULTS = 2
"""A loop with more stacked results than this is assumed to be part of a gradient."""

MOST_USES = 0.7
"""The least share of the uses of stacked results that must be in another loop."""

_MOVING = frozenset({hlo.ConcatenateOp, hlo.PadOp, hlo.SliceOp})
"""Ops that XLA fuses, and whose elements are at other positions than those of their operands."""

_NOT_MEASURED = frozenset(
    {
        *(func.CallOp, hlo.ConvolutionOp, hlo.CustomCallOp, hlo.FftOp, hlo.GatherOp),
        *(hlo.ReduceWindowOp, hlo.SortOp),
    }
)

_OF_CONSTANTS = frozenset({hlo.BroadcastInDimOp, hlo.ConstantOp, hlo.ConvertOp, hlo.IotaOp})
"""Ops that JAX often writes in the first of many repetitions only."""


def may_be_faster(block: ir.Block) -> bool:
    """Whether repetitions of `block` may be a loop that is faster, by the classes of its ops.

    Comparing ops is slow, and most programs have no such repetitions.
    """
    ops = [op for op in block.operations if type(op) not in _OF_CONSTANTS]
    if sum(type(op) in _MOVING for op in ops) < MIN_STEPS and len(ops) < MIN_UPDATES:
        return False
    distinct = {kind: number for number, kind in enumerate(dict.fromkeys(map(type, ops)))}
    numbers = np.array([distinct[type(op)] for op in ops], np.int32)
    return any(
        (_is_measured(kinds, run.count) or _is_long(kinds, run.count))
        and not _reads_arguments(ops, run)
        for run in runs_in(numbers, MIN_STEPS, MIN_STEPS)
        for kinds in [set(map(type, ops[run.start : run.start + run.period]))]
    )


def _reads_arguments(ops: Sequence[ir.OpView], run: Run) -> bool:
    """Whether each repetition reads an argument of its own: a loop would copy them into a stack."""
    middle = run.start + run.count // 2 * run.period
    return any(
        a != b and isinstance(a, ir.BlockArgument) and isinstance(b, ir.BlockArgument)
        for op, other in zip(
            ops[middle - run.period : middle], ops[middle : middle + run.period], strict=True
        )
        for a, b in zip(op.operands, other.operands, strict=False)
    )


def is_faster(wiring: Wiring, inputs: Inputs, feeds_loops: bool) -> bool:
    """Whether a loop compiles and runs faster than the repetitions, on CPU.

    Args:
        wiring: the repetitions.
        inputs: the stacks of earlier loops.
        feeds_loops: `feed_loops` of the repetitions, before any loop was built.
    """
    if wiring.count < MIN_STEPS or (wiring.count - 1) * len(wiring.rows[0]) < MIN_OPS:
        return False
    kinds = set(map(type, wiring.rows[0]))
    few = _is_measured(kinds, wiring.count) and _carries_little(wiring, kinds)
    if not few and not (_is_long(kinds, wiring.count) and _carries_all(wiring, kinds)):
        return False
    values = [wiring.values(column) for column in wiring.outside]
    if not all(inputs.is_stacked_before(each) or _is_constant(wiring, each) for each in values):
        return False
    writes = len(_stacked(wiring)) > STACKED_RESULTS
    if not writes and not any(map(inputs.are_rows, values)):
        return True
    return wiring.count >= MIN_STEPS_OF_PRODUCTS and (feeds_loops or not writes)


def _is_measured(kinds: Collection[type], count: int) -> bool:
    """Whether the classes of ops are those for which loops of `count` iterations were faster."""
    products = hlo.DotGeneralOp in kinds
    if products and count < MIN_STEPS_OF_PRODUCTS:
        return False
    if not _NOT_MEASURED.isdisjoint(kinds) or hlo.ScatterOp in kinds:
        return False
    if hlo.ReduceOp in kinds and not products:
        return False
    return not _MOVING.isdisjoint(kinds)


def _is_long(kinds: Collection[type], count: int) -> bool:
    """Whether loops of `count` iterations of these classes of ops were faster for small values."""
    least = MIN_UPDATES if hlo.ScatterOp in kinds else MIN_LONG
    return count >= least and _NOT_MEASURED.isdisjoint(kinds)


def _carries_all(wiring: Wiring, kinds: Collection[type]) -> bool:
    """Whether iterations of a long loop carry few bytes, and no other result is used after it.

    The gradient of 300 iterations with a stack took 50 us, and 22 unrolled.
    """
    most = MAX_CARRIED_BY_PRODUCTS if hlo.ScatterOp in kinds else MAX_CARRIED_BY_LONG
    return sum(bytes_of(value.type) for value in _carried(wiring)) <= most and not _stacked(wiring)


def _is_constant(wiring: Wiring, values: Sequence[ir.Value]) -> bool:
    """Whether the stack of `values` is a small constant, such as the indices of a scatter."""
    small = len(values) * bytes_of(values[0].type) <= MAX_CARRIED_BY_LONG
    return small and all(value in wiring.constants for value in values)


def _carried(wiring: Wiring) -> set[ir.Value]:
    return {wiring.slots[1][column].value for column in wiring.carried}


def _carries_little(wiring: Wiring, kinds: Collection[type]) -> bool:
    """Whether the carried values are small, and an op computes a moved value from them."""
    carried = _carried(wiring)
    if sum(bytes_of(value.type) for value in carried) > _most_carried(wiring, kinds):
        return False
    for op in wiring.rows[1]:
        if any(operand in carried for operand in op.operands):
            if type(op) in _MOVING:
                return True
            carried.update(op.results)
    return False


def _most_carried(wiring: Wiring, kinds: Collection[type]) -> int:
    if hlo.DotGeneralOp in kinds:
        return MAX_CARRIED_BY_PRODUCTS
    concatenations = (op for op in wiring.rows[1] if isinstance(op, hlo.ConcatenateOp))
    rolls_axes = any(ir.RankedTensorType(op.result.type).rank > 1 for op in concatenations)
    return MAX_CARRIED_BY_ROLLED_AXES if rolls_axes else MAX_CARRIED


def feed_loops(wirings: Sequence[Wiring | None]) -> list[bool]:
    """For each, whether most uses of its stacked results are in others that may become loops.

    A gradient that does not become a loop would read each row of each stack.
    """
    loops = [each for each in wirings if each and _may_be_gradient(each)]
    inside = {op.operation for each in loops for row in each.rows for op in row}
    return [each is not None and _are_inside(each, inside) for each in wirings]


def _may_be_gradient(wiring: Wiring) -> bool:
    kinds = set(map(type, wiring.rows[0]))
    return (
        wiring.count >= MIN_STEPS_OF_PRODUCTS
        and _is_measured(kinds, wiring.count)
        and _carries_little(wiring, kinds)
    )


def _are_inside(wiring: Wiring, inside: Collection[ir.Operation]) -> bool:
    users = [slot.owner.operation for slots in _stacked(wiring) for slot in slots]
    return sum(user in inside for user in users) >= MOST_USES * len(users)


def _stacked(wiring: Wiring) -> list[list[Slot]]:
    """The uses of each result that the program uses from more than one iteration."""
    results = wiring.uses_outside.values()
    return [list(chain(*by_row.values())) for by_row in results if len(by_row) > 1]

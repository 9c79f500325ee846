"""The pass `materialize`: random numbers that several kernels read are computed once."""

from __future__ import annotations

from itertools import pairwise

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.materialize import materialize as materialized
from jxc.ir.module import blocks_of
from jxc.ir.shardings import is_partitioned
from jxc.rewrite import PassContext, module_pass

from .numbers import Numbers


@module_pass(needs=(hlo.WhileOp,))
def materialize(module: ir.Operation, context: PassContext) -> None:
    """Materialize random numbers that XLA would compute in several kernels. Contract: exact.

    More than a hundred ops compute a random number from a key. XLA:CPU repeats them in each kernel
    that reads the number, and for each element that a broadcast repeats. This pass materializes the
    smallest value computed from them, such as the mask of a dropout, one byte an element. Numbers
    that one kernel reads once are left alone. If several such arrays have the same type, their keys
    are materialized as well: XLA then compiles one kernel for all.

    Numbers that are computed from other numbers, such as the keys that `jax.random.split` returns,
    are always materialized: XLA of jaxlib 0.12 did not finish compiling four splits in one kernel.

    Only for CPU, and for programs on one device. 19 dropout masks of 786,432 elements, each read by
    two kernels, run 5 to 8 times as fast as in plain JAX. XLA compiles them in 1.0 s instead of
    2.5 s, with jaxlib 0.12 instead of 5.6 s.
    """
    if context.target != "cpu" or is_partitioned(module):
        return
    for block in blocks_of(module):
        _materialize_in(list(block.operations))


def _materialize_in(ops: list[ir.OpView]) -> None:
    wanted = set(Numbers(ops).stored())
    for op, following in pairwise(ops):
        for value in op.results:
            if value in wanted:
                _store(value, following)


def _store(value: ir.Value, following: ir.OpView) -> None:
    uses = [(use.owner, use.operand_number) for use in value.uses]
    with ir.InsertionPoint(following), value.owner.location:
        stored = materialized(value)
    for user, position in uses:
        user.operands[position] = stored

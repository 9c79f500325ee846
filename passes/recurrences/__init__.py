"""The pass `recurrences`: trees of `jax.lax.associative_scan` become loops.

The modules, in the order in which they run:

    trees       the ops of each tree, its inputs and its results
    field       the values of its results in a finite field, at random points
    formulas    recurrences with the same values
    cost        whether loops are faster
    loop        the loops
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.module import blocks_of
from jxc.ir.shardings import is_partitioned
from jxc.rewrite import Contract, PassContext, exact, module_pass, reassociates

from .formulas import solve
from .loop import Builder
from .trees import Trees


@module_pass(needs=(hlo.SliceOp,))
def recurrences(module: ir.Operation, context: PassContext) -> Contract:
    """Replace the trees of `jax.lax.associative_scan` by loops. Contract: reassociates.

    `associative_scan` combines pairs of elements, pairs of these, and so on, and JAX writes out
    each level with its slices and pads. A loop over the elements needs half of the arithmetic, and
    compiles 4 to 15 times faster. These recurrences are recognized:

        y[t] = a[t] y[t - 1] + b[t]         S5, LRU, Mamba and other state spaces; running averages
        products without b, sums without a
        the gradients of a and b            from y, and one loop from the last element on

    The axis may be any dimension. The inputs may be batched, complex, or scanned in reverse. The
    user's function need not be known to be associative: the tree and the recurrence are polynomials
    in the inputs, which are compared at random points of a finite field. Different polynomials pass
    this test with a probability below 2^-64.

    Floats are combined in f64, in order. The ops of trees only move, add and multiply, so nothing
    cancels: NaN and infinite inputs reach the same results. The loop has no NaN where the tree has
    a finite number, except after an element that overflows: in f64, and in gradients of a. The tree
    has more NaN: where products of rates overflow or vanish, it multiplies an infinity by 0, and
    its gradient of a has them also at elements that a NaN of a does not reach. The
    gradient of the first a, on which no result depends, is 0 also where a is infinite.

    Only for CPU: loops on GPU and TPU were not measured. Left alone: other functions, such as
    maxima and products of matrices; axes of less than 32 elements; the last axis of many long rows;
    trees of which other ops read the inner levels; programs for several devices.
    """
    done = exact
    # Devices that share the time axis would exchange a state in each iteration.
    if context.target != "cpu" or is_partitioned(module):
        return done
    for block in blocks_of(module):
        trees = Trees(block)
        solutions = [solve(trees, tree) for tree in trees.found()]
        if any(solutions):
            builder = Builder(block)
            for solution in filter(None, solutions):
                builder.replace(solution)
            builder.erase()
            done = reassociates
    return done

"""The pass `microbatch`: gradient accumulation, for a program that was written without it.

The modules, in the order in which they run:

    batch       the arguments that have the batch
    states      what an iteration has of a value: a part, a summand, or the whole
    analysis    the state of each value, by the rules in split, products and linear
    emit        the ops of an iteration; push computes parts of values that are whole
    loop        the loop, its accumulators, and what runs after it
"""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.errors import JxcError, UsageError
from jxc.ir.labels import label_of
from jxc.ir.locations import format_location, inline_calls
from jxc.ir.module import main_of, module_of
from jxc.ir.propagation import argument_shardings, split_of
from jxc.ir.shardings import meshes_of
from jxc.ir.values import shape_of
from jxc.rewrite import module_pass, reassociates
from jxc.rewrite.rule import Contract

from .analysis import Analysis
from .batch import batch_candidates
from .loop import build_loop
from .states import CannotSplit


@module_pass
def microbatch(
    module: ir.Operation, *, steps: int = 0, arguments: str = "", dim: int = 0
) -> Contract:
    """Run the part of a program that depends on the batch in a loop of `steps` iterations.

    Each iteration computes one of `steps` equal parts of the batch, so that activations take about
    `steps` times less memory at the peak. The results are those of gradient accumulation by hand:

        sums over the batch     are added up over the iterations; maxima likewise
        results per example     are written into whole arrays, with the same bits
        dropout masks           are computed for the part only, with the same bits
        sums of masks           and other cheap functions of the batch are computed before the loop
        the optimizer           runs after the loop, once

    `arguments` names the arguments that have the batch in dimension `dim`, by number or by name:
    "x,y". Without it they are found: the arguments that are not donated, that have no result of
    their type, that share no container with such ones, and that are no keys of random numbers.
    They must have the same size along `dim`. Arguments of this size that have a result of their
    type are split too, if that is possible.

    Sums of 16-bit floats are accumulated in f32, and other values in their own type. A program
    that mixes the examples of a batch, as batch normalisation does, is an error that names the
    line. So is an op with effects in the loop.
    """
    main = main_of(module)
    if main is None:
        raise JxcError("the module has no function @main, whose batch to split")
    if steps < 2:
        raise UsageError(f"microbatch: steps={steps}: expected 2 or more iterations")
    build_loop(split_analysis(module, arguments, dim, steps))
    return reassociates


def split_analysis(module: ir.Operation, arguments: str, dim: int, steps: int) -> Analysis:
    """The analysis for the arguments that have the batch, after calls were inlined.

    Args:
        module: the program.
        arguments, dim, steps: as for the pass.

    Raises:
        UsageError: an argument does not exist, or has no `steps` equal parts.
        JxcError: the program mixes the examples of the batch, or several arguments may be meant.
    """
    inline_calls(module)
    main = main_of(module)
    assert main is not None
    message = ""
    for batch in batch_candidates(main, arguments, dim):
        _check_sizes(main, batch, dim, steps)
        try:
            return Analysis(main, dict.fromkeys(batch, dim), steps)
        except CannotSplit as error:
            message = _message(error)
    raise JxcError(message)


def _check_sizes(main: ir.OpView, batch: list[int], dim: int, steps: int) -> None:
    values = main.regions[0].blocks[0].arguments
    shardings, meshes = argument_shardings(main), meshes_of(module_of(main))
    for at in batch:
        size = shape_of(values[at])[dim]
        if size % steps:
            divisors = [n for n in range(2, size + 1) if size % n == 0]
            raise UsageError(
                f"microbatch: steps={steps} does not divide the batch of {size}: expected one of "
                f"{', '.join(map(str, divisors[:16]))}"
            )
        sharding = shardings[at] if at < len(shardings) else None
        if sharding is not None and split_of(sharding, meshes)[dim] > 1:
            raise JxcError(
                "microbatch: the batch is split over devices, so that a part of it is on some "
                "devices only: run the pass on the program of one device"
            )


def _message(error: CannotSplit) -> str:
    op = error.op
    if op is None:
        return f"microbatch: {error.reason}"
    label = label_of(op)
    where = label.place or format_location(op.location)
    text = f"\n  {label.line} |   {label.text}" if label.text else ""
    name = op.operation.name.partition(".")[2]
    return f"{where}: microbatch cannot split the batch at this {name}: {error.reason}{text}"

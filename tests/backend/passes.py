"""Passes whose effect on a program can be seen in its results, unlike that of a right one."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import SineOp

from jxc import exact, module_pass, rule


@rule(exact)
def sine_to_cosine(op: SineOp) -> ir.Value | None:
    """sin x -> cos x: wrong, so that a test can see whether a program went through it."""
    return stablehlo.cosine(op.operand)


@rule(exact)
def sine_to_tanh(op: SineOp) -> ir.Value | None:
    """sin x -> tanh x: wrong in another way."""
    return stablehlo.tanh(op.operand)


@module_pass
def failing(module) -> None:
    """Fail, always."""
    raise ValueError("cannot be done")


@module_pass
def breaking(module) -> None:
    """Erase everything."""
    for op in list(module.regions[0].blocks[0].operations):
        op.operation.erase()

"""A program, and incorrect passes: its results show which of them ran."""

import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import SineOp

from jxc import exact, module_pass, rule
from jxc.cost.thresholds import TINY_MODULE_OPS


@rule(exact)
def sine_to_cosine(op: SineOp) -> ir.Value | None:
    """sin x -> cos x: wrong, so that the result shows whether the rule ran."""
    return stablehlo.cosine(op.operand)


@rule(exact)
def sine_to_tanh(op: SineOp) -> ir.Value | None:
    """sin x -> tanh x: wrong in another way."""
    return stablehlo.tanh(op.operand)


@module_pass
def failing(module) -> None:
    """Raise an error."""
    raise ValueError("cannot be done")


@module_pass
def breaking(module) -> None:
    """Erase all ops."""
    for op in list(module.regions[0].blocks[0].operations):
        op.operation.erase()


X = np.linspace(0.1, 1.0, 8, dtype=np.float32)
PIPELINE = ["inline{default-pipeline=}", "symbol-dce", sine_to_cosine]


def program(x):
    """A sine among more ops than a tiny module has."""
    y = jnp.sin(x)
    for i in range(TINY_MODULE_OPS):
        y = y * 1.5 + i
    return y


def expected(function, x=X):
    """The result of `program` with `function` in place of the sine."""
    y = function(np.asarray(x))
    for i in range(TINY_MODULE_OPS):
        y = y * 1.5 + i
    return y


def check(result, function, x=X):
    np.testing.assert_allclose(np.asarray(result), expected(function, x), rtol=1e-4)

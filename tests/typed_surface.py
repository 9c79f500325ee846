"""A user's program that uses the public API of jxc: `test_typed_surface` checks its types.

It is not run: some of its lines are wrong on purpose, and say which error a type checker reports.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, assert_type

import jax
import jax.numpy as jnp
from jaxlib.mlir.dialects.stablehlo import AbsOp, ExpOp
from jaxlib.mlir.ir import Operation, Value

import jxc


@jxc.rule(jxc.exact)
def abs_of_exp(op: AbsOp) -> Value[Any] | None:
    """|exp x| -> exp x: never negative."""
    match op.operand.owner:
        case ExpOp():
            operand: Value[Any] = op.operand  # jaxlib 0.12 types it as Any
            return operand
    return None


@jxc.rule(jxc.approximates(ulps=1), assumes="no-nans")
def with_context(op: AbsOp, context: jxc.PassContext) -> Value[Any] | None:
    """Nothing."""
    return None


@jxc.rule(jxc.reassociates)
def several(op: AbsOp) -> Value[Any] | None:
    """Nothing."""
    return None


@jxc.module_pass
def nothing(module: Operation, *, name: str = "") -> None:
    """Do nothing."""


# jxc.jit keeps signatures: as a function, as a decorator, on methods


@jxc.jit
def plain(x: jax.Array, scale: float = 1.0) -> jax.Array:
    return x * scale


@jxc.jit(pipeline=[abs_of_exp, nothing, "O2"], strict=True, static_argnames="power")
def norm(x: jax.Array, power: int) -> jax.Array:
    return jnp.sum(x**power)


class Model:
    scale = 2.0

    @jxc.jit(static_argnums=0)
    def apply(self, x: jax.Array) -> jax.Array:
        return x * self.scale

    @staticmethod
    @jxc.jit
    def static(x: jax.Array) -> jax.Array:
        return x


def use_jit(x: jax.Array) -> None:
    assert_type(plain(x), jax.Array)
    assert_type(plain(x, scale=2.0), jax.Array)
    assert_type(norm(x, power=2), jax.Array)
    assert_type(Model().apply(x), jax.Array)
    assert_type(Model.static(x), jax.Array)
    plain("text")  # type: ignore[arg-type]
    norm(x)  # type: ignore[call-arg]
    plain.no_such_method()  # type: ignore[attr-defined]
    assert_type(plain.lower(x), jax.stages.Lowered)
    plain.clear_cache()
    print(plain.__name__, plain.__wrapped__)


def use_stages(x: jax.Array) -> None:
    low = jxc.lower(plain, x)
    assert_type(low, jxc.Lowered)
    opt = low.opt("O2", assume="no-nans")
    executable = opt.compile()
    assert_type(executable, jxc.Executable)
    print(executable(x), executable.as_text(), opt.as_text("jaxpr"), low.name, opt.pipeline)
    assert_type(executable.cost(), dict[str, float])
    assert_type(executable.memory(), dict[str, int])
    cross = opt.compile("tpu:v5e:2x2", xla_options={"xla_no_such_option": True})
    assert_type(cross, jxc.Executable | jxc.CrossExecutable)
    if isinstance(cross, jxc.CrossExecutable):
        print(cross.target.name, cross.cost()["flops"], cross.memory()["temp"])
    if opt.report is not None:
        print(opt.report.hits, opt.report.seconds)
    header = jxc.save(executable, "step.jxc")
    print(header.name, header.versions)
    loaded = jxc.load("step.jxc")
    assert_type(loaded, jxc.LoadedProgram)
    print(loaded(x), loaded.memory())


def use_contexts(x: jax.Array) -> None:
    with jxc.use("O2", strict=True) as log:
        jax.jit(lambda y: y + 1)(x)
    assert_type(log.hits, Counter[str])
    print([(each.name, each.ops_before, each.ops_after) for each in log.compilations])
    jxc.enable("O1")
    jxc.enable(None)
    jxc.disable()
    with jxc.explain() as recorded:
        jax.jit(lambda y: y + 2)(x)
    print([group.kinds for group in recorded.groups])
    with jxc.assert_compiles(1):
        jax.jit(lambda y: y + 3)(x)


# Decorators of tools


@jxc.locate_nans
def step(w: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.sqrt(w) * x


def use_tools(x: jax.Array) -> None:
    try:
        print(step(x, x))
    except jxc.NanError as error:
        print(error.finding, error.outputs)
    bucketed = jxc.bucket(lambda rows: rows * 2, sizes=[16, 32])
    print(bucketed(x))
    print(jxc.doctor(plain, x))
    print(jxc.verify(plain, x))
    report = jxc.report(jxc.lower(plain, x), "cpu")
    assert_type(report, jxc.Report)
    try:
        jxc.lower(plain, x).opt("no-such-pass")
    except jxc.JxcError as error:
        print(error)
    jxc.no_such_name  # type: ignore[attr-defined]  # noqa: B018


if __name__ == "__main__":
    numbers = jnp.ones(8)
    use_jit(numbers)
    use_stages(numbers)
    use_contexts(numbers)
    use_tools(numbers)

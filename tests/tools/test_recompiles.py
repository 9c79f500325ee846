"""Why a function was compiled again: each trap with the sentence that names it."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jxc
from jxc.tools.explain import functions

from .explaining import explained, ones


def test_varying_lengths():
    @jax.jit
    def step(x, y):
        return x.sum() + y

    def block():
        for length in (31, 32, 35, 40, 64, 70, 31, 32, 66):
            step(ones(length, 2), np.float32(1))

    group = explained(block)
    assert group.sentence == (
        "step was compiled 7 times, because the first dimension of x varied: "
        "31, 32, 35, 40, 64, 70, ... (7 in all)"
    )
    assert group.fix == (
        "Pad x to 40 or 72: 2 programs instead of 7, 10% of it padding. "
        "Mask what is added, or use jxc.bucket where no row depends on others."
    )
    assert group.sizes == (40, 72)
    assert group.numbers == (2, 3, 4, 5, 6, 7)


def test_arguments_that_vary_together_are_named_together():
    @jax.jit
    def step(batch):
        return batch["x"].sum() + batch["y"].sum()

    def block():
        for length in (4, 5, 6):
            step({"x": ones(length, 2), "y": ones(length)})

    assert explained(block).sentence == (
        "step was compiled 3 times, because the first dimension of batch['x'] and batch['y'] "
        "varied: 4, 5, 6"
    )


def test_one_smaller_batch():
    step = jax.jit(lambda x: x.sum())
    group = explained(lambda: [step(ones(n, 2)) for n in (32, 32, 6)])
    assert group.sentence == ("<lambda> was compiled again: x was f32[32,2] and is f32[6,2]")
    assert group.fix == (
        "If it is the last, smaller batch, drop it (drop_remainder); or pad x to 32. "
        "Mask what is added, or use jxc.bucket where no row depends on others."
    )


def test_another_rank():
    step = jax.jit(lambda x: x.sum())
    assert explained(lambda: [step(ones(3)), step(ones(3, 1))]).fix == (
        "Give x as many dimensions in every call."
    )


def test_closures_in_a_loop():
    def block():
        for scale in (0.5, 1.0, 2.0):

            def scaled(x):
                return x * scale  # noqa: B023

            jax.jit(scaled)(ones(3))

    group = explained(block)
    assert group.sentence == (
        "scaled was compiled 3 times, because scale, which it takes from outside, varied: "
        "0.5, 1.0, 2.0"
    )
    assert group.fix == (
        "Pass scale as an argument, and define the function once, outside of the loop."
    )


def test_defaults_that_stand_for_closures():
    group = explained(lambda: [jax.jit(lambda x, k=k: x * k)(ones(3)) for k in (1.0, 2.0)])
    assert "k, which it takes from outside, was 1.0 and is 2.0" in group.sentence


def test_a_closure_over_another_array():
    def block():
        for _ in range(2):
            table = ones(4)
            jax.jit(lambda x: x + table)(ones(4))  # noqa: B023

    group = explained(block)
    assert "table, which it takes from outside, was float32[4] and is another" in group.sentence


@pytest.mark.parametrize(
    ("make", "what", "hoist"),
    [
        (lambda: lambda x: x + 1, "it is a new lambda object", "the lambda"),
        (
            lambda: functools.partial(_add, y=1),
            "it is a new functools.partial object",
            "the partial",
        ),
        (lambda: jax.grad(_square), "grad(_square) is a new function object", "grad(_square)"),
    ],
)
def test_functions_made_anew_in_a_loop(make, what, hoist):
    group = explained(lambda: [jax.jit(make())(np.float32(1)) for _ in range(3)])
    assert f"was compiled 3 times, because each time {what}" in group.sentence
    assert (
        group.fix
        == f"Hoist the definition: make {hoist} and its jax.jit once, outside of the loop."
    )


def _add(x, y):
    return x + y


def _square(x):
    return x * x


def test_a_loop_of_jax_outside_of_jit():
    def block():
        for _ in range(3):
            jax.lax.scan(lambda carry, x: (carry + x, carry), np.float32(0), ones(3))

    group = explained(block)
    assert group.sentence == (
        "scan was compiled 3 times, because each time the function in it is a new object "
        "(JAX knows functions by identity)"
    )
    assert group.fix == (
        "Call lax.scan under jax.jit, or define the function in it once, outside of the loop."
    )


def test_a_changing_static_argument():
    power = jax.jit(lambda x, n: x**n, static_argnames="n")
    group = explained(lambda: [power(ones(3), n=n) for n in (2, 3, 4)])
    assert group.sentence == (
        "<lambda> was compiled 3 times, because the static argument n varied: 2, 3, 4"
    )
    assert group.fix == (
        "Pass n as an argument that is not static, if no shape and no Python 'if' depends on it; "
        "else keep it to few values."
    )


def test_a_static_argument_that_is_left_out():
    @functools.partial(jax.jit, static_argnames="n")
    def power(x, n=2):
        return x**n

    group = explained(lambda: [power(ones(3)), power(ones(3), n=2)])
    assert "the static argument n was 2 by default and is 2" in group.sentence
    assert group.fix == ("Pass n in every call, or in none: JAX takes a default for another value.")


def test_a_static_argument_without_equality():
    class Config:
        pass

    step = jax.jit(lambda x, config: x, static_argnums=1)
    group = explained(lambda: [step(np.float32(1), Config()) for _ in range(3)])
    assert "the static argument config was a Config object, another one each time" in group.sentence
    assert "@dataclass(frozen=True)" in group.fix


def test_a_static_argument_with_equality_is_known():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Config:
        width: float

    step = jax.jit(lambda x, config: x * config.width, static_argnums=1)
    with jxc.explain() as log:
        step(np.float32(1), Config(float("1.5")))
        step(np.float32(1), Config(float("1.5")))
        step(np.float32(1), Config(2.5))
    static = [each.static["config"] for each in log.compilations]
    assert static == ["Config(width=1.5)", "Config(width=2.5)"]
    before, after = [log._recording.calls[n].static["config"] for n in (1, 2)]
    assert before.token == functions.describe(Config(float("1.5"))).token != after.token


def test_weak_types():
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(np.float32(1)), double(1.0)])
    assert group.kinds == ("weak type",)
    assert "x was f32[] and is a Python float" in group.sentence
    assert group.fix == "Give x a dtype in every call: jnp.asarray(x, dtype=jnp.float32)."


def test_dtypes():
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(ones(3)), double(ones(3, dtype=np.int32))])
    assert "x was f32[3] and is i32[3]" in group.sentence
    assert group.fix == "Give x one dtype before the call: x.astype(...)."


def test_pytree_structure():
    total = jax.jit(lambda batch: sum(jax.tree.leaves(batch)))
    group = explained(lambda: [total({"x": ones(3)}), total({"x": ones(3), "mask": ones(3)})])
    assert "batch was without batch['mask'] and is with batch['mask']" in group.sentence
    group = explained(lambda: [total((ones(2),)), total([ones(2)])])
    assert "batch was (*,) and is [*]" in group.sentence
    assert "Give batch the same keys and types in every call" in group.fix


def test_arguments_by_position_and_by_keyword():
    add = jax.jit(_add)
    group = explained(lambda: [add(ones(3), ones(3)), add(ones(3), y=ones(3))])
    assert "y was given by position and is given by keyword" in group.sentence
    assert group.fix == "Pass y in one way everywhere, by position or by keyword."


def test_configuration():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        with jax.default_matmul_precision("highest"):
            double(ones(3))

    group = explained(block)
    assert "jax_default_matmul_precision was None and is 'highest';" in group.sentence
    assert "Set jax_default_matmul_precision once, before the first call" in group.fix


def test_a_pipeline_of_ours_is_configuration_too():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        with jxc.use("O1"):
            double(ones(3))

    assert "jxc's pipeline was None and is 'O1';" in explained(block).sentence


def test_a_mesh_is_configuration_too():
    double = jax.jit(lambda x: x * 2)
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))

    def block():
        double(ones(3))
        with jax.set_mesh(mesh):
            double(ones(3))

    group = explained(block)
    assert group.kinds[0] == "configuration"
    assert "mesh was none and is Mesh(" in group.sentence


def test_jit_with_other_options_is_another_program():
    group = explained(
        lambda: [jax.jit(_square)(ones(3)), jax.jit(_square, donate_argnums=0)(ones(3))]
    )
    assert "jax.jit's donate_argnums was () and is (0,)" in group.sentence
    assert group.fix == "Jit the function once, with one set of options."


def test_a_log_in_words():
    step = jax.jit(lambda x: x.sum())
    with jxc.explain() as log:
        for n in (3, 4, 5):
            step(ones(n))
    first, second = str(log).splitlines()
    assert first.startswith("3 programs compiled in ")
    assert second == (
        "- <lambda> was compiled 3 times, because the first dimension of x varied: 3, 4, 5. "
        "Pad x to 5: 1 program instead of 3, 20% of it padding. "
        "Mask what is added, or use jxc.bucket where no row depends on others."
    )


def test_sharding():
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    placed = jax.device_put(ones(8), NamedSharding(mesh, P("i")))
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(ones(8)), double(placed)])
    assert group.kinds == ("sharding",)
    assert "x was placed by default and is placed NamedSharding(" in group.sentence
    assert group.fix == "Place x once before the loop: jax.device_put(x, sharding)."


def test_caches_that_were_cleared():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        jax.clear_caches()
        double(ones(3))

    group = explained(block)
    assert "though nothing in the call differs: JAX's caches had been cleared" in group.sentence


def test_the_nearest_earlier_call_is_the_one_that_differs_least():
    power = jax.jit(lambda x, n: x**n, static_argnames="n")
    with jxc.explain() as log:
        power(ones(3), n=2)
        power(ones(5, 2), n=3)
        power(ones(3), n=4)
    assert log.compilations[2].reason.nearest == 1
    assert [each.kind for each in log.compilations[2].reason.differences] == ["static value"]


def test_a_derivative_outside_of_jit_has_the_reasons_of_its_function():
    loss = jax.jit(lambda w: (w * w).sum())
    gradient = jax.grad(loss)
    with jxc.explain() as log:
        gradient(ones(3))
        gradient(ones(4))
    named = [each for each in log.compilations if each.function == "<lambda> (transformed)"]
    assert len(named) == 4
    assert [each.reason is None for each in named] == [True, True, False, False]
    assert {"trace", "lower", "compile"} <= set(named[0].seconds)


def test_of_many_arguments_the_first_are_named():
    total = jax.jit(lambda params: sum(each.sum() for each in params.values()))

    def block():
        for dtype in (np.float32, np.int32):
            total({f"w{i}": ones(2, dtype=dtype) for i in range(9)})

    group = explained(block)
    assert group.sentence.endswith("params['w3'] was f32[2] and is i32[2] and 5 more")


def test_a_closure_over_a_pytree_is_not_printed():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        weights: list

        def __repr__(self):
            raise AssertionError("would wait for the device")

    def block():
        for _ in range(2):
            state = State([jnp.ones(3)])
            jax.jit(lambda x: x + state.weights[0])(ones(3))  # noqa: B023

    with jxc.explain() as log:
        block()
    [reason] = [
        each.reason.sentence for each in log.compilations if each.reason and not each.is_eager
    ]
    assert "state, which it takes from outside, was a State object and is another" in reason

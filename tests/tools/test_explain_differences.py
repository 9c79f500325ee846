"""Why a function was compiled again: the sentence and the fix for each kind of difference."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec as P

import jxc
from jxc.cost.padding import bucket_of, propose_shapes
from jxc.tools.explain import functions

from .explaining import explained, ones


def test_varying_dimension_lists_its_sizes_and_proposes_padding():
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
        "Pad x to 40 or 72: 2 programs instead of 7, with 10% padding. "
        "Mask the padding, or use jxc.bucket if no row depends on other rows."
    )
    assert group.sizes == (40, 72)
    assert group.numbers == (2, 3, 4, 5, 6, 7)


def test_varying_dimensions_of_several_arguments_are_one_clause():
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


def test_dimensions_that_vary_on_their_own_get_sizes_with_as_many_programs_as_it_says():
    step = jax.jit(lambda x: x.sum())
    rng = np.random.default_rng(0)
    seen = [tuple(map(int, rng.integers(3, (60, 30)))) for _ in range(21)]
    fix = explained(lambda: [step(ones(*shape)) for shape in seen]).fix
    sizes, programs, waste = propose_shapes(seen, [[0, 1]])
    first, second = (" or ".join(str(each)[1:-1].rsplit(", ", 1)).strip(",") for each in sizes)
    assert fix == (
        f"Pad the first dimension of x to {first}; and the second dimension of x to {second}: "
        f"{programs} programs instead of {len(set(seen))}, with {waste:.0%} padding. "
        "Mask the padding."
    )
    step.clear_cache()
    with jxc.assert_compiles(programs):
        for shape in seen:
            step(ones(*map(bucket_of, shape, sizes)))


def test_two_calls_that_differ_in_two_dimensions_are_not_bucketed():
    step = jax.jit(lambda x: x.sum())
    assert "bucket" not in explained(lambda: [step(ones(3, 4)), step(ones(5, 6))]).fix
    assert "bucket" in explained(lambda: [step(ones(5, 7)), step(ones(6, 7))]).fix


def test_smaller_last_batch_is_recognized():
    step = jax.jit(lambda x: x.sum())
    group = explained(lambda: [step(ones(n, 2)) for n in (32, 32, 6)])
    assert group.sentence == ("<lambda> was compiled again: x was f32[32,2] and is now f32[6,2]")
    assert group.fix == (
        "If this is the smaller last batch, drop it (drop_remainder), or pad x to 32. "
        "Mask the padding, or use jxc.bucket if no row depends on other rows."
    )


def test_varying_rank_asks_for_the_same_number_of_dimensions():
    step = jax.jit(lambda x: x.sum())
    assert explained(lambda: [step(ones(3)), step(ones(3, 1))]).fix == (
        "Give x the same number of dimensions in every call."
    )


def test_captured_variable_lists_its_values():
    def block():
        for scale in (0.5, 1.0, 2.0):

            def scaled(x):
                return x * scale  # noqa: B023

            jax.jit(scaled)(ones(3))

    group = explained(block)
    assert group.sentence == (
        "scaled was compiled 3 times, because the captured variable scale varied: 0.5, 1.0, 2.0"
    )
    assert group.fix == (
        "Pass scale as an argument, and define the function once, outside the loop."
    )


def test_captured_variable_as_default_argument():
    group = explained(lambda: [jax.jit(lambda x, k=k: x * k)(ones(3)) for k in (1.0, 2.0)])
    assert "the captured variable k was 1.0 and is now 2.0" in group.sentence


def test_captured_array_that_was_replaced():
    def block():
        for _ in range(2):
            table = ones(4)
            jax.jit(lambda x: x + table)(ones(4))  # noqa: B023

    group = explained(block)
    assert "the captured variable table was float32[4] and is now another" in group.sentence


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
def test_new_function_object_in_each_iteration(make, what, hoist):
    group = explained(lambda: [jax.jit(make())(np.float32(1)) for _ in range(3)])
    assert f"was compiled 3 times, because each time {what}" in group.sentence
    assert group.fix == f"Create {hoist} and its jax.jit once, outside the loop."


def _add(x, y):
    return x + y


def _square(x):
    return x * x


def test_scan_outside_jit_has_a_new_function_each_time():
    def block():
        for _ in range(3):
            jax.lax.scan(lambda carry, x: (carry + x, carry), np.float32(0), ones(3))

    group = explained(block)
    assert group.sentence == (
        "scan was compiled 3 times, because each time the function passed to it is a new object "
        "(JAX caches programs by function object)"
    )
    assert group.fix == (
        "Call lax.scan under jax.jit, or define the function passed to it once, outside the loop."
    )


def test_static_argument_lists_its_values():
    power = jax.jit(lambda x, n: x**n, static_argnames="n")
    group = explained(lambda: [power(ones(3), n=n) for n in (2, 3, 4)])
    assert group.sentence == (
        "<lambda> was compiled 3 times, because the static argument n varied: 2, 3, 4"
    )
    assert group.fix == (
        "Pass n as a non-static argument if no shape and no Python 'if' depends on it; "
        "otherwise use few different values."
    )


def test_static_arguments_are_in_the_order_of_the_call():
    @functools.partial(jax.jit, static_argnames=("zeta", "alpha", "mid"))
    def scaled(x, zeta, alpha, mid):
        return x * zeta

    with jxc.explain() as log:
        scaled(ones(2), 1, 2, 3)
    assert list(log.compilations[0].static) == ["zeta", "alpha", "mid"]


def test_static_argument_left_out_differs_from_its_default():
    @functools.partial(jax.jit, static_argnames="n")
    def power(x, n=2):
        return x**n

    group = explained(lambda: [power(ones(3)), power(ones(3), n=2)])
    assert "the static argument n was 2 by default and is now 2" in group.sentence
    assert group.fix == ("Pass n in every call or in none: to JAX, a default is a different value.")


def test_static_argument_without_equality_names_its_class():
    class Config:
        pass

    step = jax.jit(lambda x, config: x, static_argnums=1)
    group = explained(lambda: [step(np.float32(1), Config()) for _ in range(3)])
    assert "the static argument config was a Config object, another one each time" in group.sentence
    assert "@dataclass(frozen=True)" in group.fix


def test_static_argument_with_equality_shares_a_program():
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


def test_weak_type_asks_for_a_dtype():
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(np.float32(1)), double(1.0)])
    assert group.kinds == ("weak type",)
    assert "x was f32[] and is now a Python float" in group.sentence
    assert group.fix == "Give x a dtype in every call: jnp.asarray(x, dtype=jnp.float32)."


def test_dtype_asks_for_a_conversion():
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(ones(3)), double(ones(3, dtype=np.int32))])
    assert "x was f32[3] and is now i32[3]" in group.sentence
    assert group.fix == "Convert x to one dtype before the call: x.astype(...)."


def test_fix_of_dtypes_names_all_arguments():
    add = jax.jit(lambda x, y: x + y)
    integers = ones(3, dtype=np.int32)
    group = explained(lambda: [add(ones(3), ones(3)), add(integers, integers)])
    assert group.fix == "Convert x and y to one dtype before the call: x.astype(...)."


def test_pytree_structure_names_added_leaves_and_types():
    total = jax.jit(lambda batch: sum(jax.tree.leaves(batch)))
    group = explained(lambda: [total({"x": ones(3)}), total({"x": ones(3), "mask": ones(3)})])
    assert "batch was without batch['mask'] and is now with batch['mask']" in group.sentence
    group = explained(lambda: [total((ones(2),)), total([ones(2)])])
    assert "batch was (*,) and is now [*]" in group.sentence
    assert "Pass batch with the same keys and types in every call" in group.fix


def test_argument_by_position_and_by_keyword():
    add = jax.jit(_add)
    group = explained(lambda: [add(ones(3), ones(3)), add(ones(3), y=ones(3))])
    assert "y was given by position and is now given by keyword" in group.sentence
    assert group.fix == "Pass y in the same way in every call, by position or by keyword."


def test_configuration_names_the_setting():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        with jax.default_matmul_precision("highest"):
            double(ones(3))

    group = explained(block)
    assert "jax_default_matmul_precision was None and is now 'highest';" in group.sentence
    assert "Set jax_default_matmul_precision once, before the first call" in group.fix


def test_configuration_includes_the_pipeline():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        with jxc.use("O1"):
            double(ones(3))

    assert "jxc's pipeline was None and is now 'O1';" in explained(block).sentence


def test_configuration_includes_the_mesh():
    double = jax.jit(lambda x: x * 2)
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))

    def block():
        double(ones(3))
        with jax.set_mesh(mesh):
            double(ones(3))

    group = explained(block)
    assert group.kinds[0] == "configuration"
    assert "mesh was none and is now Mesh(" in group.sentence


def test_configuration_includes_the_options_of_jit():
    group = explained(
        lambda: [jax.jit(_square)(ones(3)), jax.jit(_square, donate_argnums=0)(ones(3))]
    )
    assert "jax.jit's donate_argnums was () and is now (0,)" in group.sentence
    assert group.fix == "Jit the function once, with one set of options."


def test_sharding_asks_to_place_the_argument_once():
    mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    placed = jax.device_put(ones(8), NamedSharding(mesh, P("i")))
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(ones(8)), double(placed)])
    assert group.kinds == ("sharding",)
    assert "the sharding of x was the default and is now NamedSharding(" in group.sentence
    assert group.fix == "Place x once before the loop: jax.device_put(x, sharding)."


def test_cleared_caches_leave_no_difference():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        jax.clear_caches()
        double(ones(3))

    group = explained(block)
    assert "although nothing in the call differs: JAX's caches were cleared" in group.sentence


def test_most_similar_call_has_the_fewest_differences():
    power = jax.jit(lambda x, n: x**n, static_argnames="n")
    with jxc.explain() as log:
        power(ones(3), n=2)
        power(ones(5, 2), n=3)
        power(ones(3), n=4)
    assert log.compilations[2].reason.nearest == 1
    assert [each.kind for each in log.compilations[2].reason.differences] == ["static value"]


def test_derivative_outside_jit_has_a_reason():
    loss = jax.jit(lambda w: (w * w).sum())
    gradient = jax.grad(loss)
    with jxc.explain() as log:
        gradient(ones(3))
        gradient(ones(4))
    named = [each for each in log.compilations if each.function == "<lambda> (transformed)"]
    assert len(named) == 4
    assert [each.reason is None for each in named] == [True, True, False, False]
    assert {"trace", "lower", "compile"} <= set(named[0].seconds)


def test_sentence_names_the_first_of_many_arguments():
    total = jax.jit(lambda params: sum(each.sum() for each in params.values()))

    def block():
        for dtype in (np.float32, np.int32):
            total({f"w{i}": ones(2, dtype=dtype) for i in range(9)})

    group = explained(block)
    assert group.sentence.endswith("params['w3'] was f32[2] and is now i32[2] and 5 more")


def test_captured_pytree_is_not_printed():
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
    assert "the captured variable state was a State object and is now another" in reason

"""Values that are computed again: same results, less memory, random programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.check.numbering import is_same_by_numbering
from jxc.cost.liveness import peak_block
from jxc.ir import clone_module
from jxc.ir.locations import inline_calls
from jxc.ir.module import main_of, ops_of
from jxc.passes.rematerialize import _compared_values, repeatable_values
from jxc.passes.rematerialize.copies import compares_bits
from jxc.passes.rematerialize.straight_line import compute_again, is_repeatable
from jxc.rewrite import PassContext
from scripts.fuzzing.training import random_step, steps_in_a_loop


def rewritten(module, target, rng):
    """A copy of a module in which random values are computed again, and their number."""
    copy = clone_module(module)
    context = PassContext(target)
    with copy.context:
        inline_calls(copy.operation)
        outer = main_of(copy).regions[0].blocks[0]
        peak = peak_block(outer, context.device, context.rates)
        values = list(repeatable_values(peak))
        chosen = [value for value in values if rng.random() < 0.6]
        count = compute_again(peak.block, peak.timeline, chosen)
        copy.operation.verify()
    return copy, count


def check(seed, *, run, prepared=lambda step, args: (step, args), pipeline=()):
    step, args = prepared(*random_step(seed))
    lowered = jxc.lower(step, *args).opt(pipeline)
    rng = np.random.default_rng(seed)
    found = 0
    for target in ("cpu", "tpu:v5e", "gpu:h100"):
        after, count = rewritten(lowered.module, target, rng)
        found += count
        assert is_same_by_numbering(lowered.module, after), (seed, target)
        if run and target != "gpu:h100":
            expected = jax.tree.leaves(jax.jit(step)(*args))
            for one, other in zip(_run(lowered, after, args), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5, err_msg=f"{seed}")
    return found


def _run(lowered, module, args):
    flat = jax.tree.leaves((args[0], args[1], jax.random.key_data(args[2])))
    used = [flat[index] for index in lowered.used_arguments]
    return jax.tree.leaves(lowered_from_module(module).compile()(*used))


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_keep_their_results(seed):
    check(seed, run=seed % 3 == 0)


@pytest.mark.parametrize("seed", range(20, 28))
def test_steps_in_a_loop_keep_their_results(seed):
    check(seed, run=seed % 3 == 0, prepared=steps_in_a_loop)


def test_values_in_the_body_of_a_loop_are_computed_again():
    assert sum(check(seed, run=False, prepared=steps_in_a_loop) for seed in range(30, 34)) > 0


def test_step_in_parts_keeps_its_results():
    def step(params, x, key):
        def loss(params):
            h = x
            for w in params:
                h = jnp.tanh(h @ w) * jax.random.bernoulli(key, 0.5, h.shape)
            return jnp.mean(h**2)

        return jax.value_and_grad(loss)(params)

    rng = np.random.default_rng(0)
    params = [rng.normal(size=(16, 16)).astype("f") / 4 for _ in range(4)]
    args = params, rng.normal(size=(64, 16)).astype("f"), jax.random.key(0)
    given = {"prepared": lambda *_: (step, args), "pipeline": "microbatch{steps=4}"}
    assert check(0, run=True, **given) > 0


def test_body_needs_less_memory():
    """A loop over steps: the peak is in its body."""

    def loss(params, x):
        for w in params:
            x = jnp.sin(jnp.tanh(x @ w))
        return jnp.sum(x)

    def steps(params, x):
        def one(params, _):
            gradients = jax.grad(loss)(params, x)
            return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), None

        return jax.lax.scan(one, params, length=5)[0]

    args = [np.ones((32, 32), "f") / 32] * 8, np.ones((4096, 32), "f")
    needed = {}
    for pipeline in ("O0", "rematerialize{values=tanh,sin}"):
        compiled = jxc.jit(steps, pipeline=pipeline, strict=True).lower(*args).compile()
        needed[pipeline] = compiled.memory_analysis().temp_size_in_bytes
    before, after = needed.values()
    assert after < 0.75 * before


def test_values_that_are_compared_for_equality_are_kept():
    def loss(w, x):
        for _ in range(3):
            x = jnp.sin(x @ w) * 3
            x = jnp.tanh(x + x.max(-1, keepdims=True))
        return (x**2).mean()

    shapes = (256, 256), (4096, 256)
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    module = jxc.lower(jax.grad(loss), *given).module
    context = PassContext("gpu:h100")
    with module.context:
        inline_calls(module.operation)
        block = main_of(module).regions[0].blocks[0]
        peak = peak_block(block, context.device, context.rates)
        labels = [label.op for label in repeatable_values(peak).values()]
        compared = _compared_values(peak)
        equalities = [op for op in ops_of(block) if compares_bits(op)]
    assert "tanh" in labels and compared
    assert not compared & set(repeatable_values(peak))
    assert equalities and not any(map(is_repeatable, equalities))

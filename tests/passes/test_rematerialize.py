"""Values that are computed again: same results, less memory, random programs."""

import jax
import numpy as np
import pytest

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.check.numbering import is_same_by_numbering
from jxc.cost.liveness import Timeline
from jxc.ir import clone_module
from jxc.ir.locations import inline_calls
from jxc.ir.module import main_of
from jxc.passes.rematerialize import repeatable_values
from jxc.passes.rematerialize.straight_line import compute_again
from jxc.rewrite import PassContext

from .random_steps import random_step


def rewritten(module, target, rng):
    """A copy of a module in which random values are computed again, and their number."""
    copy = clone_module(module)
    context = PassContext(target)
    with copy.context:
        inline_calls(copy.operation)
        block = main_of(copy).regions[0].blocks[0]
        timeline = Timeline(block, context.device, context.rates)
        values = list(repeatable_values(timeline))
        chosen = [value for value in values if rng.random() < 0.6]
        count = compute_again(block, timeline, chosen)
        copy.operation.verify()
    return copy, count


def check(seed, *, run):
    step, args = random_step(seed)
    lowered = jxc.lower(step, *args)
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

"""Difficult cases of reasons: the call to compare with, the owner of the code, the fix."""

import collections
import dataclasses
import functools
import sysconfig

import jax
import jax.numpy as jnp
import numpy as np

import jxc

from .explaining import explained, ones

MASK = "Mask the padding, or use jxc.bucket if no row depends on other rows."


def reasons_of(block):
    """The reasons of the functions that `block` recompiles, without single operations."""
    with jxc.explain() as log:
        block()
    return [each.reason for each in log.compilations if each.reason and not each.is_eager]


def test_fix_does_not_assume_a_last_batch_among_many_sizes():
    @jax.jit
    def update(x, rate):
        return x.sum() * rate

    def block():
        for n, rate in ((9, np.float32(1)), (7, 1.0), (6, np.float32(1)), (5, np.float32(1))):
            update(ones(n), rate)

    with jxc.explain() as log:
        block()
    [alone] = [group for group in log.groups if group.kinds == ("shape", "weak type")]
    assert "last" not in alone.fix
    assert alone.fix.startswith("Pad x to one size, or to a few, so that calls share programs.")
    assert MASK in alone.fix
    assert all("last" not in each.reason.fix for each in log.compilations[2:])


def test_reason_compares_with_the_call_of_the_same_captured_value():
    def block():
        for n in (0, 1, 2, 2):
            jax.jit(functools.partial(_power, n))(ones(3))

    *_, last = reasons_of(block)
    assert [each.kind for each in last.differences] == ["function"]
    assert "it is a new functools.partial object" in last.sentence


def _power(n, x):
    return x**n


def test_static_function_created_anew():
    apply = jax.jit(lambda x, fn: fn(x), static_argnames="fn")

    def block():
        for _ in range(3):
            apply(ones(3), fn=lambda x: x + 1)

    group = explained(block)
    assert group.sentence == (
        "<lambda> was compiled 3 times, because the static argument fn was the function "
        "<lambda>, another one each time"
    )
    assert group.fix == (
        "Pass the same function object as fn each time: create it once, outside the loop."
    )


def test_static_container_names_the_part_that_differs():
    run = jax.jit(lambda x, plan: plan[1][0](x), static_argnames="plan")
    names = tuple(f"the name of step {n}" for n in range(5))

    def block():
        for _ in range(3):
            run(ones(3), plan=(names, (lambda x: x + 1,)))

    group = explained(block)
    assert "plan was one with the function <lambda>, another one each time" in group.sentence
    assert group.fix.startswith("Pass the same function object as plan each time")


def test_static_argument_by_position_and_by_keyword():
    @functools.partial(jax.jit, static_argnames="mode")
    def step(x, mode):
        return x

    group = explained(lambda: [step(ones(3), mode="a"), step(ones(3), "a")])
    assert "mode was given by keyword and is now given by position" in group.sentence
    assert group.fix == "Pass mode in the same way in every call, by position or by keyword."


def test_each_static_argument_has_its_own_fix():
    class Agent:
        pass

    @functools.partial(jax.jit, static_argnames=("mode", "agent"))
    def step(x, mode, agent=None):
        return x

    def block():
        for mode in "abc":
            step(ones(3), mode=mode)
        for _ in range(3):
            step(ones(3), mode="c", agent=Agent())

    with jxc.explain() as log:
        block()
    fix_of = {group.sentence.partition("static argument ")[2]: group.fix for group in log.groups}
    assert fix_of["mode varied: 'a', 'b', 'c'"].startswith("Pass mode as a non-static argument")
    [agent] = [
        words for words in fix_of if words.startswith("agent varied: None by default, an Ag")
    ]
    assert "Define equality and a hash by value for Agent" in fix_of[agent]


def test_static_numpy_numbers_are_compared_by_value():
    first = jax.jit(lambda x, n: x[:n], static_argnums=1)
    group = explained(lambda: [first(ones(4), np.int64(n)) for n in (1, 2, 3)])
    assert "the static argument n varied: np.int64(1), np.int64(2), np.int64(3)" in group.sentence


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["weights"], meta_fields=["update"]
)
@dataclasses.dataclass
class State:
    weights: object
    update: object


def test_pytree_metadata_that_varies():
    step = jax.jit(lambda state, x: state.update(state.weights, x))

    def run(rate):
        def update(weights, x):
            return weights - rate * x

        state = State(ones(3), update)
        for _ in range(2):
            state = State(step(state, ones(3)), update)

    group = explained(lambda: [run(0.1), run(0.2), run(0.3)])
    assert group.kinds == ("metadata",)
    assert group.sentence == (
        "<lambda> was compiled 3 times, because what state holds besides arrays was the function "
        "update, another one each time"
    )
    assert "create such values (an optimizer, a function) once, before the loop" in group.fix


def test_pytree_metadata_of_an_inner_node():
    total = jax.jit(lambda batch: batch["s"][0].weights.sum())
    found = reasons_of(
        lambda: [total({"a": ones(2), "s": (State(ones(3), name), 1.0)}) for name in ("x", "y")]
    )
    assert found[0].sentence.endswith("what batch holds besides arrays was 'x' and is now 'y'")


def test_pytree_classes_are_named():
    Point = collections.namedtuple("Point", "x y")
    total = jax.jit(lambda pair: sum(jax.tree.leaves(pair)))
    found = reasons_of(
        lambda: [total(Point(1.0, 2.0)), total((1.0, 2.0)), total({"of": [(1.0,), [2.0]]})]
    )
    assert "pair was a Point and is now a tuple" in found[0].sentence


def test_operations_outside_jit_have_their_own_fix():
    key = jax.random.key(0)

    def block():
        for n in (3, 4):
            jax.random.normal(key, (n, 7))

    with jxc.explain() as log:
        block()
    fixes = {each.reason.fix for each in log.compilations if each.reason}
    assert fixes
    assert all(
        each.startswith("Put the computation into one function under jax.jit") for each in fixes
    )


def test_operation_with_other_parameters_is_not_a_new_function():
    with jxc.explain() as log:
        jnp.arange(1873), jnp.arange(1874)  # sizes that no other test in the process has
    [reason] = [each.reason for each in log.compilations if each.reason]
    assert reason.sentence == ("iota was compiled again: its parameters differ, such as a shape")


def test_fix_of_a_python_number_does_not_use_astype():
    double = jax.jit(lambda x: x * 2)
    group = explained(lambda: [double(np.float32(1)), double(2)])
    assert group.fix == "Convert x to one dtype before the call: jnp.asarray(x, dtype=...)."


def test_bound_method_created_anew():
    class Trainer:
        def step(self, x):
            return x * 2

    trainer = Trainer()
    group = explained(lambda: [jax.jit(trainer.step)(ones(3)) for _ in range(3)])
    assert "each time it is a new bound method" in group.sentence
    assert group.fix == (
        "Call jax.jit on the method once, for example in __init__, outside the loop."
    )


def test_reason_names_the_line_of_the_most_similar_call_if_it_differs():
    double = jax.jit(lambda x: x * 2)

    def block():
        double(ones(3))
        double(ones(3, 3))

    assert (
        "; the most similar earlier call is at tests/tools/test_explain_reasons.py:"
        in explained(block).sentence
    )


def test_operations_of_one_argument_type_do_not_count_types():
    def block():
        for n in range(1, 7):
            jnp.broadcast_to(np.float32(1), (n,))

    with jxc.explain() as log:
        block()
    [group] = log.groups
    assert "of them again" in group.sentence
    assert "different types" not in group.sentence


LIBRARY = """
import jax

class Trainer:
    def __init__(self):
        self.apply = jax.jit(lambda x, body: body(x), static_argnames="body")

    def run(self, x):
        return self.apply(x, body=lambda x: x + 1)

train_step = jax.jit(lambda x: x.sum())
"""


def test_fix_in_a_library_is_about_the_users_objects():
    library = {"__name__": "library"}
    file = f"{sysconfig.get_paths()['purelib']}/library.py"
    exec(compile(LIBRARY, file, "exec"), library)
    trainer = library["Trainer"]()

    def block():
        for _ in range(3):
            trainer.run(ones(3))

    assert explained(block).fix == (
        "<lambda> belongs to a library: create the object that has it, and functions that are "
        "passed to it, once, outside the loop (JAX caches programs by function object)."
    )
    fix = explained(lambda: [library["train_step"](ones(n)) for n in (8, 5)]).fix
    assert fix.endswith("or pad x to 8. Mask the padding.")


def test_line_at_the_interactive_prompt_is_the_users():
    code = compile("step(x)", "<ipython-input-1-0123456789ab>", "exec")
    with jxc.explain() as log:
        exec(code, {"step": jax.jit(lambda x: x + 1), "x": ones(3)})
    assert [str(each.called) for each in log.compilations] == ["<ipython-input-1-0123456789ab>:1"]

"""What ran at tracing only, control flow on tracers, eager operations, sizes to pad to."""

import functools
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.tools.explain.sizes import padding_waste, propose_sizes

from .explaining import ones

# What happens while tracing only


def test_effects_that_ran_once(capsys):
    losses, state = [], {"steps": 0}

    class Model:
        calls = 0

        def __init__(self):
            self.calls = 0

        def step(self, x):
            print("stepping")
            self.calls += 1
            losses.append(x)
            return x + 1

    step = jax.jit(Model().step)
    with jxc.explain() as log:
        for _ in range(3):
            step(np.float32(1))
        jax.jit(lambda x: state.update(steps=1) or x)(np.float32(1))  # as many items as before
    assert capsys.readouterr().out == "stepping\n"
    said = {each.name: each for each in log.effects}
    assert set(said) == {"print", "self.calls", "losses"}
    assert said["print"].sentence == (
        "print() ran while Model.step was traced (once): its calls do not do it again"
    )
    assert said["print"].fix == "Use jax.debug.print to print at each call."
    assert said["print"].place.text == 'print("stepping")'
    assert said["self.calls"].place.text == "self.calls += 1"
    assert said["losses"].sentence == (
        "losses got more items while Model.step was traced (once): its calls do not do it again, "
        "and it keeps a traced value, which raises an error when it is used"
    )
    assert said["losses"].fix == (
        "Return the value from Model.step, and put it into losses where that is called."
    )


counter = 0


def test_an_object_that_is_a_static_argument_is_watched_too():
    class Agent:
        def __init__(self):
            self.calls, self.seen = 0, []

        @functools.partial(jax.jit, static_argnums=0)
        def update(self, x):
            self.calls += 1
            self.seen.append(x)
            return x

    agent = Agent()
    with jxc.explain() as log:
        agent.update(np.float32(1))
    said = {each.name: each for each in log.effects}
    assert set(said) == {"self.calls", "self.seen"}
    assert said["self.seen"].holds_tracer
    assert said["self.calls"].fix == (
        "Return the value from Agent.update, and assign self.calls where that is called."
    )


def _count():
    global counter
    counter += 1


def test_a_global_that_a_helper_assigns():
    @jax.jit
    def step(x):
        _count()
        return x

    with jxc.explain() as log:
        step(np.float32(1))
        step(1.0)
    [effect] = log.effects
    assert (effect.name, effect.times, effect.place.text) == ("counter", 2, "counter += 1")


rate = 0.5


def test_a_global_that_changes_after_the_trace():
    global rate
    step = jax.jit(lambda x: x * rate)
    with jxc.explain() as log:
        step(ones(3))
        rate = 2.0
        assert step(ones(3))[0] == 0.5
    rate = 0.5
    [effect] = log.effects
    assert effect.sentence == (
        "rate was 0.5 when <lambda> was traced, and is 2.0 now: its programs still have the first "
        "one"
    )
    assert effect.fix == "Pass rate to <lambda> as an argument."
    assert effect.place.text == "step = jax.jit(lambda x: x * rate)"


def test_printing_outside_of_a_trace_is_no_effect(capsys):
    with jxc.explain() as log:
        print("outside")
        jax.jit(lambda x: jax.debug.print("inside") or x)(np.float32(1)).block_until_ready()
        jax.effects_barrier()
    assert log.effects == []
    assert set(capsys.readouterr().out.split()) == {"outside", "inside"}


# Control flow on tracers


@pytest.mark.parametrize(
    ("function", "sentence", "fix"),
    [
        (
            lambda x: _relu(x),
            "'if' asks whether a traced bool[] is true",
            "Use jnp.where or jax.lax.cond in place of 'if'.",
        ),
        (lambda x: float(x), "float() needs the value of a traced f32[]", "Keep it an array"),
        (lambda x: np.sin(x), "numpy needs the value of a traced f32[]", "Use jax.numpy"),
        (
            lambda x: jnp.zeros(x),
            "a shape depends on the value of a traced array",
            "Compute shapes from x.shape.",
        ),
    ],
)
def test_control_flow_on_tracers(function, sentence, fix):
    with jxc.explain() as log, pytest.raises((jax.errors.JAXTypeError, TypeError)):
        jax.jit(function)(1.0)
    [failure] = log.failures
    assert failure.sentence == sentence
    assert fix in failure.fix
    assert failure.place.file == __file__


def _relu(x):
    if x > 0:
        return x
    return 0.0 * x


def test_static_is_offered_as_a_decorator_has_it():
    with jxc.explain() as log, pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(_relu)(1.0)
    assert "jax.jit(..., static_argnames='x')" in log.failures[0].fix
    assert "--static" not in log.failures[0].fix


def test_other_errors_are_not_ours_to_tell():
    with jxc.explain() as log, pytest.raises(ZeroDivisionError):
        jax.jit(lambda x: x / (1 // 0))(1.0)
    assert log.failures == [] and log.compilations == []


# Operations outside of jit


def test_eager_operations_are_summed_up_by_line():
    jax.clear_caches()  # what another test has lowered, and not compiled, is compiled with no trace
    with jxc.explain() as log:
        for n in (3, 4, 5):
            (jnp.sin(ones(n)) * 2 + jnp.cos(ones(n))).sum()
        jax.jit(lambda x: x)(ones(2))
    [row] = [row for row in log.rows if row.is_eager]
    assert row.times >= 12
    [group] = log.groups
    assert group.kinds == ("eager",)
    assert "runs outside of jax.jit: " in group.sentence
    assert [row.function for row in log.rows if not row.is_eager] == ["<lambda>"]


def _square(x):
    return x * x


def test_jitting_a_known_function_anew_is_a_hit():
    with jxc.explain() as log:
        jax.jit(_square)(ones(2))
        jax.jit(_square, donate_argnums=0).trace(ones(2))
    assert log.hits == {"_square": 1}
    assert len(log.compilations) == 1


def test_the_object_is_json():
    with jxc.explain() as log:
        jax.jit(_relu_where, static_argnums=1)(ones(2), None)
    found = json.loads(json.dumps(log.as_json()))
    assert (found["schema_version"], found["compiled"]) == (1, 1)
    [compilation] = found["compilations"]
    assert compilation["arguments"] == {"x": "f32[2]"}
    assert compilation["static"] == {"y": "None"}
    assert compilation["called"].startswith("tests/tools/test_recompiles_tracing.py:")
    assert compilation["ops"] >= 2
    assert compilation["peak_bytes"] >= 16
    assert set(compilation["seconds"]) == {"trace", "lower", "compile"}
    assert all(0 < seconds < 60 for seconds in compilation["seconds"].values())


def _relu_where(x, y):
    return jnp.where(x > 0, x, 0)


# Sizes to pad to


def test_sizes_cover_what_was_seen_and_waste_little():
    rng = np.random.default_rng(0)
    for _ in range(50):
        seen = rng.integers(1, 16, size=rng.integers(1, 20)).tolist()  # too small to round up
        sizes = propose_sizes(seen, most=3)
        assert max(sizes) == max(seen)
        best = min(padding_waste(seen, (*c, max(seen))) for c in itertools.product(seen, repeat=2))
        waste = padding_waste(seen, sizes)
        assert waste <= 0.2 or (len(sizes) == 3 and waste == pytest.approx(best))
        if len(sizes) > 1:
            assert padding_waste(seen, (max(seen),)) > 0.2


def test_large_sizes_are_multiples_of_eight():
    sizes = propose_sizes(range(20, 400, 7))
    assert sizes == propose_sizes(range(20, 400, 7), most=4) and len(sizes) == 4
    assert all(size % 8 == 0 for size in sizes) and max(sizes) >= 398


def test_few_sizes_are_kept():
    assert propose_sizes([32, 32, 32]) == (32,)
    assert propose_sizes([]) == ()
    assert padding_waste([3, 4], [4]) == pytest.approx(1 / 8)

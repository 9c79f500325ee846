"""Side effects of tracing, failed traces, operations outside jit, and sizes to pad to."""

import functools
import itertools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.cost.padding import bucket_of, padding_waste, propose_shapes, propose_sizes

from .explaining import ones

# Side effects of tracing


def test_side_effects_of_a_trace_have_line_sentence_and_fix(capsys):
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
        jax.jit(lambda x: state.update(steps=1) or x)(
            np.float32(1)
        )  # the same number of items as before
    assert capsys.readouterr().out == "stepping\n"
    said = {each.name: each for each in log.effects}
    assert set(said) == {"print", "self.calls", "losses"}
    assert said["print"].sentence == (
        "print() ran while Model.step was traced (once); this is not repeated when the compiled "
        "program runs"
    )
    assert said["print"].fix == "Use jax.debug.print to print in each call."
    assert said["print"].place.text == 'print("stepping")'
    assert said["self.calls"].place.text == "self.calls += 1"
    assert said["losses"].sentence == (
        "losses got new items while Model.step was traced (once); this is not repeated when the "
        "compiled program runs. It stores a traced value, which raises an error when it is used"
    )
    assert said["losses"].fix == (
        "Return the value from Model.step, and add it to losses in the code that calls it."
    )


counter = 0


def test_side_effects_on_a_static_argument():
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
        "Return the value from Agent.update, and assign self.calls in the code that calls it."
    )


def _count():
    global counter
    counter += 1


def test_side_effects_of_a_called_function():
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


def test_stale_global_is_reported():
    global rate
    step = jax.jit(lambda x: x * rate)
    with jxc.explain() as log:
        step(ones(3))
        rate = 2.0
        assert step(ones(3))[0] == 0.5
    rate = 0.5
    [effect] = log.effects
    assert effect.sentence == (
        "rate was 0.5 when <lambda> was traced and is 2.0 now, but the compiled program still uses "
        "the old value"
    )
    assert effect.fix == "Pass rate to <lambda> as an argument."
    assert effect.place.text == "step = jax.jit(lambda x: x * rate)"


def test_print_outside_a_trace_is_no_side_effect(capsys):
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
def test_failed_trace_names_the_expression_and_a_fix(function, sentence, fix):
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


def test_failed_trace_offers_static_argnames_of_jit():
    with jxc.explain() as log, pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(_relu)(1.0)
    assert "jax.jit(..., static_argnames='x')" in log.failures[0].fix
    assert "--static" not in log.failures[0].fix


def test_other_exceptions_are_not_recorded():
    with jxc.explain() as log, pytest.raises(ZeroDivisionError):
        jax.jit(lambda x: x / (1 // 0))(1.0)
    assert log.failures == [] and log.compilations == []


# Operations outside of jit


def test_operations_outside_jit_are_one_row_by_line():
    jax.clear_caches()  # otherwise functions lowered by another test would have no trace
    with jxc.explain() as log:
        for n in (3, 4, 5):
            (jnp.sin(ones(n)) * 2 + jnp.cos(ones(n))).sum()
        jax.jit(lambda x: x)(ones(2))
    [row] = [row for row in log.rows if row.is_eager]
    assert row.times >= 12
    [group] = log.groups
    assert group.kinds == ("eager",)
    assert "runs outside jax.jit: " in group.sentence
    assert [row.function for row in log.rows if not row.is_eager] == ["<lambda>"]


def _square(x):
    return x * x


def test_jitting_a_function_again_counts_as_a_hit():
    with jxc.explain() as log:
        jax.jit(_square)(ones(2))
        jax.jit(_square, donate_argnums=0).trace(ones(2))
    assert log.hits == {"_square": 1}
    assert len(log.compilations) == 1


def test_log_as_json_is_serializable():
    with jxc.explain() as log:
        jax.jit(_relu_where, static_argnums=1)(ones(2), None)
    found = json.loads(json.dumps(log.as_json()))
    assert (found["schema_version"], found["compiled"]) == (1, 1)
    [compilation] = found["compilations"]
    assert compilation["arguments"] == {"x": "f32[2]"}
    assert compilation["static"] == {"y": "None"}
    assert compilation["called"].startswith("tests/tools/test_explain_tracing.py:")
    assert compilation["ops"] >= 2
    assert compilation["peak_bytes"] >= 16
    assert set(compilation["seconds"]) == {"trace", "lower", "compile"}
    assert all(0 < seconds < 60 for seconds in compilation["seconds"].values())


def _relu_where(x, y):
    return jnp.where(x > 0, x, 0)


# Sizes to pad to


def test_propose_sizes_covers_all_sizes_with_little_waste():
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


def test_propose_sizes_rounds_large_sizes_to_multiples_of_eight():
    sizes = propose_sizes(range(20, 400, 7))
    assert sizes == propose_sizes(range(20, 400, 7), most=4) and len(sizes) == 4
    assert all(size % 8 == 0 for size in sizes) and max(sizes) >= 398


def test_propose_sizes_of_one_size_and_of_none():
    assert propose_sizes([32, 32, 32]) == (32,)
    assert propose_sizes([]) == ()
    assert padding_waste([3, 4], [4]) == pytest.approx(1 / 8)


@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("of_arrays", [[[0, 1]], [[0], [1]]], ids=["one array", "two arrays"])
def test_propose_shapes_counts_the_programs_and_the_padding(of_arrays, most):
    rng = np.random.default_rng(3)
    for _ in range(20):
        seen = [tuple(map(int, rng.integers(1, 70, 2))) for _ in range(int(rng.integers(2, 30)))]
        sizes, programs, waste = propose_shapes(seen, of_arrays, most)
        padded = [tuple(map(bucket_of, shape, sizes)) for shape in seen]
        assert programs == len(set(padded)) <= most
        elements = [
            sum(math.prod(shape[at] for at in own) for shape in shapes for own in of_arrays)
            for shapes in (seen, padded)
        ]
        assert waste == pytest.approx(1 - elements[0] / elements[1])


def test_propose_shapes_of_many_dimensions_gives_some_one_size():
    seen = [(i, 2 * i, 30 - i, i + 1, 9 - i) for i in range(1, 9)]
    sizes, programs, _ = propose_shapes(seen, [range(5)])
    assert [len(each) for each in sizes[3:]] == [1, 1] and programs <= 4

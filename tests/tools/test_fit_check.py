"""The checks of a plan: programs run here if a price or a run with a time limit allows it."""

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.tools.fit import check
from jxc.tools.fit.timed import is_run_within


def automaton(kernels, weights, state):
    """A cellular automaton: a convolution by channel, which XLA's CPU runs as a plain loop."""

    def step(state, _):
        numbers = ("NHWC", "HWIO", "NHWC")
        seen = jax.lax.conv_general_dilated(
            state, kernels, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=4
        )
        return state + jnp.tanh(seen @ weights), None

    return (jax.lax.scan(step, state, None, length=8)[0] ** 2).mean()


@pytest.fixture
def gradient():
    shapes = [(3, 3, 1, 12), (12, 4), (2, 8, 8, 4)]
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return jxc.lower(jax.grad(automaton, (0, 1)), *given).module


@pytest.mark.parametrize("price", [0.1, 100.0])
def test_program_of_a_high_price_is_run_with_a_time_limit(gradient, monkeypatch, price):
    monkeypatch.setattr(check, "_seconds_here", lambda _: price)
    found = check.check_plan(gradient, "rematerialize{values=tanh}", 1, "", "cpu")
    assert found.startswith("equal results")


def test_program_that_takes_too_long_is_not_compared(gradient, monkeypatch):
    monkeypatch.setattr(check, "_seconds_here", lambda _: 100.0)
    monkeypatch.setattr(check, "is_run_within", lambda module, limit_s: False)
    found = check.check_plan(gradient, "rematerialize{values=tanh}", 1, "", "cpu")
    assert found == "no, since a run takes about 100 s on this CPU"


def test_run_within_ends_a_long_run(gradient):
    def endless(x):
        return jax.lax.while_loop(lambda x: x < 1, lambda x: x * 0, x)

    assert is_run_within(gradient, 10.0)
    module = jxc.lower(endless, jax.ShapeDtypeStruct((), jnp.float32)).module
    assert not is_run_within(module, 0.2)


def test_reduced_sizes_keep_the_iterations_of_loops():
    """24 layers is the only size that could still become smaller: the features are 16 heads."""

    def layer(x, w):
        heads = jax.nn.softmax((x @ w).reshape(16, 16, 256))
        return jnp.sin(heads.reshape(16, 4096)), None

    def loss(layers, x):
        return (jax.lax.scan(layer, x, layers)[0] ** 2).sum()

    shapes = (24, 4096, 4096), (16, 4096)
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    module = jxc.lower(jax.grad(loss), *given).module
    smallest = next(check._reduced(module))
    assert check._bytes(smallest) < 2 * check._MOST_BYTES
    assert "tensor<24x128x128xf32>" in str(smallest)
    found = check.check_plan(module, "rematerialize{values=sin}", 1, "", "tpu:v5e")
    assert found.startswith("equal results, up to rounding, on ")


def segmentation(params, images, labels):
    """A step down and up again, whose images have as many pixels in a row as features."""
    first, second = params

    def convolved(x, kernel, stride=1):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=numbers
        )

    def normalized(x):
        groups = x.reshape(*x.shape[:3], 4, -1)
        groups = groups - groups.mean((1, 2, 4), keepdims=True)
        return groups.reshape(x.shape)

    x = jax.nn.relu(normalized(convolved(images, first)))
    down = jax.nn.relu(convolved(x, second, 2))
    up = jnp.repeat(jnp.repeat(down, 2, 1), 2, 2)
    scores = jax.nn.log_softmax(x + up)
    return -jnp.take_along_axis(scores, labels[..., None], -1).mean()


def test_images_of_as_many_pixels_as_features_are_reduced():
    shapes = [(3, 3, 3, 128), (3, 3, 128, 128), (8, 128, 128, 3)]
    first, second, images = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    labels = jax.ShapeDtypeStruct((8, 128, 128), jnp.int32)
    module = jxc.lower(jax.value_and_grad(segmentation), (first, second), images, labels).module
    sizes = [str(each) for each in check._reduced(module, 8, 2, check._examples(module, ""))]
    for side in (16, 32, 64):
        assert any(f"tensor<4x{side}x{side}x128xf32>" in text for text in sizes)
    found = check.check_plan(module, "", 2, "", "tpu:v5e")
    assert found.startswith("split batch: equal results, up to rounding, on ")
    assert found.endswith(", of reduced sizes")

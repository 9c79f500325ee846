"""What `jxc fit` predicts of shardings: collectives and loops as XLA makes them."""

import jax.numpy as jnp
import pytest

import jxc
from jxc.ir.propagation import as_xla_imports
from jxc.rewrite import PassContext
from jxc.tools.fit.meshes import partition
from jxc.tools.fit.meshes.partition import ShardingCandidate, predict

SCATTERED = "mesh d=8\nx -> d\ny -> d\nresult -> d\n"
SUMMED = "mesh d=8\nx -> d\ny -> d\nresult ->\n"
OVER_BOTH = "mesh d=4 m=2\nx -> d+m\ny -> d+m\nresult -> d,m\n"
OVER_A_PART = "mesh d=4 m=2\nx -> d+m\ny -> d+m\nresult -> d\n"


@pytest.fixture
def messages(monkeypatch):
    """The messages of the last prediction."""
    found = []
    price = partition._seconds
    record = lambda *given: found.append(given[:3]) or price(*given)  # noqa: E731
    monkeypatch.setattr(partition, "_seconds", record)
    return found


def gradient(x, y):
    """The gradient of a parameter: sums over the rows, which are the batch."""
    return x.T @ y


def predicted(rules, tmp_path, target, function=gradient, *shapes):
    """The prediction for a function of arrays of f32."""
    arrays = [jnp.ones(shape) for shape in shapes or [(64, 32), (64, 16)]]
    lowered = jxc.lower(function, *arrays)
    (tmp_path / "step.rules").write_text(rules)
    mesh = rules.splitlines()[0].removeprefix("mesh ").replace(" ", ",")
    candidate = ShardingCandidate(str(tmp_path / "step.rules"), mesh, None)
    module = as_xla_imports(lowered.module.operation)
    return predict(module, PassContext(target), candidate)


def test_sum_that_is_scattered_over_an_axis_is_added_up_over_the_others(messages, tmp_path):
    predicted(OVER_A_PART, tmp_path, "tpu:v5e:2x4")
    whole = 32 * 16 * 4
    assert messages == [("reduce-scatter", ("d",), whole), ("all-reduce", ("m",), whole // 4)]


def test_sum_that_is_scattered_along_two_dimensions_is_one_message(messages, tmp_path):
    predicted(OVER_BOTH, tmp_path, "tpu:v5e:2x4")
    assert messages == [("all-reduce", ("d", "m"), 32 * 16 * 4)]


@pytest.mark.parametrize("target", ["tpu:v5e:2x4", "gpu:h100"])
def test_array_that_is_gathered_along_two_dimensions_is_copied(target, tmp_path):
    rows, both = (f"mesh d=4 m=2\nx -> {spec}\nresult ->\n" for spec in ("d+m", "d,m"))
    made = [predicted(rules, tmp_path, target, jnp.sin, (4096, 4096)) for rules in (rows, both)]
    assert made[1].network_seconds == pytest.approx(made[0].network_seconds)
    assert made[1].seconds > 1.5 * made[0].seconds


def test_sum_that_every_device_has_is_one_message(messages, tmp_path):
    predicted(SUMMED, tmp_path, "tpu:v5e:2x4")
    assert messages == [("all-reduce", ("d",), 32 * 16 * 4)]


def test_product_of_a_scattered_sum_is_a_loop_on_a_tpu(tmp_path):
    scattered, summed = (predicted(r, tmp_path, "tpu:v5e:2x4") for r in (SCATTERED, SUMMED))
    assert scattered.seconds > 2 * summed.seconds
    scattered, summed = (predicted(r, tmp_path, "gpu:h100") for r in (SCATTERED, SUMMED))
    assert scattered.seconds == pytest.approx(summed.seconds)

"""`jxc fit` on accelerators: what it keeps in the memory of the host, and what kernels replace."""

import itertools

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.backend.targets import find_target
from jxc.compiled.program import compile_module
from jxc.errors import JxcError
from jxc.tools.fit import search as searching
from jxc.tools.fit.choices import Choices, frontier_of


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def layer(x, w):
    up, down = w
    h = jax.nn.gelu(x @ up)
    return h @ down, None


def step(weights, x):
    return jax.grad(lambda weights: jax.lax.scan(layer, x, weights)[0].sum())(weights)


ARGUMENTS = (f32(12, 128, 1024), f32(12, 1024, 128)), f32(4096, 128)


def frontier(device, function=step, arguments=ARGUMENTS):
    target = find_target(device)
    return frontier_of(jxc.lower(function, *arguments).for_target(target.name).module, target)


def fitted(budget, function=step, arguments=ARGUMENTS, **options):
    """A fit for an H100, whose compiler must be installed."""
    if find_target("gpu:h100").missing:
        pytest.skip("the compiler for GPUs is not installed")
    return jxc.fit(function, *arguments, target="gpu:h100", max_memory=budget, **options)


@pytest.mark.parametrize("device", ["gpu:h100", "tpu:v5e"])
def test_stacks_that_must_be_stored_can_be_kept_on_the_host(device):
    found = frontier(device)
    least = min(each.peak for each in found.choices)
    assert any(each.peak < least for each in found.hosted)
    labels = {each.label for choice in found.hosted for each in choice.host.selectors}
    assert "return h @ down, None" in {each.text for each in labels}


def test_moving_a_stack_takes_its_bytes_over_the_bandwidth_of_the_link():
    found = frontier("tpu:v5e")
    choice = min(found.hosted, key=lambda each: each.host.values)
    rows = 12 * choice.host.bytes / 10  # all but two of the rows are on the host alone
    assert choice.host.seconds >= rows / 15e9


def test_device_whose_link_to_the_host_is_not_known_keeps_all_values():
    assert not frontier("gpu:b200").hosted and not frontier("cpu").hosted


def test_values_of_straight_line_code_stay_on_the_device():
    def straight(weights, x):
        def loss(weights):
            y = x
            for up, down in zip(*weights, strict=True):
                y, _ = layer(y, (up, down))
            return y.sum()

        return jax.grad(loss)(weights)

    arguments = ([f32(128, 1024)] * 2, [f32(1024, 128)] * 2), f32(4096, 128)
    assert not frontier("gpu:h100", straight, arguments).hosted


def test_plan_keeps_on_the_host_what_no_other_measure_frees(tmp_path):
    found = fitted("85MiB", exact=True)
    assert found.fits and found.plan.pipeline == "rematerialize,offload,O2"
    assert "kept in the memory of the host" in str(found) and "1 on the host" in str(found)
    assert len(found.as_json()["plan"]["on_host"]) == 1
    found.save(tmp_path / "plan.toml")
    assert "[[offload]]" in (tmp_path / "plan.toml").read_text()
    here = jxc.lower(step, *ARGUMENTS)
    after = here.opt(str(tmp_path / "plan.toml"), target="gpu:h100").as_text()
    assert "pinned_host" in after
    on_cpu = here.opt(str(tmp_path / "plan.toml")).as_text()
    assert "pinned_host" not in on_cpu


def test_time_of_a_version_includes_the_wait_for_the_host(tmp_path):
    found = fitted("85MiB", exact=True)
    found.save(tmp_path / "plan.toml")
    target = find_target("gpu:h100")
    after = (
        jxc.lower(step, *ARGUMENTS)
        .for_target(target.name)
        .opt(str(tmp_path / "plan.toml"), target=target.name)
    )
    waits = compile_module(after.module, target, {}).step
    assert waits.host_seconds > 0
    assert found.chosen.seconds == pytest.approx(waits.seconds)


def test_plan_without_the_host_is_kept_where_it_is_cheaper():
    found = fitted("100MiB", exact=True)
    assert found.fits and not found.plan.of("offload")
    assert found.chosen.seconds == min(t.seconds for t in found.trials if t.needed <= 100 * 2**20)


def test_search_ends_where_the_compiler_refuses_to_move_values(monkeypatch):
    needed = itertools.count(2**30, -1)

    def trial(finder, name, version, running):
        if "pinned_host" in version.as_text():
            raise JxcError("not supported")
        return searching.Trial(name, next(needed), 1.0)

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    found = fitted(2**20, exact=True)
    assert not found.fits and found.trials
    assert not any(each.choice.host.selectors for each in found.trials)


def attending(w, x):
    def loss(w):
        y = jax.nn.dot_product_attention(*(x @ each for each in w), is_causal=True)
        return (y**2).sum()

    return jax.grad(loss)(w)


ATTENDING = [f32(64, 64)] * 3, f32(1, 512, 2, 64)


def test_kernels_are_a_measure_on_their_targets():
    for device, applies in (("gpu:h100", True), ("cpu", False)):
        target = find_target(device)
        found = Choices(jxc.lower(attending, *ATTENDING).for_target(target.name), target)
        found.replace_by_kernels()
        assert bool(found.with_kernels) == applies
        assert all(each.kernels for each in found.with_kernels)
    assert found.kernels == {}


def test_fastest_version_is_chosen_with_kernels_and_without(monkeypatch):
    def trial(finder, name, version, running):
        needed = 2**20 if finder.base else 2**30
        return searching.Trial(name, needed, 1.0 if "kernels" in name else speed)

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    speed = 2.0
    found = fitted(2**21, attending, ATTENDING)
    assert found.chosen.name == "kernels" and found.plan.pipeline == "kernels,O2"
    assert found.plan.kernels == {"causal-attention": 1}
    assert "replaced by kernels: causal-attention (1 time)" in str(found)
    speed = 0.5
    assert not fitted(2**21, attending, ATTENDING).plan.kernels
    speed = 2.0
    found = fitted(2**21, attending, ATTENDING, exact=True)
    assert not any("kernels" in each.name for each in found.trials)

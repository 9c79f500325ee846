"""Programs with many small kernels: how much is recorded, and what recording costs."""

import json

import pytest

from jxc.tools.profile import overhead
from jxc.tools.profile.overhead import ProcessorClock, heap_bytes

from .test_profile import profile

MCMC = """
import jax, jax.numpy as jnp

def step(state, key):
    x, energy = state
    proposed = x + 0.1 * jax.random.normal(key, x.shape)
    after = jnp.sum(jnp.tanh(data @ jnp.outer(proposed, proposed) @ data.T) ** 2)
    accepted = jnp.log(jax.random.uniform(key)) < energy - after
    state = jnp.where(accepted, proposed, x), jnp.where(accepted, after, energy)
    return state, state[0]

data = jnp.ones((64, 8))

@jax.jit
def run(keys):
    return jax.lax.scan(step, (jnp.ones(8), jnp.float32(0)), keys)[1]

for seed in range(40):
    run(jax.random.split(jax.random.key(seed), 2000)).block_until_ready()
"""


@pytest.mark.skipif(not heap_bytes(), reason="the C library does not tell the size of the heap")
def test_recording_of_a_sampler_ends_at_the_limit_of_events(tmp_path):
    found = {}
    for limit in (20_000, 10_000_000):
        text = MCMC if limit == 20_000 else MCMC.replace("range(40)", "range(2)")
        options = ("--no-o2", "--events", str(limit), "--json", "p.json")
        done = profile(tmp_path, text, *options)
        found[limit] = json.loads((tmp_path / "p.json").read_text()), done.stderr
    few, text = found[20_000]
    assert "events, since each takes 1.3 KB of memory; --events records more" in " ".join(
        text.split()
    )
    runs = {each["name"].partition("(")[0]: each["runs"] for each in few["programs"]}
    assert 0 < runs.get("jit_run", 0) < 40
    assert sum(few["parts"].values()) == pytest.approx(few["seconds"], rel=1e-6)
    assert few["overhead"] > 1
    whole, text = found[10_000_000]
    assert "--events" not in text
    assert {each["name"].partition("(")[0]: each["runs"] for each in whole["programs"]}[
        "jit_run"
    ] == 2
    assert sum(whole["parts"].values()) == pytest.approx(whole["seconds"], rel=1e-6)


def test_clock_counts_the_processor_only_while_it_runs(monkeypatch):
    now = iter([10.0, 14.0, 30.0, 36.0, 40.0, 40.0])
    monkeypatch.setattr(overhead.time, "process_time", lambda: next(now))
    clock = ProcessorClock()
    for call in (clock.run, clock.run, clock.pause, clock.pause, clock.run, clock.pause):
        call()  # 4 s, then 6 s
    assert clock.ratio(4.0, 4.0) == pytest.approx(10 / (10 - 4 - 4 * 10 / 40))
    assert clock.ratio(100.0, 0.0) > 1


def test_loop_of_unknown_length_is_not_run_again(tmp_path):
    text = """
import jax, jax.numpy as jnp

@jax.jit
def f(x, n):  # of random arguments, n may be such that the loop never ends
    return jax.lax.while_loop(lambda s: s[1] != n, lambda s: (s[0] @ s[0], s[1] + 2), (x, 0))[0]

for _ in range(5):
    f(jnp.eye(200), 40).block_until_ready()
"""
    assert "with O2" not in profile(tmp_path, text).stderr

"""How much is recorded of programs with many small kernels; what is measured after the program."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from jxc.events.heap import heap_bytes
from jxc.source import SourceLine
from jxc.tools.profile import changes
from jxc.tools.profile.presentation import about_overhead, as_text
from jxc.tools.profile.profile import Piece, Profile
from jxc.tools.profile.programs import KernelCost
from jxc.tools.profile.unlabelled import Origin

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
    assert few["overhead"] == {}
    whole, text = found[10_000_000]
    assert "--events" not in text
    assert {each["name"].partition("(")[0]: each["runs"] for each in whole["programs"]}[
        "jit_run"
    ] == 2
    assert sum(whole["parts"].values()) == pytest.approx(whole["seconds"], rel=1e-6)


LINE = Origin(SourceLine("/a.py", 1), "", ())


def made(seconds, **calls):
    """A profile of `jit_f(1)`, whose kernels ran as often as `calls` says."""
    kernels = [KernelCost(name, "op", "", 0, 0, None, ((LINE, 1.0),)) for name in calls]
    each = Piece("device work", LINE, seconds / len(calls), program="jit_f(1)")
    pieces = [replace(each, kernel=k, calls=calls[k.name]) for k in kernels]
    found = Profile("a.py", 10.0, {"device work": seconds}, pieces)
    found.trace.modules["jit_f(1)"] = b""
    return found


class Versions:
    """What `changes._Versions` measures: by default runs of one second, and no change by O2."""

    plain, seconds_around, found = (1.0, 1.0), 0.0, ("ran as fast as without", {"/a.py:1": 1.0})

    def __init__(self, module):
        pass

    def compare(self, record):
        return self.found


def measured(monkeypatch, recorded, **attributes):
    """The profile with measurements: a run has the kernel `a` 10 times, and `b` once."""
    kernels = {"a": SimpleNamespace(times=10), "b": SimpleNamespace(times=1)}
    program = SimpleNamespace(name="jit_f(1)", kernels=kernels)
    monkeypatch.setattr(changes, "RecordedProgram", lambda *_: program)
    monkeypatch.setattr(changes, "_measurable", lambda *_: SimpleNamespace(module=None))
    monkeypatch.setattr(changes.session, "hlo_text", lambda _: "")
    monkeypatch.setattr(changes, "_Versions", type("", (Versions,), attributes))
    return changes.with_measurements(recorded, [], None, None)


def test_cost_of_recording_is_the_ratio_of_a_recorded_run_to_one_without(monkeypatch):
    two_runs = made(6.0, a=20, b=2)
    assert measured(monkeypatch, two_runs).overhead == {"jit_f(1)": pytest.approx(3)}
    found = measured(monkeypatch, two_runs, plain=[1.0, 1.5, 1.0], seconds_around=0.5)
    assert found.overhead == {"jit_f(1)": pytest.approx(3.5)}


def test_run_that_was_recorded_in_part_is_counted_in_part(monkeypatch):
    cut = made(5.0, a=25, c=10**6)  # two runs and a half; the model does not count c
    assert measured(monkeypatch, cut).overhead == {"jit_f(1)": pytest.approx(2)}


def test_first_run_alone_is_not_compared(monkeypatch):
    """It takes longer than later ones, with or without recording."""
    assert measured(monkeypatch, made(6.0, a=10, b=1)).overhead == {}


def test_recorded_run_that_is_no_longer_than_one_without_has_no_ratio(monkeypatch):
    found = measured(monkeypatch, made(6.0, a=20, b=2), plain=[1.0, 3.5, 1.0])
    assert found.overhead == {"jit_f(1)": 1.0}
    assert "jit_f(1) took no longer than without\n" in as_text(found, plain=True)


def test_program_that_takes_too_long_is_not_run_again(monkeypatch):
    found = measured(monkeypatch, made(100.0, a=10), __init__=None)  # calling None would fail
    assert found.overhead == {} and not found.notes


def test_sentences_on_the_cost_of_recording():
    assert about_overhead({}).startswith("its cost was not measured")
    assert about_overhead({"f": 3.456, "g": 1.0, "h": 1.5}) == (
        "f took 3.46 times as long as without, g took no longer than without, "
        "h took 1.50 times as long as without"
    )


def test_sentence_says_that_no_line_changed_with_o2(monkeypatch):
    said = "no line changed beyond noise with O2"
    assert said in measured(monkeypatch, made(6.0, a=20)).notes
    for lines in ({"/a.py:1": 0.5}, {}):  # it changed; too many kernels to measure lines
        found = measured(monkeypatch, made(6.0, a=20), found=("ran 2.00 times as fast", lines))
        assert said not in found.notes
        assert found.notes == ["with O2, jit_f(1) ran 2.00 times as fast"]


def test_cost_of_recording_is_said_for_each_program(tmp_path):
    text = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def small(a):
    return jax.lax.fori_loop(0, 3000, lambda i, a: jnp.sin(a @ a), a)

@jax.jit
def large(a):
    return a @ a

for _ in range(8):  # NumPy's arrays, as making one with JAX is a program of its own
    small(np.eye(8, dtype="float32")).block_until_ready()
    large(np.ones((700, 700), "float32")).block_until_ready()
"""
    done = profile(tmp_path, text, "--json", "p.json")
    found = json.loads((tmp_path / "p.json").read_text())["overhead"]
    by_name = {name.partition("(")[0]: ratio for name, ratio in found.items()}
    assert by_name["jit_small"] >= 1  # jit_large may take too little of the time
    assert set(by_name) <= {"jit_small", "jit_large"}
    assert "jit_small(" in " ".join(done.stderr.split()).partition("recording: ")[2]


def test_loop_of_unknown_length_is_not_run_again(tmp_path):
    text = """
import jax, jax.numpy as jnp

@jax.jit
def f(x, n):  # of random arguments, n may be such that the loop never ends
    return jax.lax.while_loop(lambda s: s[1] != n, lambda s: (s[0] @ s[0], s[1] + 2), (x, 0))[0]

for _ in range(5):
    f(jnp.eye(200), 40).block_until_ready()
"""
    said = " ".join(profile(tmp_path, text).stderr.split())
    assert "with O2" not in said
    assert "its cost was not measured" in said

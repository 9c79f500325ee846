"""`jxc fit`: plans within a budget, applied to changed programs, and what it says without one."""

import dataclasses
import itertools
import json
import linecache
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from math import inf
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend.pass_code import pipeline_key
from jxc.compiled.program import RunningCompilation
from jxc.errors import JxcError, UsageError
from jxc.pipeline import make_pipeline
from jxc.source import JxcWarning
from jxc.tools.fit import candidates, search as searching
from jxc.tools.fit.request import CompiledVersion

pytestmark = pytest.mark.usefixtures("untimed")

MODEL = """
import jax
import jax.numpy as jnp


def block(x, up, down):
    h = jax.nn.gelu(x @ up)
    return x + h @ down


def loss(params, x):
    for up, down in params:
        x = block(x, up, down)
    return jnp.mean(x**2)


def step(params, x):
    return jax.value_and_grad(loss)(params, x)


def arguments(layers=4, rows=1024):
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    return [(f32(64, 256), f32(256, 64))] * layers, f32(rows, 64)
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A module of a small network, in a file."""
    path = tmp_path / "network.py"
    path.write_text(MODEL)
    return _imported(path)


def _imported(path):
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


@pytest.fixture
def plan(model, tmp_path):
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB", exact=True)
    assert found.fits and found.plan is not None
    found.save(tmp_path / "plan.toml")
    return tmp_path / "plan.toml"


def temporaries(step, args, pipeline):
    compiled = jxc.jit(step, pipeline=pipeline, strict=True).lower(*args).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def values_like(args):
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape, scale=0.1), a.dtype), args)


def assert_same_results(step, args, plan, **tolerance):
    given = values_like(args)
    expected = jax.jit(step)(*given)
    found = jxc.jit(step, pipeline=str(plan), strict=True)(*given)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


def test_plan_stays_within_the_budget_and_keeps_the_results(model, plan):
    step, args = model["step"], model["arguments"]()
    before, after = (temporaries(step, args, each) for each in ("O2", str(plan)))
    assert after < 12 * 2**20 < before
    assert_same_results(step, args, plan, rtol=1e-5, atol=1e-7)


def test_plan_applies_to_more_layers_and_other_sizes(model, plan):
    step, args = model["step"], model["arguments"](layers=8, rows=512)
    before, after = (temporaries(step, args, each) for each in ("O2", str(plan)))
    assert after < 0.75 * before


def test_plan_applies_after_lines_have_moved(model, plan, tmp_path):
    moved = tmp_path / "network.py"
    moved.write_text("# a comment\n\n" + MODEL.replace("def loss", "\n\ndef loss"))
    linecache.checkcache(str(moved))
    other = _imported(moved)
    step, args = other["step"], other["arguments"]()
    assert temporaries(step, args, str(plan)) < 12 * 2**20


def test_plan_that_does_not_match_is_refused_by_name(model, plan, tmp_path):
    changed = tmp_path / "network.py"
    changed.write_text(MODEL.replace("jax.nn.gelu", "jnp.sin"))
    linecache.checkcache(str(changed))
    other = _imported(changed)
    with pytest.raises(jxc.JxcError, match=r"no value of this program matches .*gelu"):
        jxc.lower(other["step"], *other["arguments"]()).opt(str(plan))


def test_changed_plan_is_another_pipeline(plan):
    before = pipeline_key(make_pipeline(str(plan)))
    plan.write_text(plan.read_text().replace("op =", "keep_every = 2\nop =", 1))
    assert pipeline_key(make_pipeline(str(plan))) != before


def test_program_that_fits_needs_no_plan(model, tmp_path):
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="1GiB")
    assert found.fits and found.plan is None and "without a plan" in str(found)
    with pytest.raises(UsageError, match="fits without one"):
        found.save(tmp_path / "plan.toml")


def test_program_that_never_fits_shows_what_holds_the_memory(model):
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="1MiB")
    assert not found.fits and found.plan is None
    assert "does not fit into 1 MiB" in str(found) and "what holds the rest:" in str(found)
    assert found.smallest.needed < found.base.needed


def test_search_takes_longer_steps_where_the_compiler_needs_more_than_expected(model, monkeypatch):
    needed, done = itertools.count(2**30, -1), SimpleNamespace(is_done=True)

    def trial(finder, name, version, running):
        """Each version needs one byte less than the one before."""
        return searching.Trial(name, next(needed), 1.0)

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    monkeypatch.setattr(searching._Finder, "_rewritten", lambda finder, _: finder.lowered)
    monkeypatch.setattr(searching._Finder, "_started", lambda finder, _: nullcontext(done))
    found = jxc.fit(model["step"], *model["arguments"](), max_memory=2**30 - 100)
    assert not found.fits and len(found.trials) <= 8 + candidates._MOST_NEAR


def test_versions_are_compiled_side_by_side(model, monkeypatch):
    start, order = searching._Finder._started, []

    def started(finder, version):
        order.append("start")
        return start(finder, version)

    def finished(finder, running):
        order.append("finish")
        return finish(finder, running)

    def fitted(at_once):
        order.clear()
        monkeypatch.setattr(searching, "_at_once", lambda target: at_once)
        return jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB", exact=True)

    monkeypatch.setattr(searching._Finder, "_started", started)
    finish = searching._Finder._finish_one
    monkeypatch.setattr(searching._Finder, "_finish_one", finished)
    one = fitted(1)
    assert order[:3] == ["start", "start", "finish"]  # the program without a plan is the first
    several = fitted(2)
    assert order[:4] == ["start", "start", "start", "finish"]
    assert [each.name for each in several.trials] == [each.name for each in one.trials]


def test_parts_alone_are_compiled_as_well(model, monkeypatch):
    """How much faster they run, as more values stay in caches, is not in the model."""
    compiled = searching._Finder._compiled

    def trial(finder, name, version, running):
        is_alone = "parts" in name and "again" not in name
        return dataclasses.replace(
            compiled(finder, name, version, running), seconds=1.0 - 0.5 * is_alone
        )

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB")
    assert "parts" in found.chosen.name and not found.plan.measures


@pytest.mark.parametrize("seconds", [2.0, 0.1])
def test_search_goes_on_if_the_compiler_itself_computes_values_again(model, monkeypatch, seconds):
    """It fits without a plan, in `seconds`; versions with a plan take one second."""
    compiled = searching._Finder._compiled

    def trial(finder, name, version, running):
        if name != "no plan":
            return dataclasses.replace(compiled(finder, name, version, running), seconds=1.0)
        made = CompiledVersion(12 * 2**20, seconds, rematerialized=3)
        return searching.trial_of(name, made)

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB", exact=True)
    assert found.fits and found.trials
    assert (found.plan is None) == (found.chosen is found.base) == (seconds < 1)
    added = "no plan: the compiler added 3 instructions that compute values again, to save memory"
    assert added in " ".join(str(found).split())


def test_version_that_the_compiler_refuses_does_not_end_the_search(model, monkeypatch):
    compiled, refused = searching._Finder._compiled, []

    def trial(finder, name, version, running):
        if name != "no plan" and not refused:
            refused.append(name)
            raise JxcError("cpu refused the program: a bug")
        return compiled(finder, name, version, running)

    monkeypatch.setattr(searching._Finder, "_compiled", trial)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB", exact=True)
    assert found.fits and found.failed == (f"{refused[0]}: cpu refused the program: a bug",)
    assert f"not compiled: {refused[0]}" in str(found)


def test_interrupt_ends_the_search(model, monkeypatch):
    result = RunningCompilation.result
    running = []

    def interrupted(self):
        running.append(self.build._child)
        if len(running) == 2:
            raise KeyboardInterrupt
        return result(self)

    monkeypatch.setattr(RunningCompilation, "result", interrupted)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="10MiB")
    assert found.stopped == "interrupted" and not found.trials and not found.fits
    assert all(child.returncode is not None for child in running)  # none is left


def test_compiler_that_still_runs_when_the_time_is_over_is_given_up_if_a_plan_fits(
    model, monkeypatch
):
    """The first of two versions that are compiled side by side never ends; the second fits."""
    start, children = searching._Finder._started, []

    def started(finder, version):
        running = start(finder, version)
        children.append(running.build._child)
        if len(children) == 2:  # the first is that without a plan
            os.kill(children[-1].pid, signal.SIGSTOP)
        return running

    monkeypatch.setattr(searching._Finder, "_started", started)
    monkeypatch.setattr(searching, "_at_once", lambda target: 2)
    monkeypatch.setattr(searching, "perf_counter", lambda: inf if len(children) > 2 else 0.0)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB", exact=True)
    assert found.fits and found.plan is not None and len(found.trials) == 1
    assert found.stopped == "the time is over"
    assert all(child.returncode is not None for child in children)  # none is left


def test_unknown_memory_is_a_usage_error():
    with pytest.raises(UsageError, match="expected a function"):
        jxc.fit(3)


def jxc_command(*arguments, folder):
    command = [sys.executable, "-c", "from jxc.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_command_prints_json_and_fails_if_nothing_fits(tmp_path):
    (tmp_path / "network.py").write_text(MODEL)
    given = ["fit", "network.py:step", "--max-memory", "1MiB", "--json"]
    result = jxc_command(*given, folder=tmp_path)
    found = json.loads(result.stdout)
    assert result.returncode == 1 and not found["fits"] and found["largest"]


def test_command_refuses_a_plan_of_another_name(tmp_path):
    result = jxc_command("fit", "network.py:step", "-o", "plan.txt", folder=tmp_path)
    assert result.returncode == 2
    assert "expected a file that ends in .toml or .rules" in result.stderr


@pytest.fixture
def parts(model, tmp_path):
    """A plan that runs the batch in parts, and its result."""
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="6MiB")
    assert found.plan is not None and found.plan.split is not None
    found.save(tmp_path / "parts.toml")
    return tmp_path / "parts.toml", found


def test_plan_runs_the_batch_in_parts_where_this_is_cheaper(model, parts):
    path, found = parts
    text = str(found)
    assert "parts, one after the other" in text and "in all" in text
    assert "checked: split batch: equal results, up to rounding" in text
    assert found.as_json()["plan"]["split"]["parts"] == found.plan.split.parts
    step, args = model["step"], model["arguments"]()
    assert temporaries(step, args, str(path)) < 6 * 2**20
    assert_same_results(step, args, path, rtol=1e-4, atol=1e-6)


def test_plan_of_parts_applies_to_another_batch_that_they_divide(model, parts):
    step = model["step"]
    before, after = (
        temporaries(step, model["arguments"](rows=2048), each) for each in ("O2", str(parts[0]))
    )
    assert after < 0.5 * before
    with pytest.raises(jxc.JxcError, match="does not divide the batch of 1023"):
        jxc.lower(step, *model["arguments"](rows=1023)).opt(str(parts[0]))


def test_batch_that_is_mixed_is_not_split(tmp_path):
    path = tmp_path / "network.py"
    path.write_text(MODEL.replace("x @ up)", "(x - x.mean(0)) @ up)"))
    model = _imported(path)
    found = jxc.fit(model["step"], *model["arguments"](), max_memory="12MiB")
    assert found.plan is not None and found.plan.split is None
    said = " ".join(str(found).split())
    assert "the batch was not split: " in said and "network.py:7: microbatch cannot split" in said


def test_arguments_that_have_the_batch_can_be_named(tmp_path):
    path = tmp_path / "network.py"
    path.write_text(MODEL)
    model = _imported(path)
    step, (params, x) = model["step"], model["arguments"]()
    times = jax.ShapeDtypeStruct((7,), jnp.float32)

    def timed(params, x, times):
        value, gradients = step(params, x)
        return value + times.sum(), gradients

    found = jxc.fit(timed, params, x, times, max_memory="6MiB")
    assert "several sizes" in found.unsplit
    found = jxc.fit(timed, params, x, times, max_memory="6MiB", batch="x")
    assert found.plan is not None and "arguments=x" in found.plan.pipeline
    with pytest.raises(UsageError, match="uses no argument 'y'"):
        jxc.fit(timed, params, x, times, max_memory="6MiB", batch="y")


@pytest.mark.filterwarnings("error")
def test_fit_of_large_values_of_which_few_bytes_are_kept():
    def cumulative(x):
        return jnp.cumsum(jnp.cumsum(jnp.sin(x), 0), 1).sum()

    found = jxc.fit(cumulative, jax.ShapeDtypeStruct((2048, 2048), jnp.float32), max_memory=2**20)
    assert not found.fits


@pytest.mark.parametrize("strict", [False, True])
def test_plan_in_use_leaves_programs_alone_that_it_was_not_made_for(model, parts, strict, recwarn):
    step, args = model["step"], values_like(model["arguments"]())
    with jxc.use(str(parts[0]), strict=strict) as log:
        jnp.linspace(0, 1, 5).sum()
        jax.jit(step)(*args)
    assert not [each for each in recwarn if each.category is JxcWarning]
    assert [each.name for each in log.compilations] == ["jit_step"]


FROM_ENVIRONMENT = """
import sys
import jax, jax.numpy as jnp
sys.path.insert(0, ".")
import network

x = jax.random.normal(jax.random.key(0), (1024, 64))
params = [(jnp.zeros((64, 256)), jnp.zeros((256, 64)))] * 4
jax.jit(network.step)(params, x)
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("def step", "def step"), ""),
        (("jax.nn.gelu", "jnp.sin"), "no value of this program matches"),
    ],
)
def test_strict_plan_in_the_environment_raises_for_its_program_alone(plan, tmp_path, change, said):
    (tmp_path / "network.py").write_text(MODEL.replace(*change))
    found = jxc_python(FROM_ENVIRONMENT, tmp_path, JXC_PIPELINE=str(plan), JXC_STRICT="1")
    assert (found.returncode != 0) == bool(said), found.stderr
    assert said in found.stderr


def test_plan_that_applied_to_no_program_is_reported_at_the_end(plan, tmp_path):
    (tmp_path / "network.py").write_text(MODEL)
    program = "import jax.numpy as jnp\njnp.linspace(0, 1, 5).sum()\n"
    found = jxc_python(program, tmp_path, JXC_PIPELINE=str(plan), JXC_STRICT="1")
    assert found.returncode == 0
    assert found.stderr.count("applied to no program of this process") == 1
    assert "It was made for 'jit_step'." in found.stderr


def jxc_python(program, folder, **variables):
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_plan_that_was_written_again_replaces_the_one_before(model, plan):
    step, args = model["step"], model["arguments"]()
    before = temporaries(step, args, str(plan))
    plan.write_text(plan.read_text().replace('op = "', 'op = "unknown_', 1))
    with pytest.raises(jxc.JxcError, match="no value of this program matches unknown_"):
        temporaries(step, args, str(plan))
    text = f"rematerialize{{plan={plan}}}"
    with pytest.raises(jxc.JxcError, match="no value of this program matches unknown_"):
        temporaries(step, args, text)
    plan.write_text(plan.read_text().replace("unknown_", ""))
    assert temporaries(step, args, text) == before

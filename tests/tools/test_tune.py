"""O3: candidates are timed at the first call of a program, and the verdict is kept."""

import json
import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.xla_client import CompileOptions

import jxc
from jxc.backend import tuning as backend_tuning
from jxc.backend.tuning import TuneSettings, tuning
from jxc.backend.verdicts import (
    Verdict,
    all_verdicts,
    keep_verdict,
    key_of,
    local_device,
    verdict_store,
)
from jxc.backend.xla_options import with_xla_options
from jxc.tools.tune import candidates, timed
from jxc.tools.tune.bounded import TookTooLong, bounded
from jxc.tools.tune.candidates import Alternative
from jxc.tools.tune.choice import choose, choose_by_estimate

SECONDS = 100.0  # a ceiling, for machines with other load


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JXC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("JXC_TUNE_SECONDS", raising=False)
    monkeypatch.setattr(timed, "ROUNDS", (3, 5))
    jax.clear_caches()
    return tmp_path


@pytest.fixture
def done():
    """What was tuned: verdicts, or the reasons why a program was not."""
    found = []
    with tuning(TuneSettings(SECONDS, done=found.append)):
        yield found


def pooled(x):
    y = jnp.tanh(x @ x)
    y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 3), (1, 1), "SAME")
    return jnp.cumsum(y, axis=0), jnp.sort(y, axis=-1)[:, :5]


def argument(n=64):
    return jnp.asarray(np.random.default_rng(0).standard_normal((n, n), np.float32))


def assert_right(found, x):
    for ours, plain in zip(found, jax.jit(pooled)(x), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)


def test_first_call_tunes_and_the_verdict_is_used_later(done):
    x = argument()
    with jxc.use("O3") as log:
        first = jax.jit(pooled)(x)
    [verdict] = done
    assert_right(first, x)
    assert {"plain", "O2", "O1"} <= verdict.seconds.keys() | verdict.left_out.keys()
    assert [program.pipeline for program in log.compilations] == [verdict.label]
    jax.clear_caches()
    with jxc.use("O3") as log:
        assert_right(jax.jit(pooled)(x), x)
    assert len(done) == 1
    assert [program.pipeline for program in log.compilations] == [verdict.label]


def test_later_calls_use_the_chosen_executable(done, monkeypatch):
    monkeypatch.setattr(timed, "choose", lambda seconds: "plain")
    fast, x = jxc.jit(pooled, pipeline="O3"), argument()
    fast(x)
    assert done[0].choice == "plain"
    compiled = jax.jit(pooled).lower(x).compile()
    for ours, plain in zip(fast(x), compiled(x), strict=True):
        np.testing.assert_array_equal(ours, plain)
    jax.clear_caches()
    with jxc.use("O3") as log:
        jax.jit(pooled)(x)
    assert log.compilations[0].pipeline == "O3: plain"
    assert log.compilations[0].ops_before == log.compilations[0].ops_after


def test_compiled_ahead_of_time_is_tuned_when_called(done):
    x = argument()
    compiled = jxc.jit(pooled, pipeline="O3").lower(x).compile()
    assert not done
    assert_right(compiled(x), x)
    assert len(done) == 1
    assert_right(compiled(x), x)


def chain(x):
    y = x
    for _ in range(4):
        x, y = jnp.sin(x) * y + jnp.exp(-x), jnp.tanh(y + x)
    return x, y


def test_program_to_which_no_rule_applies_is_tuned_if_there_are_options(done, monkeypatch):
    x = argument()
    jxc.jit(chain, pipeline="O3")(x)
    tried = done[0].seconds.keys() | done[0].left_out.keys()
    assert {"plain", "plain with multi-output fusion", "plain with serial kernels"} <= tried
    monkeypatch.setattr(candidates, "ALTERNATIVES", ())
    jxc.jit(lambda x: chain(x)[0], pipeline="O3")(x)
    assert done[1:] == ["no rule applies to it"]


def fusions(executable):
    return executable.as_text("hlo").count(" fusion(")


MULTI_OUTPUT = {"xla_cpu_use_multi_output_fusion": True}


def test_options_that_jax_rejects_reach_xla():
    x = argument()
    lowered = jxc.lower(chain, x)
    ours, plain = lowered.compile(xla_options=MULTI_OUTPUT), lowered.compile()
    assert fusions(ours) < fusions(plain)
    for one, other in zip(ours(x), plain(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    off = lowered.compile(xla_options={"xla_cpu_use_multi_output_fusion": False})
    assert fusions(off) == fusions(plain)


def test_options_of_a_stored_verdict_are_used():
    x = argument()
    lowered = jxc.lower(chain, x)
    device = local_device("cpu", jax.devices()[0].device_kind)
    verdict = Verdict(lowered.name, device, "plain with a", "O0", MULTI_OUTPUT)
    keep_verdict(key_of(lowered.module, device), verdict)
    chosen = lowered.opt("O3")
    assert fusions(chosen.compile()) == fusions(lowered.compile(xla_options=MULTI_OUTPUT))
    with jxc.use("O3") as log:
        compiled = jax.jit(chain).lower(x).compile()
    assert [each.pipeline for each in log.compilations] == ["O3: plain with a"]
    assert compiled.as_text().count(" fusion(") == fusions(chosen.compile())


def test_disabled_passes_are_added_to_those_of_the_user():
    name, options = "xla_disable_hlo_passes", CompileOptions()
    options.executable_build_options.debug_options.xla_disable_hlo_passes = "a,b"
    assert dict(with_xla_options(options, {name: "c"}).env_option_overrides) == {name: "a,b,c"}
    options.env_option_overrides = [(name, "d")]
    assert dict(with_xla_options(options, {name: "c"}).env_option_overrides) == {name: "d,c"}


SCRIPT = """
import sys, numpy as np, jax, jax.numpy as jnp, jxc
def f(x):
    y = jax.lax.reduce_window(jnp.tanh(x @ x), -jnp.inf, jax.lax.max, (1, 3), (1, 1), "SAME")
    return jnp.cumsum(y, axis=0), jnp.sort(y, axis=-1)[:, :5]
with jxc.use("O3") as log:
    jax.block_until_ready(jax.jit(f)(np.ones((64, 64), np.float32)))
print("jxc.tools.tune.timed" in sys.modules, log.compilations[-1].pipeline)
"""


def started(**environment):
    import os

    settings = os.environ | {"JAX_PLATFORMS": "cpu", "JXC_TUNE_SECONDS": "100"} | environment
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=settings, stdout=subprocess.PIPE, text=True
    )


def output(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out.split(maxsplit=1)


def test_second_process_does_not_tune():
    tuned, label = output(started())
    assert tuned == "True"
    assert output(started()) == ["False", label]
    assert output(started(JXC_TUNE_SECONDS="0")) == ["False", label]


def test_concurrent_processes_share_the_store():
    processes = [started() for _ in range(3)]
    labels = [output(each)[1] for each in processes]
    assert all(label.startswith("O3: ") for label in labels)
    [(_, verdict, _)] = all_verdicts()
    assert verdict.program == "jit_f"


def test_killed_process_leaves_no_verdict(cache):
    process = started()
    time.sleep(2)
    process.kill()
    process.wait()
    assert output(started())[1].startswith("O3: ")


def test_damaged_verdict_is_measured_again(done):
    x = argument()
    jxc.jit(pooled, pipeline="O3")(x)
    store = verdict_store()
    [entry] = store.entries()
    for data in (b"no json", json.dumps({"schema": 99}).encode(), b"[]"):
        store.put(entry.key, data)
        jax.clear_caches()
        assert_right(jxc.jit(pooled, pipeline="O3")(x), x)
    assert len(done) == 4


def test_budget_zero_never_tunes(monkeypatch):
    monkeypatch.setenv("JXC_TUNE_SECONDS", "0")
    found, x = [], argument()
    with tuning(TuneSettings(done=found.append)), jxc.use("O3") as log:
        assert_right(jax.jit(pooled)(x), x)
    assert found == ["the time budget is 0"]
    assert log.hits
    assert not list(all_verdicts())


def test_budget_that_is_no_number_is_reported(monkeypatch):
    monkeypatch.setenv("JXC_TUNE_SECONDS", "long")
    with pytest.raises(jxc.JxcError, match="JXC_TUNE_SECONDS='long': expected a number"):
        jxc.jit(pooled, pipeline="O3", strict=True)(argument())


def with_alternative(monkeypatch, name, xla_options):
    monkeypatch.setattr(candidates, "ALTERNATIVES", (Alternative(name, xla_options),))


def test_failing_candidate_is_left_out(done, monkeypatch):
    with_alternative(monkeypatch, "bad", {"xla_no_such_option": True})
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    [name] = [name for name in done[0].left_out if name.endswith(" with bad")]
    assert "xla_no_such_option" in done[0].left_out[name]


def test_hanging_candidate_is_abandoned(done, monkeypatch):
    with_alternative(monkeypatch, "slow", {"xla_cpu_use_xnnpack": False})
    compile_, ended = backend_tuning.FirstCall.compile, threading.Event()

    def compile_slowly(call, module, xla_options):
        if xla_options:
            ended.wait()
        return compile_(call, module, xla_options)

    monkeypatch.setattr(backend_tuning.FirstCall, "compile", compile_slowly)
    monkeypatch.setattr(timed, "LIMITS", (5.0, 60.0))
    monkeypatch.setattr(timed, "COMPILE_TIMES", 0)
    try:
        assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    finally:
        ended.set()
    assert done[0].choice == "O2"
    [name] = [name for name in done[0].left_out if name.endswith(" with slow")]
    assert "took more than" in done[0].left_out[name]


def test_candidate_with_other_results_is_left_out(done, monkeypatch):
    def run_wrongly(call, executable, arrays):
        results = run(call, executable, arrays)
        return results if executable is call.base else [each + 1 for each in results]

    run = backend_tuning.FirstCall.run
    monkeypatch.setattr(backend_tuning.FirstCall, "run", run_wrongly)
    with pytest.warns(UserWarning, match="O2 of 'jit_pooled' is not used by O3"):
        jxc.jit(pooled, pipeline="O3")(argument())
    assert "differs from plain JAX" in done[0].left_out["O2"]
    assert done[0].choice != "O2"


@pytest.mark.parametrize("kind", ["debug", "io", "pure"])
def test_callbacks_run_once(done, kind):
    calls = []

    def record(x):
        calls.append(1)
        return np.asarray(x)

    def program(x):
        y = jnp.cumsum(jnp.tanh(x @ x), axis=0)
        if kind == "debug":
            jax.debug.callback(record, y[0, 0])
            return y
        shape = jax.ShapeDtypeStruct((), jnp.float32)
        if kind == "io":
            return y + jax.experimental.io_callback(record, shape, y[0, 0], ordered=True)
        return y + jax.pure_callback(record, shape, y[0, 0])

    jax.block_until_ready(jxc.jit(program, pipeline="O3")(argument()))
    jax.effects_barrier()
    assert len(calls) == 1
    assert done == ["it calls back into Python"]


def test_donated_arguments_are_copied_for_each_run(done):
    def step(state, x):
        return jnp.cumsum(state + jnp.tanh(x @ x), axis=0), x.sum()

    x = argument()
    expected = jax.jit(step)(jnp.ones_like(x), x)
    state = jnp.ones_like(x)
    fast = jxc.jit(step, pipeline="O3", donate_argnums=0)
    found = fast(state, x)
    assert isinstance(done[0], Verdict)
    assert state.is_deleted() and not x.is_deleted()
    for ours, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4)
    again = fast(found[0], x)
    assert found[0].is_deleted() and not again[0].is_deleted()


def test_interrupted_tuning_leaves_the_program_usable(done, monkeypatch):
    def interrupted(call, seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(timed, "tune_call", interrupted)
    fast, x = jxc.jit(pooled, pipeline="O3"), argument()
    with pytest.raises(KeyboardInterrupt):
        fast(x)
    assert_right(fast(x), x)
    assert not list(all_verdicts())


def test_bug_in_tuning_is_a_warning_unless_strict(done, monkeypatch):
    def broken(call, seconds):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(timed, "tune_call", broken)
    x = argument()
    with pytest.warns(UserWarning, match="O3 was not tuned: ZeroDivisionError: a bug"):
        assert_right(jxc.jit(pooled, pipeline="O3")(x), x)
    jax.clear_caches()
    with pytest.raises(ZeroDivisionError):
        jxc.jit(pooled, pipeline="O3", strict=True)(x)


def test_64_bit_types_of_a_block_are_kept(done):
    with jax.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(0).standard_normal((32, 32)))
        ours = jxc.jit(pooled, pipeline="O3", donate_argnums=())(x)
        assert ours[0].dtype == jnp.float64
    assert isinstance(done[0], Verdict)


def test_bounded_raises_what_the_call_raises():
    assert bounded(lambda: 3, 5.0) == 3
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, 5.0)
    with pytest.raises(TookTooLong):
        bounded(lambda: time.sleep(2), 0.05)


@pytest.mark.parametrize(
    ("medians", "expected"),
    [
        ({"plain": 2.0, "O2": 1.0, "O1": 0.99}, "O2"),  # within noise
        ({"plain": 2.0, "O2": 1.0, "O1": 0.8}, "O1"),
        ({"plain": 0.9, "O2": 1.0, "O1": 0.985}, "plain"),
        ({"plain": 0.9999, "O2": 1.0}, "O2"),
        ({"plain": 0.975, "O2": 1.0}, "plain"),
        ({"plain": 1.0}, "plain"),
    ],
)
def test_choice_prefers_o2_unless_another_is_faster(medians, expected):
    noise = np.random.default_rng(0)
    seconds = {
        name: [each * noise.uniform(0.998, 1.002) for _ in range(20)]
        for name, each in medians.items()
    }
    assert choose(seconds) == expected


def test_choice_by_estimate_needs_a_gain():
    assert choose_by_estimate({"plain": 1.0, "O2": 0.995}) == "O2"
    assert choose_by_estimate({"plain": 0.99, "O2": 1.0}) == "O2"
    assert choose_by_estimate({"plain": 0.9, "O2": 1.0}) == "plain"
    assert choose_by_estimate({"plain": 0.9}) == "plain"


def test_candidates_leave_out_families_and_rules():
    both = candidates.without({"simplify": ("add-zero", "fold-arithmetic"), "scans": ()})
    assert both.name == "O2 without add-zero, fold-arithmetic, scans"
    assert "simplify{disable-patterns=add-zero,fold-arithmetic}" in both.pipeline
    assert "scans" not in both.pipeline.split(",")
    jxc.opt("module {}", both.pipeline)


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, jxc
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jxc.backend.tuning import TuneSettings, tuning
mesh = Mesh(np.array(jax.devices()), ("data",))
x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
x = jax.device_put(x, NamedSharding(mesh, P("data")))
def f(x):
    y = jax.lax.reduce_window(jnp.tanh(x @ x.T), -jnp.inf, jax.lax.max, (1, 3), (1, 1), "SAME")
    return jnp.cumsum(y, axis=0), jnp.sort(y, axis=-1)[:, :5].sum()
done = []
with tuning(TuneSettings(100.0, done=done.append)):
    found = jxc.jit(f, pipeline="O3", donate_argnums=0)(jnp.copy(x))
for ours, plain in zip(found, jax.jit(f)(x)):
    np.testing.assert_allclose(ours, plain, rtol=1e-3, atol=1e-3)
    assert ours.sharding.is_equivalent_to(plain.sharding, ours.ndim)
print(type(done[0]).__name__)
"""


def test_program_over_two_devices_is_tuned_on_both():
    import os

    flags = "--xla_force_host_platform_device_count=2"
    settings = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], env=settings, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "Verdict", done.stderr


def test_first_call_keeps_nothing_alive(done):
    import gc
    import weakref

    calls = []
    run = backend_tuning.FirstCall.run

    def recorded(call, executable, arrays):
        calls.append(weakref.ref(call))
        return run(call, executable, arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend_tuning.FirstCall, "run", recorded)
        fast, x = jxc.jit(pooled, pipeline="O3"), argument()
        fast(x)
    fast(x)
    gc.collect()
    assert calls[0]() is None


def test_persistent_cache_is_hit_by_the_choice(done, cache):
    from jax.experimental.compilation_cache import compilation_cache

    settings = {
        "jax_compilation_cache_dir": str(cache / "jax"),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    old = {name: getattr(jax.config, name) for name in settings}
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        x = argument()
        for _ in range(3):
            jax.clear_caches()
            assert_right(jxc.jit(pooled, pipeline="O3")(x), x)
    finally:
        for name, value in old.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
    assert len(done) == 1


ABANDONED = """
import jax, jax.numpy as jnp
from jxc.tools.tune.bounded import TookTooLong, bounded
def f(x):
    for _ in range(100):
        x = jnp.sin(x @ x) + jnp.cumsum(x, axis=0)
    return x
try:
    bounded(jax.jit(f).lower(jnp.ones((32, 32))).compile, 0.2)
except TookTooLong:
    print("abandoned")
"""


def test_abandoned_compilation_does_not_abort_the_process_at_its_end():
    done = subprocess.run([sys.executable, "-c", ABANDONED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "abandoned\n"), done.stderr


def test_choice_that_does_not_win_again_is_not_used(done, monkeypatch):
    answers = iter(["plain", "O2"])
    monkeypatch.setattr(timed, "choose", lambda seconds: next(answers))
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    assert done[0].choice == "O2"

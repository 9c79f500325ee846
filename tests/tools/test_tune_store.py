"""O3: verdicts are kept for later processes."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import jax
import pytest

import jxc
from jxc.backend import verdicts
from jxc.backend.tuning import TuneSettings
from jxc.backend.verdicts import (
    TuneVerdict,
    all_verdicts,
    keep_verdict,
    key_of,
    local_device,
    verdict_store,
)

from .tuning import (  # noqa: F401
    MULTI_OUTPUT,
    argument,
    assert_right,
    cache_fixture,
    chain,
    done_fixture,
    fusions,
    pooled,
)

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


def test_options_of_a_stored_verdict_are_used():
    x = argument()
    lowered = jxc.lower(chain, x)
    device = local_device("cpu", jax.devices()[0].device_kind)
    verdict = TuneVerdict(lowered.name, device, "plain with a", "O0", MULTI_OUTPUT)
    keep_verdict(key_of(lowered.module, device), verdict)
    chosen = lowered.opt("O3")
    assert fusions(chosen.compile()) == fusions(lowered.compile(xla_options=MULTI_OUTPUT))
    with jxc.use("O3") as log:
        compiled = jax.jit(chain).lower(x).compile()
    assert [each.pipeline for each in log.compilations] == ["O3: plain with a"]
    assert compiled.as_text().count(" fusion(") == fusions(chosen.compile())


@pytest.mark.parametrize(
    "damage",
    [
        {"xla_options": [1]},
        {"xla_options": {"xla_cpu_use_multi_output_fusion": [1]}},
        {"seconds": {"plain": "fast"}},
        {"program": None},
        {"choice": 3},
        "[" * 100_000,
        b"\xff",
    ],
    ids=str,
)
def test_a_damaged_verdict_is_removed(damage):
    keep_verdict("damaged", TuneVerdict("jit_f", "cpu", "O2", "O2"))
    record = json.loads(verdict_store().get("damaged"))
    if isinstance(damage, dict):
        damage = json.dumps(record | damage)
    verdict_store().put("damaged", damage if isinstance(damage, bytes) else damage.encode())
    assert verdicts.find_verdict("damaged") is None
    assert "damaged" not in [entry.key for entry in verdict_store().entries()]


def test_a_folder_that_takes_no_verdicts_is_reported_once(tmp_path, monkeypatch, recwarn):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JXC_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("jxc.source._warned", set())
    for name in ("first", "second"):
        verdict = TuneVerdict(name, "cpu", "O2", "O2")
        stored = keep_verdict(name, verdict)
        assert not stored
        TuneSettings().done(replace(verdict, stored=stored))
    (message,) = [str(each.message) for each in recwarn]
    assert f"O3 cannot write to {tmp_path / 'file' / 'below' / 'tune'}" in message
    assert "Set JXC_CACHE_DIR" in message

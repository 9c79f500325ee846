"""`jxc.use` and `jxc.enable`. `sine_to_cosine` is wrong on purpose: its effect shows in results."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.source import JxcWarning

from .passes import (
    PIPELINE,
    X,
    breaking,
    check,
    expected,
    failing,
    program,
    sine_to_cosine,
    sine_to_tanh,
)


def test_use_rewrites_programs_compiled_inside_only():
    f = jax.jit(lambda x: program(x))
    check(f(X), np.sin)
    with jxc.use(PIPELINE) as log:
        check(f(X), np.cos)
        with jxc.use(None):
            check(f(X), np.sin)
        check(f(X), np.cos)
    check(f(X), np.sin)
    assert log.hits == {"sine-to-cosine": 1}
    assert [c.name for c in log.compilations] == ["jit__lambda"]


@pytest.mark.parametrize("pipeline", ["O2", "inline,cse", sine_to_cosine, [sine_to_cosine, "O1"]])
def test_use_with_the_same_pipeline_compiles_nothing_again(pipeline):
    f = jax.jit(lambda x: program(x))
    with jxc.use(pipeline) as log:
        f(X)
    assert len(log.compilations) == 1
    for _ in range(3):
        with jxc.use(pipeline) as log:
            f(X)
        assert not log.compilations


@pytest.mark.parametrize("lower_inside", [True, False])
@pytest.mark.parametrize("compile_inside", [True, False])
@pytest.mark.parametrize("call_inside", [True, False])
def test_the_pipeline_is_chosen_at_lowering(lower_inside, compile_inside, call_inside):
    """The two programs must not share an executable, wherever the stages are called."""
    f = jax.jit(program)
    f(X)
    with jxc.use(PIPELINE):
        f(X)
    with jxc.use(PIPELINE if lower_inside else None):
        lowered = f.lower(X)
    with jxc.use(PIPELINE if compile_inside else None):
        compiled = lowered.compile()
    with jxc.use(PIPELINE if call_inside else None):
        check(compiled(X), np.cos if lower_inside else np.sin)
    check(f(X), np.sin)
    with jxc.use(PIPELINE):
        check(f(X), np.cos)


def test_enable_reaches_threads_and_use_overrides_it():
    results = {}
    jxc.enable(PIPELINE)
    try:
        thread = threading.Thread(target=lambda: results.update(a=jax.jit(program)(X)))
        thread.start()
        thread.join()
        check(results["a"], np.cos)
        check(jax.jit(program)(X), np.cos)
        with jxc.use(sine_to_tanh):
            check(jax.jit(program)(X), np.tanh)
    finally:
        jxc.enable(None)
    check(jax.jit(program)(X), np.sin)


def in_thread(function, name="worker"):
    """Run a function in a new thread, to its end."""
    thread = threading.Thread(target=function, name=name)
    thread.start()
    thread.join()


def compiles(function=program):
    return jax.jit(lambda x: function(x))(X)


def test_use_warns_once_of_a_thread_that_it_leaves_out():
    with pytest.warns(JxcWarning) as caught, jxc.use(PIPELINE):
        for _ in range(2):
            in_thread(compiles)
    (message,) = [str(each.message) for each in caught]
    assert "in thread 'MainThread', and does not apply to thread 'worker'" in message
    assert "compiles 'jit__lambda' with plain JAX. Use jxc.enable" in message


def test_use_is_silent_on_threads_that_choose_and_programs_that_it_skips(recwarn):
    def chooses():
        with jxc.use(None):
            compiles()

    with jxc.use(PIPELINE):
        in_thread(chooses)
    with jxc.use("O2"):
        in_thread(lambda: compiles(lambda x: x + 1))  # tiny
    with jxc.use(None):
        in_thread(compiles)
    assert [each for each in recwarn if each.category is JxcWarning] == []


def test_use_that_is_not_entered_warns_at_its_line():
    with pytest.warns(JxcWarning, match=r"jxc.use\('O2'\) was not entered, and has no") as caught:
        jxc.use("O2")
    assert caught[0].filename == __file__


def test_use_that_is_entered_or_fails_is_silent(recwarn):
    with jxc.use(PIPELINE):
        pass
    block = jxc.use("O2")
    block.__enter__()
    block.__exit__()
    del block
    with pytest.raises(jxc.JxcError):
        jxc.use("no-such-pass")
    assert [each for each in recwarn if each.category is JxcWarning] == []


def test_disable_ends_enable():
    jxc.enable(PIPELINE)
    try:
        check(compiles(), np.cos)
        jxc.disable()
        check(compiles(), np.sin)
    finally:
        jxc.enable(None)


def test_use_stays_on_its_thread():
    results = {}
    with jxc.use(PIPELINE):
        thread = threading.Thread(target=lambda: results.update(a=jax.jit(program)(X)))
        thread.start()
        thread.join()
    check(results["a"], np.sin)


def test_use_on_many_threads_at_once():
    def one(i):
        f = jax.jit(lambda x: program(x) + i)
        with jxc.use(PIPELINE):
            return np.asarray(f(X)) - i

    with ThreadPoolExecutor(16) as pool:
        for result in pool.map(one, range(64)):
            np.testing.assert_allclose(result, expected(np.cos), rtol=1e-3, atol=1e-4)


def test_a_level_skips_tiny_programs_and_the_log_counts_them():
    with jxc.use("O2") as log:
        jax.jit(lambda x: jnp.sin(x) + 3)(X)
    assert not log.compilations and log.skipped == 1
    assert repr(log).startswith("<jxc log: rewritten programs: 0, skipped as tiny: 1")


@pytest.mark.parametrize("pipeline", [sine_to_cosine, [sine_to_cosine, "O2"], "O2,cse"])
def test_a_named_pass_runs_on_tiny_programs(pipeline):
    f = jax.jit(lambda x: jnp.sin(x) + 4)
    with jxc.use(pipeline) as log:
        result = f(X)
    assert len(log.compilations) == 1 and not log.skipped
    if pipeline != "O2,cse":
        np.testing.assert_allclose(result, np.cos(X) + 4, rtol=1e-5)
        np.testing.assert_allclose(
            jxc.jit(lambda x: jnp.sin(x) + 4, pipeline=pipeline)(X), np.cos(X) + 4, rtol=1e-5
        )


def test_a_named_pass_that_fails_on_a_tiny_program_is_reported():
    with pytest.raises(jxc.JxcError, match="pass 'failing' failed"):
        jxc.jit(jnp.sin, pipeline=failing, strict=True)(X)
    with pytest.warns(JxcWarning, match="pass 'failing' failed"):
        jxc.jit(lambda x: jnp.sin(x) + 5, pipeline=failing)(X)


def test_print_of_a_log_is_a_table_and_repr_one_line():
    with jxc.use(PIPELINE) as log:
        jax.jit(lambda x: program(x))(X)
    assert repr(log) == "<jxc log: rewritten programs: 1, rewrites: 1 by sine-to-cosine>"
    header, row = str(log).splitlines()
    assert header.split() == ["program", "pipeline", "ops", "rules"]
    assert row == row.rstrip()
    assert row.startswith("jit__lambda") and row.endswith("sine-to-cosine 1")


def test_print_of_a_log_fits_into_the_width(monkeypatch):
    with jxc.use([*PIPELINE, "O2", *["cse"] * 30]) as log:
        compiles()
        compiles(lambda x: jax.nn.softmax(jnp.tanh(program(x).T.T)) + jnp.zeros((5, *x.shape)))
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        assert max(map(len, str(log).splitlines())) <= int(columns)
        assert all(name in str(log) for name in log.hits)


# Blocks that overlap: JAX keeps the choice for each thread


def test_use_blocks_left_in_another_order_restore_the_previous_pipeline():
    def suspended(pipeline):
        with jxc.use(pipeline):
            yield

    first, second = suspended(sine_to_cosine), suspended(sine_to_tanh)
    next(first), next(second)
    first.close()
    check(jax.jit(lambda x: program(x))(X), np.tanh)
    second.close()
    check(jax.jit(lambda x: program(x))(X), np.sin)


def test_use_warns_another_asyncio_task_of_an_open_block():
    async def opens(opened, done):
        with jxc.use(PIPELINE):
            check(jax.jit(lambda x: program(x))(X), np.cos)
            opened.set()
            await done.wait()

    async def compiles(opened, done):
        await opened.wait()
        jax.jit(lambda x: program(x))(X)
        done.set()

    async def both():
        opened, done = asyncio.Event(), asyncio.Event()
        await asyncio.gather(opens(opened, done), compiles(opened, done))

    with pytest.warns(JxcWarning, match="is open in another asyncio task") as caught:
        asyncio.run(both())
    assert len(caught) == 1 and caught[0].filename == __file__
    check(jax.jit(lambda x: program(x))(X), np.sin)


# Passes that fail inside a running program


@pytest.mark.parametrize("broken", [failing, breaking])
def test_a_failing_pass_leaves_the_program_as_it_is(broken):
    def unique(x):
        return program(x)

    unique.__name__ = f"unique_{broken.name}"
    with pytest.warns(JxcWarning, match=f"pass '{broken.name}' failed") as caught:
        check(jxc.jit(unique, pipeline=[sine_to_cosine, broken])(X), np.sin)
    message = str(caught[0].message)
    assert f"Program 'jit_unique_{broken.name}' is compiled without the pipeline" in message
    reproducer = message.split("Reproducer: ")[1].strip()
    with open(reproducer) as file:
        text = file.read()
    assert f"--pass-pipeline=builtin.module(sine-to-cosine,{broken.name})" in text
    assert "stablehlo.sine" in text


def test_a_module_that_xla_rejects_is_compiled_without_the_pipeline():
    f = jax.jit(lambda x: program(x) * 3)
    with jxc.use("stablehlo-legalize-to-linalg"), pytest.warns(JxcWarning, match="XLA does not"):
        check(f(X) / 3, np.sin)
    with jxc.use("stablehlo-legalize-to-linalg", strict=True), pytest.raises(RuntimeError):
        f(X)


def test_logs_record_their_own_thread_only():
    def one(i):
        with jxc.use(PIPELINE) as log:
            jax.jit(lambda x: program(x) - i)(X)
        return len(log.compilations)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [1] * 6


def test_strict_raises_the_error_of_a_pass():
    with pytest.raises(jxc.JxcError, match="pass 'failing' failed: ValueError: cannot be done"):
        jxc.jit(program, pipeline=failing, strict=True)(X)


# What JAX shows and exports


def test_modules_lowered_under_a_pipeline_have_its_stamp():
    with jxc.use("O1"):
        inside = jax.jit(program).lower(X).as_text()
    assert 'jxc.pipeline = "O1"' in inside
    assert "jxc.pipeline" not in jax.jit(program).lower(X).as_text()


def test_exported_programs_run_with_and_without_a_pipeline():
    from jax import export

    with jxc.use(PIPELINE):
        exported = export.export(jax.jit(program))(X)
        blob = exported.serialize()
    check(jax.jit(export.deserialize(blob).call)(X), np.sin)
    with jxc.use(PIPELINE):
        check(jax.jit(export.deserialize(blob).call)(X), np.cos)

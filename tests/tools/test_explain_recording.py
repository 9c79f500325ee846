"""Recording: the recorded events, and that JAX and the program are unaffected."""

import builtins
import re
import subprocess
import sys
import threading
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compiler, pjit
from jax._src.interpreters import mlir, pxla

import jxc
from jxc.events.listener import listening
from jxc.source import JxcWarning
from jxc.tools.explain.compilations import Recording
from jxc.units import show_bytes

X = np.ones(4, np.float32)


def intercepted():
    """The functions of JAX that are intercepted."""
    return (
        pjit._trace_for_jit,
        pxla.lower_sharding_computation,
        mlir.lower_jaxpr_to_module,
        compiler.compile_or_get_cached,
        compiler._cache_read,
        builtins.print,
    )


def deep(x):
    """A program with enough ops that the passes do not skip it."""
    for i in range(60):
        x = jnp.sin(x) * 1.5 + i
    return x


def compiled(log):
    return [each.function for each in log.compilations if each.is_compiled]


def test_explain_restores_jax_after_the_block_and_after_an_error():
    with jxc.explain():
        pass  # installs the interceptors for pipelines, which stay
    before = intercepted()
    with pytest.raises(RuntimeError), jxc.explain():
        changed = [a is not b for a, b in zip(before, intercepted(), strict=True)]
        assert changed == [
            True,
            True,
            False,
            False,
            True,
            True,
        ]  # `lower` and `compile` use the pipeline, too
        raise RuntimeError
    assert intercepted() == before


def test_explain_records_nothing_after_the_block():
    with jxc.explain() as log:
        jax.jit(lambda x: x + 1)(X)
    jax.jit(lambda x: x + 2)(X)
    assert compiled(log) == ["<lambda>"]


def test_nested_explain_blocks_record_their_own():
    with jxc.explain() as outer:
        jax.jit(lambda x: x + 1)(X)
        with jxc.explain() as inner:
            jax.jit(lambda x: x + 2)(X)
        jax.jit(lambda x: x + 3)(X)
    assert (len(compiled(outer)), len(compiled(inner))) == (3, 1)


def test_log_can_be_read_during_the_block():
    step = jax.jit(lambda x: x.sum())
    with jxc.explain() as log:
        step(X)
        assert compiled(log) == ["<lambda>"]
        step(X[:3])
        assert log.compilations[1].reason.nearest == 1
        [group] = log.groups
    assert group.kinds == ("shape",)


def test_explain_can_begin_and_end_during_a_trace():
    opened = jxc.explain()

    def program(x):
        opened.__enter__()
        return jax.jit(lambda x: x * 2)(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with jxc.explain() as outer:
            jax.jit(program)(X)
            jax.jit(lambda x: x + 1)(X)
        opened.__exit__(None, None, None)
        jax.jit(lambda x: x + 2)(X)
    assert compiled(outer) == ["program", "<lambda>"]


def test_recursive_function_is_one_program():
    @jax.jit
    def power(x, y):
        return x if y.shape == (1,) else power(x * y[0], y[1:])

    with jxc.explain() as log:
        power(X, X)
    assert compiled(log) == ["power"]


def test_cached_calls_are_not_intercepted():
    step = jax.jit(lambda x: x + 1)
    step(X)
    with jxc.explain() as log:
        for _ in range(10):
            step(X)
    assert log.compilations == [] and not log.hits


def test_compilation_has_the_line_of_the_call_and_of_the_definition():
    @jax.jit
    def inner(x):
        return x + 1

    @jax.jit
    def outer(x):
        return inner(x) * 2

    with jxc.explain() as log:
        outer(X)
        inner(X)
    first, second = log.compilations
    assert (first.function, second.function) == ("outer", "inner")
    assert first.called.text == "outer(X)" and second.called.text == "inner(X)"
    assert first.defined.text == "def outer(x):" and first.defined.file == __file__
    assert first.arguments == {"x": "f32[4]"} == second.arguments
    assert "trace" in first.seconds and "trace" not in second.seconds  # the other block traced it


def test_compilation_in_a_library_has_the_users_line():
    with jxc.explain() as log:
        np.apply_along_axis(jax.jit(lambda x: x + 1), 0, X)
    [compilation] = log.compilations
    assert compilation.called.text == "np.apply_along_axis(jax.jit(lambda x: x + 1), 0, X)"


def test_ahead_of_time_compilation_is_one_program():
    with jxc.explain() as log:
        lowered = jax.jit(lambda x: x + 1).lower(X)
        assert not log.compilations[0].is_compiled
        lowered.compile()
        jax.eval_shape(lambda x: x + 1, X)
    assert compiled(log) == ["<lambda>"]
    assert set(log.compilations[0].seconds) == {"trace", "lower", "compile"}


def test_function_lowered_before_recording_has_its_name():
    lowered = jax.jit(deep).lower(X)
    with jxc.explain() as log:
        lowered.compile()
    assert compiled(log) == ["deep"]


def test_passes_have_seconds_and_texts():
    with jxc.explain(keep_texts=True) as log, jxc.use("O2"):
        jax.jit(deep)(X)
    [compilation] = [each for each in log.compilations if each.function == "deep"]
    assert list(compilation.seconds) == ["trace", "lower", "passes", "compile"]
    assert all(seconds > 0 for seconds in compilation.seconds.values())
    texts = compilation.texts
    assert "sin" in str(texts.jaxpr) and "@main" in texts.stablehlo and "loc(" in texts.stablehlo
    assert texts.passes and all("@main" in text for _, text in texts.passes)
    assert texts.hlo.startswith("HloModule") and "metadata" in texts.hlo


def test_compilation_has_the_flops_and_the_peak_memory_of_the_report(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # narrow tables have no column of peak memory

    def program(x):
        return jnp.tanh(x @ x).sum() * 3

    square = np.ones((64, 64), np.float32)
    with jxc.explain() as log:
        jax.jit(program)(square)
    found = jxc.report(jxc.lower(program, square), "cpu", pipeline="O0").optimised
    [compilation] = log.compilations
    assert compilation.flops == found.totals.flops > 2 * 64**3
    assert compilation.peak_bytes == found.memory.peak
    assert f"{show_bytes(compilation.peak_bytes)}" in str(log)


def test_texts_are_not_kept_by_default():
    with jxc.explain() as log:
        jax.jit(deep)(X)
    assert log.compilations[0].texts is None


@pytest.fixture
def persistent_cache(tmp_path):
    names = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in names}
    for name, value in names.items():
        jax.config.update(name, value)
    compiler.compilation_cache.reset_cache()
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compiler.compilation_cache.reset_cache()


def test_persistent_cache_key_is_the_same_as_without_explain(persistent_cache):
    def program(x):
        return jnp.tanh(x @ x).sum() * 3

    square = np.ones((4, 4), np.float32)
    jax.jit(program)(square)
    jax.clear_caches()
    with jxc.explain() as log:
        jax.jit(program)(square)
    [compilation] = log.compilations
    assert compilation.from_cache and compilation.cache_key.startswith("jit_program-")
    assert list(compilation.seconds) == ["trace", "lower", "load"]
    assert any(file.name.startswith(compilation.cache_key) for file in persistent_cache.iterdir())


def test_threads_are_recorded_separately():
    steps = [jax.jit(lambda x, k=k: (x * k).sum()) for k in range(4)]
    failed = []

    def work(step):
        try:
            for n in range(1, 6):
                step(np.ones(n, np.float32))
        except Exception as error:  # the thread would discard the error
            failed.append(error)

    with jxc.explain() as log:
        threads = [
            threading.Thread(target=work, args=(s,), name=f"t{i}") for i, s in enumerate(steps)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert sorted(each.number for each in log.compilations) == list(range(1, 21))
    for name in ("t0", "t1", "t2", "t3"):
        own = [each for each in log.compilations if each.thread == name]
        assert [each.arguments["x"] for each in own] == [f"f32[{n}]" for n in range(1, 6)]


def test_exception_in_the_recorder_ends_recording_not_the_program():
    class Broken(Recording):
        def trace_begins(self, event):
            raise KeyError("ours")

    before = intercepted()
    with warnings.catch_warnings(record=True) as caught, listening(Broken()):
        warnings.simplefilter("always")
        assert jax.jit(lambda x: x + 1)(X)[0] == 2
    assert intercepted() == before
    [warning] = [each for each in caught if each.category is JxcWarning]
    assert "jxc stopped recording at trace_begins" in str(warning.message)


def test_program_compiled_during_a_trace_is_separate():
    @jax.jit
    def step(x):
        with jax.ensure_compile_time_eval():
            table = jax.jit(deep)(X)
        return x + table

    start = time.perf_counter()
    with jxc.explain() as log:
        step(X)
    elapsed = time.perf_counter() - start
    assert {"step", "deep"} <= {each.function for each in log.compilations}
    assert sum(each.total for each in log.compilations) <= elapsed  # no time is counted twice


def test_recording_keeps_no_argument_alive():
    import gc
    import weakref

    class Table:
        def __init__(self):
            self.array = X

        def add(self, x):
            return x + self.array

    table = Table()
    watched = weakref.ref(table)
    with jxc.explain() as log:
        jax.jit(table.add)(X)
        del table
        jax.clear_caches()
        gc.collect()
        assert watched() is None
    assert compiled(log) == ["Table.add"]


# The log


def test_log_prints_the_table_of_the_command(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    step = jax.jit(lambda x: x.sum())
    with jxc.explain() as log:
        for n in (2, 3, 4):
            step(X[:n])
    text = str(log)
    assert text.startswith("jxc explain: 3 programs were compiled in ")
    assert "Compiled again" in text and "\x1b" not in text
    assert (
        "    <lambda> was compiled 3 times, because the first dimension of x varied: 2, 3, 4"
        in text
    )
    assert "jxc explain: 3 programs" in log._repr_html_()
    assert "&lt;lambda&gt;" in log._repr_html_()


def test_one_explain_records_several_blocks_and_blocks_within_each_other():
    recorder = jxc.explain()
    with recorder as outer:
        jax.jit(lambda x: x * 3)(1.5)
        with recorder as inner:
            jax.jit(lambda x: x * 4)(1.5)
    with recorder as later:
        pass
    assert [len(log.compilations) for log in (outer, inner, later)] == [2, 1, 0]


def test_repr_of_the_recorders_is_the_call_that_makes_them():
    assert repr(jxc.explain()) == "jxc.explain(keep_texts=False)"
    assert repr(jxc.assert_compiles(at_most=2)) == "jxc.assert_compiles(at_most=2, eager=True)"
    assert repr(jxc.assert_compiles(1, eager=False)) == "jxc.assert_compiles(1, eager=False)"


def test_log_repr_is_one_line_with_programs_seconds_and_recompilations():
    step = jax.jit(lambda x: x.sum())
    with jxc.explain() as log:
        assert repr(log) == "<jxc.explain log: no program compiled>"
        step(X), step(X[:3])
    assert re.fullmatch(
        r"<jxc.explain log: 2 programs compiled in \d.* s, 1 of them again>", repr(log)
    )
    assert repr(log.compilations[0]).startswith("<Compilation 1: <lambda>(x: f32[4]) at ")
    assert re.fullmatch(r"<CompilationRow: <lambda> at .*, 2 times, \d.* s>", repr(log.rows[0]))
    assert repr(log.groups[0]).startswith("<RecompilationGroup: <lambda> was compiled again: x was")


def test_explain_lets_the_program_set_its_environment_before_jax(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=3'\n"
        "os.environ['JAX_ENABLE_X64'] = '1'\n"
        "import jax\n"
        "print(len(jax.devices()), jax.numpy.ones(2).dtype)\n"
    )
    command = [sys.executable, "-c", "from jxc.cli import main; main()", "explain", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "3 float64\n"
    assert "jxc explain: 2 programs were compiled" in done.stderr

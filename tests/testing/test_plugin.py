"""The pytest plugin: its registration, its fixture, and the budgets of its marker."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from .conftest import HEAD, fails

pytest_plugins = ["pytester"]


def test_plugin_is_registered_as_an_entry_point():
    found = {point.value for point in entry_points(group="pytest11") if point.name == "jxc"}
    assert found == {"jxc.testing.plugin"}


def test_plugin_and_fixture_import_neither_jax_nor_mlir(pytester):
    pytester.makepyfile(
        """
        import sys
        import pytest

        def test_nothing(jxc):
            assert not {"jax", "jaxlib", "numpy"} & set(sys.modules)
        """
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "jxc.testing.plugin"]
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, env=environment, cwd=pytester.path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


def test_fixture_has_the_names_of_the_package(run):
    run(
        """
def test_names(jxc):
    step = jax.jit(wave)
    with jxc.assert_compiles(1, eager=False):
        step(jnp.ones(8))
    with jxc.assert_compiles(0, eager=False):
        step(jnp.ones(8))
    assert "sine" in jxc.lower(wave, X).as_text()
"""
    ).assert_outcomes(passed=1)


def test_marker_passes_within_every_budget(run):
    run(
        """
@pytest.mark.jxc(compiles=1, max_ops=9, forbid="f64,custom-call", max_memory="1KiB",
                 max_temporaries=0, max_flops=1000, max_collectives=0)
def test_kept():
    jax.jit(wave)(jnp.ones(8))
"""
    ).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("compiles=2", "expected 2 programs to be compiled, found 1"),
        ("compiles=0", "expected no program to be compiled, found 1"),
        ("max_ops=1", "wave*: expected at most 1 StableHLO ops, found 4"),
        ("max_memory=8", "expected at most 8 B of peak memory, found"),
        ("max_flops=4", "expected at most 4 flops, found"),
        ("forbid='f32'", "forbidden f32 occurs * times"),
        ("forbid='sine'", "forbidden sine occurs once*.py:"),
        ("forbid='stablehlo.sine'", "forbidden stablehlo.sine occurs once in the program"),
    ],
)
def test_marker_fails_and_names_the_exceeded_budget(run, budget, said):
    result = run(
        f"""
@pytest.mark.jxc({budget})
def test_exceeds():
    jax.jit(wave)(jnp.ones(8))
"""
    )
    fails(result, said)


def test_marker_explains_a_recompilation(run):
    result = run(
        """
@pytest.mark.jxc(max_compiles=1)
def test_twice():
    step = jax.jit(wave)
    step(jnp.ones(8))
    step(jnp.ones(9))
"""
    )
    fails(
        result,
        "expected at most one program to be compiled, found 2",
        "wave(x: f32[[]8])",
        "wave(x: f32[[]9])",
        "x was f32[[]8] and is now f32[[]9]",
    )
    assert "During handling" not in result.stdout.str()


def test_assert_compiles_shows_the_line_of_the_test_only(run):
    result = run(
        """
def test_counted(jxc):
    with jxc.assert_compiles(0):
        jax.jit(wave)(1.0)
"""
    )
    result.stdout.fnmatch_lines([">       with jxc.assert_compiles(0):", "*found 1"])
    assert "log.py" not in result.stdout.str()


def test_marker_fails_when_nothing_is_compiled_unless_compiles_is_0(run):
    result = run(
        """
@pytest.mark.jxc(max_ops=100)
def test_nothing_is_compiled():
    wave(1.0)

@pytest.mark.jxc(compiles=0)
def test_and_nothing_should_be():
    pass
"""
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the test compiled nothing under jax.jit*"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "the marker has no budget"),
        ("3", "expected names, such as compiles=1; found 3"),
        ("max_opps=3", "there is no budget 'max_opps'*Did you mean 'max_ops'"),
        (
            "compile=1",
            "there is no budget 'compile'*compiles, max_compiles*Did you mean 'compiles'",
        ),
        ("forbid='f65'", "does not know 'f65'"),
        ("max_memory='much'", "expected a size in bytes*'much'"),
    ],
)
def test_marker_rejects_invalid_budgets(run, given, said):
    fails(run(f"@pytest.mark.jxc({given})\ndef test_any():\n    pass\n"), said)


def test_marker_reports_the_error_of_the_test_itself(run):
    result = run(
        """
@pytest.mark.jxc(max_ops=1)
def test_wrong():
    jax.jit(wave)(jnp.ones(8))
    raise ValueError("of the test")
"""
    )
    fails(result, "ValueError: of the test")
    assert "expected at most" not in result.stdout.str()


def test_marker_leaves_a_failed_check_text_as_it_is(run):
    result = run(
        """
@pytest.mark.jxc(compiles=1)
def test_wrong(jxc):
    jax.jit(wave)(jnp.ones(8))
    jxc.check_text(wave, X, checks="CHECK: stablehlo.cosine")
"""
    )
    fails(result, "CheckFailed", "expected: CHECK: stablehlo.cosine")
    assert "pytest.mark.jxc: " not in result.stdout.str()


def test_marker_allows_skip(run):
    run(
        """
@pytest.mark.jxc(compiles=1)
def test_later():
    pytest.skip("not today")
"""
    ).assert_outcomes(skipped=1)


def test_marker_of_the_test_overrides_that_of_the_class(run):
    result = run(
        """
@pytest.mark.jxc(max_ops=1)
class TestWave:
    def test_exceeds(self):
        jax.jit(wave)(jnp.ones(8))

    @pytest.mark.jxc(max_ops=100)
    def test_may(self):
        jax.jit(lambda x: wave(x))(jnp.ones(8))
"""
    )
    result.assert_outcomes(passed=1, failed=1)


WARMED_UP = """
step = jax.jit(wave)

def test_before():
    step(jnp.ones(8))
    jax.jit(lambda x: x).lower(X)

@pytest.mark.jxc(compiles=1)
def test_marked():
    for _ in range(3):
        step(jnp.ones(8))

@pytest.mark.jxc(compiles=1, max_ops=9)
def test_marked_again():
    step(jnp.ones(8))

@pytest.mark.jxc(compiles=0)
def test_expects_none():
    step(jnp.ones(8))

def test_unmarked_programs_are_kept(jxc):
    with jxc.assert_compiles(0):
        step(jnp.ones(8))
"""


@pytest.mark.parametrize("flags", [(), ("-p", "reversing")])
def test_marker_has_the_same_verdict_alone_after_others_and_in_any_order(run, pytester, flags):
    pytester.makepyfile(
        reversing="def pytest_collection_modifyitems(items):\n    items[:4] = items[3::-1]\n"
    )
    pytester.syspathinsert()
    result = run(WARMED_UP, *flags)
    result.stdout.fnmatch_lines(["*_ test_expects_none _*", "*expected no program*, found 1"])
    result.assert_outcomes(passed=4, failed=1)


@pytest.mark.parametrize("name", ["test_marked", "test_marked_again"])
def test_marker_has_the_same_verdict_when_one_test_is_selected(run, name):
    run(WARMED_UP, "-k", f"{name} and not {name}_again").assert_outcomes(passed=1, deselected=4)


def test_marker_leaves_programs_compiled_before_it_in_the_caches_of_a_fresh_process(pytester):
    pytester.makepyfile(HEAD + WARMED_UP)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "jxc.testing.plugin"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, env=environment, cwd=pytester.path, capture_output=True)
    assert b"1 failed, 4 passed" in done.stdout, done.stdout.decode()


def test_marker_counts_programs_of_threads_whatever_was_compiled_before(run):
    result = run(
        """
import threading
step = jax.jit(wave)

def work():
    thread = threading.Thread(target=step, args=(jnp.ones(8),))
    thread.start()
    thread.join()

def test_before():
    work()

@pytest.mark.jxc(compiles=1)
def test_marked():
    work()
"""
    )
    result.assert_outcomes(passed=2)

"""The pytest plugin, by pytest's own means: tests that must pass, and tests that must fail."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import jax
import jax.numpy as jnp
import pytest

from jxc.testing import check_budget, check_text
from jxc.testing.marker import Watch

pytest_plugins = ["pytester"]

HEAD = """
import jax
import jax.numpy as jnp
import pytest

def wave(x):
    return jnp.sin(x) * 2

X = jax.ShapeDtypeStruct((8,), jnp.float32)

"""


@pytest.fixture(scope="module")
def imported():
    """Everything is imported before pytester notes what is: MLIR cannot be imported twice."""
    for stage in ("jaxpr", "stablehlo", "hlo-before", "hlo"):
        check_text(
            jnp.sin, jnp.ones(8), stage=stage, pipeline="O2", checks="CHECK: {{sin|poly|mul}}"
        )
    check_budget(jnp.sin, jnp.ones(8), max_flops=1000, max_collectives=0, forbid="f64,sort")
    with Watch([((), {"max_compiles": 2, "eager": True, "max_ops": 9})]):
        jax.jit(lambda x: jnp.sin(x))(jnp.ones(8))


@pytest.fixture
def run(imported, pytester, monkeypatch):
    """Runs the tests in a text with the plugin; gives pytest's result."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text):
        pytester.makepyfile(HEAD + text)
        return pytester.runpytest_inprocess("-p", "jxc.testing.plugin", "--strict-markers")

    return run


def fails(result, *lines):
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{line}*" for line in lines])


# It costs nothing


def test_it_is_loaded_by_its_entry_point():
    found = {point.value for point in entry_points(group="pytest11") if point.name == "jxc"}
    assert found == {"jxc.testing.plugin"}


def test_loading_it_and_asking_for_the_fixture_imports_neither_jax_nor_mlir(pytester):
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


# The marker


def test_budgets_that_are_kept(run):
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
        ("max_memory=8", "expected at most 8 B of memory at its peak, found"),
        ("max_flops=4", "expected at most 4 flops, found"),
        ("forbid='f32'", "has f32 * times, allowed is none"),
        ("forbid='sine'", "has sine 1 times, allowed is none*.py:"),
        ("forbid='stablehlo.sine'", "has stablehlo.sine 1 times in the program, allowed is none"),
    ],
)
def test_a_budget_that_is_exceeded_fails_the_test(run, budget, said):
    result = run(
        f"""
@pytest.mark.jxc({budget})
def test_exceeds():
    jax.jit(wave)(jnp.ones(8))
"""
    )
    fails(result, said)


def test_a_recompilation_is_told_of_with_its_reason(run):
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
        "x was f32[[]8] and is f32[[]9]",
    )
    assert "During handling" not in result.stdout.str()


def test_a_failed_count_shows_the_line_of_the_test_and_none_of_ours(run):
    result = run(
        """
def test_counted(jxc):
    with jxc.assert_compiles(0):
        jax.jit(wave)(1.0)
"""
    )
    result.stdout.fnmatch_lines([">       with jxc.assert_compiles(0):", "*found 1"])
    assert "log.py" not in result.stdout.str()


def test_a_budget_that_nobody_could_exceed_fails(run):
    jax.clear_caches()  # what another test has lowered, and not compiled, is compiled with no trace
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
    result.stdout.fnmatch_lines(["*nothing was compiled while the test ran*"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "there is no budget in it"),
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
def test_a_marker_that_cannot_be_understood_fails(run, given, said):
    fails(run(f"@pytest.mark.jxc({given})\ndef test_any():\n    pass\n"), said)


def test_the_tests_own_failure_comes_first(run):
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


def test_a_check_that_fails_in_a_marked_test_is_told_of_as_such(run):
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


def test_a_marked_test_may_be_skipped(run):
    run(
        """
@pytest.mark.jxc(compiles=1)
def test_later():
    pytest.skip("not today")
"""
    ).assert_outcomes(skipped=1)


def test_a_marker_on_a_class_counts_and_one_on_the_test_more(run):
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


# Text of a stage


@pytest.mark.parametrize(
    ("stage", "line"),
    [("jaxpr", "mul"), ("stablehlo", "stablehlo.sine"), ("hlo", "ENTRY"), ("hlo-before", "sine(")],
)
def test_a_stage_that_holds_what_is_expected(run, stage, line):
    run(
        f"""
def test_stage(jxc):
    jxc.check_text(wave, X, stage="{stage}", checks="CHECK: {line}")
"""
    ).assert_outcomes(passed=1)


def test_passes_run_first(run):
    run(
        """
def test_passes(jxc):
    jxc.check_text(lambda x: -(-x), X, pipeline="simplify", checks='''
        CHECK: @main
        CHECK-NOT: stablehlo.negate
    ''')
"""
    ).assert_outcomes(passed=1)


def test_a_text_that_lacks_it_is_shown_by_the_line_of_the_check(run):
    text = """
def test_stage(jxc):
    jxc.check_text(wave, X, checks='''
        CHECK: stablehlo.sine
        CHECK-NEXT: stablehlo.cosine
    ''')
"""
    lines = (HEAD + text).strip().splitlines()
    line = 1 + lines.index("        CHECK-NEXT: stablehlo.cosine")
    fails(
        run(text),
        f".py:{line}: wave, stablehlo: Couldn't match",
        "expected: CHECK-NEXT: stablehlo.cosine",
        "| *stablehlo.sine",
        "| *stablehlo.constant dense<2",
    )


def test_what_must_not_be_there_is_shown(run):
    result = run(
        """
def test_stage(jxc):
    jxc.check_text(wave, X, checks='''
        CHECK: @main
        CHECK-NOT: stablehlo.sine
    ''')
"""
    )
    fails(result, "excluded string found", "found at line * of the text:", "| *stablehlo.sine")


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ("", "expected directives such as CHECK:"),
        ("CHECK-NOT: f64", "nothing has to match"),
        ("CHECK: sine\\nCHEKC: cosine", "'CHEKC: cosine' is no directive"),
        ("CHECK-NXT: sine", "there is no CHECK-NXT"),
    ],
)
def test_checks_that_check_nothing_fail(run, checks, said):
    result = run(f'def test_stage(jxc):\n    jxc.check_text(wave, X, checks="{checks}")\n')
    fails(result, said)


# Budgets by call


def test_check_budget_compiles_and_does_not_run(run):
    result = run(
        """
def test_kept(jxc):
    jxc.check_budget(wave, X, max_ops=4, max_memory=64, forbid="f64")

def test_exceeds(jxc):
    jxc.check_budget(wave, X, max_ops=3)

def test_none(jxc):
    jxc.check_budget(wave, X)
"""
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*wave: expected at most 3 StableHLO ops, found 4", "*check_budget: expected a budget*"]
    )


def test_the_fixture_has_the_names_of_the_package(run):
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

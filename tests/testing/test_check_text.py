"""`check_text` and `check_budget`: accepted arguments, and the messages for rejected ones."""

from __future__ import annotations

import pytest

from .conftest import HEAD, fails

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    ("stage", "line"),
    [("jaxpr", "mul"), ("stablehlo", "stablehlo.sine"), ("hlo", "ENTRY"), ("hlo-before", "sine(")],
)
def test_check_text_matches_each_stage(run, stage, line):
    run(
        f"""
def test_stage(jxc):
    jxc.check_text(wave, X, stage="{stage}", checks="CHECK: {line}")
"""
    ).assert_outcomes(passed=1)


def test_check_text_runs_the_pipeline_first(run):
    run(
        """
def test_passes(jxc):
    jxc.check_text(lambda x: -(-x), X, pipeline="simplify", checks='''
        CHECK: @main
        CHECK-NOT: stablehlo.negate
    ''')
"""
    ).assert_outcomes(passed=1)


def test_check_text_quotes_the_text_at_the_failed_directive(run):
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


def test_check_text_quotes_an_excluded_match(run):
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
        ("CHECK-NOT: f64", "no directive requires a match"),
        ("CHECK: sine\\nCHEKC: cosine", "'CHEKC: cosine' is not a directive"),
        ("CHECK-NXT: sine", "there is no CHECK-NXT"),
    ],
)
def test_check_text_rejects_checks_that_cannot_fail(run, checks, said):
    result = run(f'def test_stage(jxc):\n    jxc.check_text(wave, X, checks="{checks}")\n')
    fails(result, said)


def test_check_budget_compiles_without_running(run):
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


def test_check_text_without_filecheck_names_the_extra_to_install(run, monkeypatch):
    monkeypatch.setattr("jxc.testing.texts.find_spec", lambda name: None)
    result = run("""
def test_stage(jxc):
    jxc.check_text(wave, X, checks="CHECK: stablehlo.sine")
""")
    fails(
        result,
        "the package filecheck, which is not installed: pip install 'jxc-compiler[[]testing]'",
    )
    assert "texts.py" not in result.stdout.str()

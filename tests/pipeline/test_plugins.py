"""Passes of other packages: found for names that jxc does not have, and left out if broken."""

import importlib.util
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from jxc.errors import JxcError, UsageError
from jxc.ir import make_context, read_module
from jxc.pipeline import library, make_pipeline, plugins, run_pipeline
from jxc.pipeline.library import Library
from jxc.rewrite import PassContext

EXAMPLE = Path(__file__).parent.parent.parent / "examples/plugin"
RULES = """
from jaxlib.mlir.dialects.stablehlo import AbsOp
import jxc


@jxc.rule(jxc.exact)
def abs_of_one(op: AbsOp):
    '''|1| -> 1.'''
    return op.operand if jxc.ir.is_splat(op.operand, 1) else None
"""


def install(folder, name, entry_points, **modules):
    """Write an installed package: its modules and its metadata."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "\n".join(entry_points)
    (info / "entry_points.txt").write_text(f"[jxc.passes]\n{lines}\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages in this process, which warns anew."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    plugins._warn.cache_clear()
    yield tmp_path
    for name in set(sys.modules) - before:
        if (
            getattr(sys.modules[name], "__file__", None)
            and str(tmp_path) in sys.modules[name].__file__
        ):
            del sys.modules[name]


def found(name):
    (step,) = make_pipeline(name, Library()).steps
    return step.python


def test_module_of_an_entry_point_is_a_pass_of_its_rules(site):
    install(site, "abs", ["abs-rules = abs_rules"], abs_rules=RULES)
    assert [rule.name for rule in found("abs-rules").rules] == ["abs-of-one"]


def test_rule_in_an_entry_point_is_a_pass(site):
    install(site, "abs", ["abs-rules = abs_rules"], abs_rules=RULES)
    assert found("abs-of-one").rules[0].name == "abs-of-one"


SEVERAL = """
import jax.numpy as jnp
import jxc
from jxc.patterns import replacement_pass
from abs_rules import abs_of_one


@jxc.replacement(jxc.reassociates, x="f32[n]")
def square_sum(x):
    '''sum(x * x) -> x . x.'''
    return jnp.sum(x * x)


@square_sum.by
def product(x):
    return jnp.dot(x, x)


@jxc.module_pass
def keep_all(module):
    '''Change nothing.'''
"""
GROUP = "several = replacement_pass('several', 'Sums.', [square_sum])"
SUM = """
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
"""


def test_module_of_an_entry_point_may_hold_several_passes(site):
    install(site, "many", ["many = several"], several=SEVERAL, abs_rules=RULES)
    assert found("square-sum").rules[0].name == "square-sum"
    assert found("keep-all").name == "keep-all"
    names = [each.name for package, each in library.plugins().passes() if package == "many 1.0"]
    assert names == ["square-sum", "keep-all"]
    with pytest.raises(UsageError) as raised:
        found("many")
    problem = "'many' is a module of many 1.0 with several passes: name square-sum or keep-all"
    assert str(raised.value) == problem


def test_replacement_in_a_pass_of_replacements_is_a_pass(site):
    install(site, "many", ["several = several"], several=SEVERAL + GROUP, abs_rules=RULES)
    module = read_module(SUM, make_context())
    run_pipeline(module, make_pipeline("square-sum", Library()), PassContext())
    assert "dot_general" in str(module)


def test_names_of_jxc_import_no_plugin(site):
    install(site, "abs", ["abs-rules = abs_rules"], abs_rules="raise SystemExit('imported')")
    assert found("simplify").name == "simplify"


def test_broken_plugin_is_named_with_its_error(site):
    install(site, "broken", ["crash = crash"], crash="\nimport no_such_module")
    with pytest.raises(JxcError) as raised:
        found("crash")
    assert str(raised.value) == (
        "broken 1.0: its pass 'crash' cannot be loaded from 'crash': "
        f"{site / 'crash.py'}:2: ModuleNotFoundError: No module named 'no_such_module'"
    )


@pytest.mark.parametrize("text", ["import no_such_module", "import sys; sys.exit(3)", "def f(:"])
def test_broken_plugin_does_not_hide_others(site, capfd, text):
    install(site, "a_broken", ["a-crash = a_crash"], a_crash=text)
    install(site, "abs", ["abs-rules = abs_rules"], abs_rules=RULES)
    assert found("abs-of-one").name == "abs-of-one"
    assert capfd.readouterr().err.startswith(
        "jxc: warning: a_broken 1.0: its pass 'a-crash' cannot"
    )


def test_unknown_name_is_an_error_that_offers_names_of_plugins(site):
    install(site, "abs", ["abs-rules = abs_rules"], abs_rules=RULES)
    with pytest.raises(UsageError, match=r"'abs-rule'\. Did you mean 'abs-rules'"):
        found("abs-rule")


@pytest.mark.parametrize("name", ["simplify", "add-zero", "cse", "O2"])
def test_name_of_jxc_or_mlir_is_refused(site, capfd, name):
    install(site, "abs", [f"{name} = abs_rules"], abs_rules=RULES)
    assert name not in library.plugins().entries
    warning = f"jxc: warning: abs 1.0: its pass {name!r} is left out: jxc has this name\n"
    assert capfd.readouterr().err == warning


def test_name_of_two_packages_is_that_of_the_first(site, capfd):
    install(site, "abs_a", ["abs-rules = abs_rules"], abs_rules=RULES)
    install(site, "abs_b", ["abs-rules = other_rules"], other_rules=RULES)
    assert found("abs-rules").rules[0].function.__module__ == "abs_rules"
    assert "abs_b 1.0: its pass 'abs-rules' is left out: abs_a 1.0 has" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("other:abs_of_one", "it is called 'abs-of-one' there; use one name for both"),
        ("other:jxc", "expected a pass, a rule or a module with rules, found no rule and no such"),
        ("other:__doc__", "found no rule and no such pass"),
        ("other:__name__", "found a str"),
        ("other:nothing", "AttributeError: module 'other' has no attribute 'nothing'"),
    ],
)
def test_entry_point_must_name_a_pass(site, value, problem):
    install(site, "abs", [f"my-pass = {value}"], other=RULES)
    with pytest.raises(JxcError) as raised:
        found("my-pass")
    assert problem in str(raised.value)


# The example, installed from its own folder


def run(*command, path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example, installed by pip."""
    if (
        importlib.util.find_spec("setuptools") is None
        or int(version("setuptools").split(".")[0]) < 77
    ):
        pytest.skip("setuptools >= 77, which installs examples/plugin, is missing: pip install it")
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip, which installs examples/plugin, is missing")
    copied = tmp_path_factory.mktemp("plugin") / "plugin"  # setuptools writes into the folder
    shutil.copytree(EXAMPLE, copied)
    site = copied.parent / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    run(*pip, *offline, "--target", site, copied, path=os.environ.get("PYTHONPATH", ""))
    return site


def test_example_is_installed_and_passes_its_tests(example):
    jxc = Path(sys.executable).parent / "jxc"
    listed = run(jxc, "opt", "--list-passes", path=example)
    assert "Passes of jxc-example-plugin 0.1.0:\n  absolute-values  Absolute values" in listed
    assert "Passed: 1 (100.00%)" in run(jxc, "test", EXAMPLE / "tests", path=example)

"""Every public object has a line as `repr`, and every public name a `help` that is complete."""

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir.dialects.stablehlo import AbsOp

import jxc
import jxc.ir
import jxc.testing
from jxc.backend.targets import find_target
from jxc.tools.diff import ComparedProgram, compare

WIDTH = 200
ADDRESS = re.compile(r"^<[\w.]+ object at 0x")


def step(x):
    return jnp.abs(jnp.exp(x))


def rules():
    @jxc.rule(jxc.exact)
    def abs_of_exp(op: AbsOp):
        """|exp x| -> exp x: never negative."""

    @jxc.module_pass
    def nothing(module):
        """Do nothing."""

    @jxc.replacement(jxc.reassociates, x="f32[n]")
    def square(x):
        """x * x -> x^2."""
        return x * x

    return [abs_of_exp, nothing, square, jxc.exact, jxc.approximates(ulps=2), jxc.PassContext()]


def programs(folder):
    low = jxc.lower(step, "f32[8]")
    opt = low.opt()
    executable = opt.compile()
    header = jxc.save(executable, folder / "step.jxc")
    loaded = jxc.load(folder / "step.jxc")
    report = jxc.report(low, "cpu")
    difference = compare(ComparedProgram("a", low.module), ComparedProgram("b", opt.module))
    found = [low, opt, opt.report, executable, header, loaded, report, report.optimised]
    return [*found, difference, find_target("cpu")]


def logs():
    with jxc.explain() as explained, jxc.use("simplify") as rewritten:
        jax.jit(step)(np.ones(5, np.float32))
    found = [explained, explained.compilations[0], explained.rows[0], rewritten]
    return [*found, rewritten.compilations[0], jxc.explain(), jxc.use("O2"), jxc.assert_compiles(1)]


def checks():
    x = np.ones(8, np.float32)
    located = jxc.locate_nans(lambda w: jnp.sqrt(w))
    with pytest.raises(jxc.NanError) as caught:
        located(jnp.full(3, -1.0))
    bucketed = jxc.bucket(lambda rows: rows * 2, sizes=[4])
    found = [jxc.jit(step), located, caught.value, caught.value.finding, bucketed]
    return [*found, jxc.doctor(step, x), jxc.verify(step, x)]


def test_every_public_object_has_one_line_as_repr(tmp_path):
    found = [repr(each) for each in (*rules(), *programs(tmp_path), *logs(), *checks())]
    assert [text for text in found if "\n" in text or ADDRESS.match(text)] == []
    assert [text for text in found if not 0 < len(text) <= WIDTH] == []


def documented(module):
    return [
        pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")
        for name in module.__all__
        if callable(getattr(module, name))
    ]


@pytest.mark.parametrize(
    "value", [each for module in (jxc, jxc.ir, jxc.testing) for each in documented(module)]
)
def test_help_begins_with_a_sentence(value):
    first = (inspect.getdoc(value) or "").partition("\n\n")[0]
    assert first.endswith((".", ":"))
    assert not first.startswith(value.__name__)


def is_exception(value):
    """Users do not make exceptions."""
    return inspect.isclass(value) and issubclass(value, Exception)


@pytest.mark.parametrize(
    "value", [each for each in documented(jxc) if not is_exception(each.values[0])]
)
def test_help_names_every_parameter(value):
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [
        name
        for name, each in inspect.signature(value).parameters.items()
        if each.kind not in several and not name.startswith("_")
    ]
    doc = inspect.getdoc(value) or ""
    assert [name for name in names if not re.search(rf"\b{name}\b", doc)] == []


@pytest.mark.parametrize(
    "value", [each for each in documented(jxc) if inspect.isclass(each.values[0])]
)
def test_methods_and_properties_have_help(value):
    members = {
        name: each
        for name, each in vars(value).items()
        if not name.startswith("_") and (callable(each) or isinstance(each, property))
    }
    assert [name for name, each in members.items() if not inspect.getdoc(each)] == []

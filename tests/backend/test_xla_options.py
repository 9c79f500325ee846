"""Options of XLA that a module sets by its attribute `jxc.xla_options`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.backend.targets import find_target
from jxc.backend.targets.build import build
from jxc.errors import JxcError
from jxc.ir import make_context
from jxc.ir.io import read_module
from jxc.ir.xla_options import XLA_OPTIONS, set_xla_option
from jxc.rewrite import module_pass
from jxc.source import JxcWarning

MULTI_OUTPUT = "xla_cpu_use_multi_output_fusion"


@module_pass(changes=(XLA_OPTIONS,))
def multi_output(module) -> None:
    """Set an option whose effect the optimized HLO shows."""
    set_xla_option(module, MULTI_OUTPUT)


def chain(x):
    y = x
    for _ in range(4):
        x, y = jnp.tanh(x) * y + jnp.exp(-x), jnp.tanh(y + x)
    return x, y


X = np.random.default_rng(0).standard_normal((64, 64), np.float32)


def fusions(text):
    return text.count(" fusion(")


def test_compile_passes_the_options_of_the_module_to_xla():
    lowered = jxc.lower(chain, X)
    plain, changed = lowered.compile(), lowered.opt(multi_output).compile()
    assert fusions(changed.as_text()) < fusions(plain.as_text())
    for one, other in zip(changed(X), plain(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_compile_prefers_the_options_of_the_caller():
    lowered = jxc.lower(chain, X)
    off = lowered.opt(multi_output).compile(xla_options={MULTI_OUTPUT: False})
    assert fusions(off.as_text()) == fusions(lowered.compile().as_text())


def test_build_for_a_target_passes_the_options_of_the_module_to_xla():
    lowered, target = jxc.lower(chain, X), find_target("cpu")
    plain, changed = (build(each.module, target) for each in (lowered, lowered.opt(multi_output)))
    assert fusions(changed.hlo) < fusions(plain.hlo)


def test_jit_passes_the_options_of_the_module_to_xla():
    text = jxc.jit(chain, pipeline=multi_output).lower(X).compile().as_text()
    assert fusions(text) < fusions(jax.jit(chain).lower(X).compile().as_text())


@module_pass(changes=(XLA_OPTIONS,))
def wrong_kind(module) -> None:
    """Set an option to what is none of the values of options."""
    module.attributes[XLA_OPTIONS] = ir.DictAttr.get({MULTI_OUTPUT: ir.ArrayAttr.get([])})


def test_jit_compiles_without_a_pipeline_that_sets_an_option_of_another_kind():
    with pytest.warns(JxcWarning, match="expected a text, a boolean or an integer"):
        found = jxc.jit(chain, pipeline=wrong_kind)(X)
    for one, other in zip(found, jax.jit(chain)(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("value", ["1.5 : f32", "[1]"])
def test_compile_refuses_an_option_of_another_kind(value):
    text = str(jxc.lower(chain, X).module)
    head, _, rest = text.partition("attributes {")
    module = f"{head}attributes {{{XLA_OPTIONS} = {{{MULTI_OUTPUT} = {value}}}, {rest}"
    expected = f"expected a text, a boolean or an integer for {MULTI_OUTPUT}"
    parsed = read_module(module.encode(), make_context(), name="m.mlir")
    with pytest.raises(JxcError, match=expected):
        lowered_from_module(parsed).compile()

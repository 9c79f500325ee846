"""A fixture that runs a text as a test module under pytest with the plugin of jxc."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jxc.testing import check_budget, check_text
from jxc.testing.marker import MarkedTest

HEAD = """
import jax
import jax.numpy as jnp
import pytest

def wave(x):
    return jnp.sin(x) * 2

X = jax.ShapeDtypeStruct((8,), jnp.float32)

"""


@pytest.fixture(scope="module")
def everything_imported():
    """Import everything before pytester records `sys.modules`: MLIR cannot be imported twice."""
    for stage in ("jaxpr", "stablehlo", "hlo-before", "hlo"):
        check_text(
            jnp.sin, jnp.ones(8), stage=stage, pipeline="O2", checks="CHECK: {{sin|poly|mul}}"
        )
    check_budget(jnp.sin, jnp.ones(8), max_flops=1000, max_collectives=0, forbid="f64,sort")
    with MarkedTest([((), {"max_compiles": 2, "eager": True, "max_ops": 9})]):
        jax.jit(lambda x: jnp.sin(x))(jnp.ones(8))


@pytest.fixture
def run(everything_imported, pytester, monkeypatch):
    """A function that runs a text as a test module, and returns pytest's result."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text, *flags):
        pytester.makepyfile(HEAD + text)
        return pytester.runpytest_inprocess("-p", "jxc.testing.plugin", "--strict-markers", *flags)

    return run


def fails(result, *lines):
    """Expect one failed test, and these lines in pytest's output."""
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{line}*" for line in lines])

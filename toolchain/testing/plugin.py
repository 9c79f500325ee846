"""The pytest plugin: the fixture `jxc` and the marker `@pytest.mark.jxc(...)`.

pytest loads this module wherever jxc is installed. It imports neither jax nor MLIR until a test
uses the fixture or the marker.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from typing import Any

import pytest

_MARKER = (
    "jxc(compiles=N, max_compiles=N, max_ops=N, max_collectives=N, max_flops='2e12', "
    "max_memory='12GiB', max_temporaries='1GiB', forbid='f64,all-gather', eager=False): "
    "budgets for the programs that JAX compiles in the test, counted as if JAX's caches were empty "
    "when it starts; the budgets are those of jxc.testing.check_budget"
)


class JxcFixture:
    """The value of the fixture `jxc`: the names of the package, `check_text` and `check_budget`."""

    def __getattr__(self, name: str) -> Any:
        home = "jxc.testing" if name in ("check_text", "check_budget") else "jxc"
        return getattr(importlib.import_module(home), name)


@pytest.fixture(name="jxc")
def jxc_fixture() -> JxcFixture:
    """The package jxc, with `check_text` and `check_budget`.

    def test_step(jxc):
        jxc.check_text(step, x, checks="CHECK: stablehlo.dot_general")
        with jxc.assert_compiles(0):
            step(x)
    """
    return JxcFixture()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare JAX for marked tests before the first test compiles anything."""
    if any(item.get_closest_marker("jxc") for item in session.items):
        from .marker import test_context

        test_context()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record what a marked test compiles, and fail the test if that exceeds its budgets."""
    markers = list(item.iter_markers("jxc"))
    if not markers:
        return (yield)
    from .marker import MarkedTest

    marks = [(mark.args, dict(mark.kwargs)) for mark in reversed(markers)]
    test = _result_or_fail(lambda: MarkedTest(marks))
    with test:
        result = yield
    _result_or_fail(test.check)
    return result


def _result_or_fail(call: Callable[[], Any]) -> Any:
    """Return what `call` returns; a `JxcError` fails the test with its message, not a traceback."""
    from ..errors import JxcError

    try:
        return call()
    except JxcError as error:
        message = str(error)
    return pytest.fail(f"@pytest.mark.jxc: {message}", pytrace=False)

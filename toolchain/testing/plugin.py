"""The pytest plugin: the fixture `jxc` and the marker `@pytest.mark.jxc(...)`.

It is loaded in every pytest where jxc is installed: nothing here imports jax or MLIR, or does
anything, before a test asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from typing import Any

import pytest

_MARKER = (
    "jxc(compiles=N, max_compiles=N, max_ops=N, max_collectives=N, max_flops='2e12', "
    "max_memory='12GiB', max_temporaries='1GiB', forbid='f64,all-gather', eager=False): "
    "budgets on the programs that the test makes JAX compile; see jxc.testing.check_budget"
)


class Tools:
    """What the fixture `jxc` gives: the names of the package, and checks that fail a test."""

    def __getattr__(self, name: str) -> Any:
        home = "jxc.testing" if name in ("check_text", "check_budget") else "jxc"
        return getattr(importlib.import_module(home), name)


@pytest.fixture(name="jxc")
def jxc_fixture() -> Tools:
    """The package jxc, with `check_text` and `check_budget`.

    def test_step(jxc):
        jxc.check_text(step, x, checks="CHECK: stablehlo.dot_general")
        with jxc.assert_compiles(0):
            step(x)
    """
    return Tools()


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Record what a marked test compiles, and fail it where that exceeds its budgets."""
    markers = list(item.iter_markers("jxc"))
    if not markers:
        return (yield)
    from .marker import Watch

    watch = _or_fail(lambda: Watch([(mark.args, dict(mark.kwargs)) for mark in reversed(markers)]))
    with watch:
        result = yield
    _or_fail(watch.check)
    return result


def _or_fail(act: Callable[[], Any]) -> Any:
    """What `act` gives; a budget that is wrong, or exceeded, fails the test in a sentence."""
    from ..errors import JxcError

    try:
        return act()
    except JxcError as error:
        wrong = str(error)
    return pytest.fail(f"@pytest.mark.jxc: {wrong}", pytrace=False)

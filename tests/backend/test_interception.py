"""Functions of JAX that jxc replaces: the order of interceptors, and their removal."""

from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import jxc
from jxc.backend import _private, interception
from jxc.errors import JxcError


@pytest.fixture
def compiler(monkeypatch):
    """A module with one function, registered as the interception point "test"."""
    module = SimpleNamespace(__name__="compiler", compile_=lambda *args, **kwargs: [args, kwargs])
    monkeypatch.setitem(_private.POINTS, "test", (module, "compile_"))
    yield module
    interception._points.pop("test", None)


def recording_name(name, calls):
    def intercept(proceed, *args, **kwargs):
        calls.append(name)
        return proceed(*args, **kwargs)

    return {"test": intercept}


def test_the_last_installed_interceptor_runs_outermost_and_any_order_of_removal_restores(compiler):
    original, calls = compiler.compile_, []
    first, second = recording_name("first", calls), recording_name("second", calls)
    interception.install(first)
    interception.install(second)
    assert compiler.compile_(1, two=2) == [(1,), {"two": 2}]
    assert calls == ["second", "first"]
    interception.uninstall(first)
    compiler.compile_()
    assert calls == ["second", "first", "second"]
    interception.uninstall(second)
    assert compiler.compile_ is original


def test_a_wrapper_of_another_package_stays_and_passes_through_afterwards(compiler):
    calls = []
    interceptor = recording_name("jxc", calls)
    interception.install(interceptor)
    ours = compiler.compile_
    compiler.compile_ = theirs = lambda *args: ours(*args)
    interception.uninstall(interceptor)
    assert compiler.compile_ is theirs and compiler.compile_(1) == [(1,), {}] and not calls
    interception.install(interceptor)
    compiler.compile_(2)
    assert calls == ["jxc"]


def test_install_rejects_a_jax_without_the_function_and_changes_nothing(monkeypatch):
    missing = (_private.POINTS["compile"][0], "no_such_function")
    monkeypatch.setitem(_private.POINTS, "missing", missing)
    before = [getattr(*point) for point in _private.POINTS.values() if point != missing]
    with pytest.raises(JxcError, match=r"no jax\._src\.compiler\.no_such_function"):
        interception.install({"compile": print, "missing": print})
    assert before == [getattr(*point) for point in _private.POINTS.values() if point != missing]


def test_compiled_by_applies_to_one_module_only():
    lowered = jax.jit(lambda x: x + 1).lower(np.ones(3))
    other = jax.jit(lambda x: x + 2).lower(np.ones(3))
    compiled = []

    def compile_(plain):
        compiled.append(plain())
        return compiled[0]

    with interception.compiled_by(lowered.compiler_ir("stablehlo"), compile_):
        assert other.compile()(np.ones(3))[0] == 3 and not compiled
        assert lowered.compile()(np.ones(3))[0] == 2
    assert len(compiled) == 1


def returned_location() -> str:
    module = jax.jit(lambda x: x).lower(np.float32(1)).compiler_ir()
    (main,) = (op for op in module.body.operations if op.name.value == "main")
    return str(list(main.body.blocks[0].operations)[-1].location)


@pytest.mark.parametrize("block", [lambda: jxc.use("O1"), jxc.explain])
def test_locations_of_modules_have_no_frame_of_jxc(block):
    plain = returned_location()
    with block():
        found = returned_location()
    assert "returned_location" in found
    assert str(Path(jxc.__file__).parent) not in found
    assert found.count("callsite") == plain.count("callsite")

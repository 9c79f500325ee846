"""What the linter's findings are said to cost, and that it keeps quiet where nothing is gained."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc import source
from jxc.backend.targets import find_target
from jxc.tools.doctor import Finding, all_checks, measure, program_of
from jxc.tools.report.report import read_optimised

PROGRAMS = Path(__file__).parent / "programs"


def settle(v: Any) -> Any:
    def body(c: Any, _: Any) -> Any:
        return jnp.tanh(c @ c.T) * 0.5, None

    return lax.scan(body, v, None, length=500)[0]


def tiny_loops(target: str, compiled: Any = None) -> list[Finding]:
    program = program_of(jxc.lower(settle, jnp.ones((8, 8))), "cpu", may_compile=True)
    if compiled is not None:
        object.__setattr__(program, "target", find_target(target))
        program.__dict__["compiled"] = compiled
    return all_checks()["tiny-loop-body"].run(program)


def test_a_loop_of_tiny_kernels_is_slow_on_a_gpu_and_not_on_a_cpu() -> None:
    """XLA:CPU starts a kernel in a tenth of a microsecond, and unrolling gains nothing there."""
    text = (PROGRAMS / "tiny_loop.gpu.hlo").read_text()
    (each,) = tiny_loops("gpu:h100", read_optimised(text, find_target("gpu:h100")))
    assert "each of 500 turns starts 3 kernels" in each.message
    assert each.cost.calls == 1500
    assert tiny_loops("cpu") == []


def shifted(x: Any, table: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") + table


def test_what_is_timed_runs_on_the_arguments_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random ones may be slower by far: they overflow, or become tiny."""
    seen = []

    def times(plain: Any, ours: Any) -> Any:
        seen.append([np.asarray(call()).max() for call in (plain, ours)])
        return [4e-3, 4e-3], [1e-3, 1e-3]

    monkeypatch.setattr(measure, "_times", times)
    x, table = jnp.full((4, 64, 64, 32), 7.0), jnp.full(32, 1000.0)
    (each,) = jxc.doctor(shifted, x, table, only=["slow-on-target"])
    assert seen == [[1007.0, 1007.0]]
    assert str(each.cost) == "3 ms (of 0.004 s a run, measured on the arguments given)"
    types = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in (x, table)]
    (each,) = jxc.doctor(shifted, *types, only=["slow-on-target"])
    assert "measured on random arguments" in str(each.cost)


def test_what_a_process_of_its_own_compiled_can_be_called() -> None:
    """So that plain XLA compiles a program once, to be looked at and to be timed."""
    program = program_of(jxc.lower(shifted, *_types()), "cpu", may_compile=True)
    made = measure.callable_here(program.lowered, program.compiled.build)
    x = np.arange(4 * 64 * 64 * 32, dtype=np.float32).reshape(4, 64, 64, 32)
    np.testing.assert_array_equal(made(x, x[0, 0, 0]), jax.jit(shifted)(x, x[0, 0, 0]))


def _types() -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((4, 64, 64, 32), (32,))]


def test_time_is_taken_once_both_are_warm() -> None:
    """The first call sets up much that no other does, and must not count."""
    calls = {"plain": 0, "ours": 0}

    def caller(name: str) -> Any:
        def call() -> Any:
            calls[name] += 1
            return jnp.zeros(1)

        return call

    plain, ours = measure._times(caller("plain"), caller("ours"))
    assert len(plain) == len(ours) >= 2
    assert min(calls.values()) >= 4


def averaged(old: Any, new: Any) -> Any:
    return jax.tree.map(lambda w, v: 0.9 * w + 0.1 * v, old, new)


def trained(old: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        return (jnp.tanh(jnp.tanh(x @ weights["a"]) @ weights["b"]) ** 2).sum()

    return jax.tree.map(lambda w, g: w - 0.1 * g, old, jax.grad(loss)(old))


def test_what_a_donation_saves_is_not_overstated() -> None:
    """Where results are written last, XLA keeps temporaries in their memory before."""
    square = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
    weights = {"a": square, "b": square}
    only = ["donation-possible"]
    (each,) = jxc.doctor(averaged, weights, weights, only=only)
    assert str(each.cost) == "8 MiB (of 24 MiB at the peak)"
    (each,) = jxc.doctor(trained, weights, square, only=only)
    assert str(each.cost).startswith("8 MiB (at most, of ")
    assert "XLA keeps temporaries" in str(each.cost)
    (each,) = jxc.doctor(trained, weights, square, only=only, compile=False)
    assert str(each.cost) == "8 MiB (at most, by the shapes)"


def norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def test_a_gradient_of_a_loop_is_told_at_the_loop() -> None:
    """What is around the loop is alike, so that its equations may count as a part of it."""

    def loss(layers: Any, x: Any) -> Any:
        for w in layers:
            x = x + jnp.tanh(norm(x) @ w)
        return norm(x).sum()

    layers = [jnp.ones((16, 16)) for _ in range(12)]
    found = jxc.doctor(jax.grad(loss), layers, jnp.ones((4, 16)), compile=False)
    assert [(each.name, each.place.text) for each in found if each.place] == [
        ("unrolled-layers", "for w in layers:")
    ]


LIBRARY = """
import jax.numpy as jnp


def guarded(fn):
    def call(*args):
        return fn(*args)

    return call


@guarded
def layer(x):
    y = jnp.tanh(x * 2)
    y = y - jnp.exp(-x) * x
    return x + y


def network(x):
    for _ in range(30):
        x = layer(x)
    return x
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that lies where installed packages do, for as long as a test runs."""
    folder = tmp_path / "installed"
    (folder / "nets").mkdir(parents=True)
    file = folder / "nets" / "layers.py"
    file.write_text(LIBRARY)
    monkeypatch.setattr(source, "_library_folders", lambda: (f"{folder.resolve()}/",))
    module = ModuleType("nets_layers")
    monkeypatch.setitem(sys.modules, "nets_layers", module)
    exec(compile(LIBRARY, str(file), "exec"), vars(module))
    return module


def test_a_librarys_loop_is_told_where_it_takes_seconds(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forward(x: Any) -> Any:
        return library.network(x).sum()

    program = program_of(jxc.lower(forward, jnp.ones(8)), "cpu", may_compile=False)
    check = all_checks()["unrolled-layers"]
    monkeypatch.setattr(type(program), "compile_seconds", 20.0)
    (each,) = check.run(program)
    assert "(in nets/layers.py:20)" in each.message, "the loop, not what its layers go through"
    assert "jax_compilation_cache_dir" in each.fix and "stack" not in each.fix
    monkeypatch.setattr(type(program), "compile_seconds", 2.0)
    assert check.run(program) == []

"""The check `unrolled-layers`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jxc
from jxc import source
from jxc.tools.doctor import all_checks, program_of

from .doctoring import f32, findings_of, names_of, source_line


def block(x: Any, p: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return x + jnp.tanh(y @ p["w"] + p["b"]) * jax.nn.sigmoid(y @ p["w"])


LAYERS = [{"w": f32(16, 16), "b": f32(16)} for _ in range(12)]


def test_unrolled_layers_reports_python_loop() -> None:
    def network(layers: Any, x: Any) -> Any:
        for p in layers:
            x = block(x, p)
        return x

    (each,) = findings_of(network, LAYERS, f32(4, 16))
    assert each.name == "unrolled-layers"
    assert "12 times in a row" in each.message
    assert source_line(each) == "for p in layers:"
    gradient = jax.grad(lambda layers, x: network(layers, x).sum())
    assert names_of(gradient, LAYERS, f32(4, 16)) == ["unrolled-layers"]
    assert names_of(network, LAYERS[:3], f32(4, 16)) == []


def test_unrolled_layers_ignores_dense_connections_vmaps_and_scans() -> None:
    def sparse(layers: Any, x: Any) -> Any:  # each layer reads all previous layers
        seen = [x]
        for p in layers:
            seen.append(block(sum(seen), p))
        return seen[-1]

    def apart(layers: Any, x: Any) -> Any:  # independent: could be a vmap, but not a scan
        return [block(x, p) for p in layers]

    stacked = jax.tree.map(lambda leaf: f32(12, *leaf.shape), LAYERS[0])
    scanned = partial(lax.scan, lambda x, p: (block(x, p), None))
    assert names_of(sparse, LAYERS, f32(4, 16)) == []
    assert names_of(apart, LAYERS, f32(4, 16)) == []
    assert names_of(scanned, f32(4, 16), stacked) == []


def norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def test_unrolled_layers_reports_gradient_at_loop() -> None:
    """The equations around the loop are similar, and may be counted as part of it."""

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
    """A temporary module in a folder of installed packages."""
    folder = tmp_path / "installed"
    (folder / "nets").mkdir(parents=True)
    file = folder / "nets" / "layers.py"
    file.write_text(LIBRARY)
    monkeypatch.setattr(source, "_library_folders", lambda: (f"{folder.resolve()}/",))
    module = ModuleType("nets_layers")
    monkeypatch.setitem(sys.modules, "nets_layers", module)
    exec(compile(LIBRARY, str(file), "exec"), vars(module))
    return module


def test_unrolled_layers_reports_library_loop_if_it_takes_seconds(
    library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forward(x: Any) -> Any:
        return library.network(x).sum()

    program = program_of(jxc.lower(forward, jnp.ones(8)), "cpu", may_compile=False)
    check = all_checks()["unrolled-layers"]
    monkeypatch.setattr(type(program), "compile_seconds", 20.0)
    (each,) = check.run(program)
    assert "(in nets/layers.py:20)" in each.message, (
        "the line of the loop, not a line inside its layers"
    )
    assert "jax_compilation_cache_dir" in each.fix and "stack" not in each.fix
    monkeypatch.setattr(type(program), "compile_seconds", 2.0)
    assert check.run(program) == []

"""`simplify` on lowered JAX programs converges, keeps every bit, and removes ops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jaxlib.mlir import ir

import jxc
from jxc.check import compare_modules
from jxc.ir import clone_module, count_ops, make_context, read_module
from jxc.pipeline import PipelineReport, make_pipeline, our_passes, run_pipeline
from jxc.rewrite import PassContext, exact

from .corpus import PROGRAMS, lowered_text


def _run(module: ir.Module, pipeline: str) -> PipelineReport:
    return run_pipeline(module, make_pipeline(pipeline), PassContext())


@pytest.mark.parametrize("name", PROGRAMS)
def test_simplify_keeps_every_bit_of_programs(name: str) -> None:
    before = read_module(lowered_text(name), make_context())
    _run(before, "inline")
    after = clone_module(before)
    _run(after, "simplify")
    assert count_ops(after) <= count_ops(before)
    assert not _run(after, "simplify").hits, "a second run must change nothing"
    report = compare_modules(before, after)
    assert report.agrees, str(report)


def test_simplify_makes_most_programs_smaller() -> None:
    sizes = []
    for name in PROGRAMS:
        module = read_module(lowered_text(name), make_context())
        _run(module, "inline")
        before = count_ops(module)
        _run(module, "simplify")
        sizes.append((before, count_ops(module)))
    smaller = [after < before for before, after in sizes]
    assert sum(smaller) > 0.8 * len(sizes)


def test_rules_of_simplify_are_exact_and_have_docstrings() -> None:
    (simplify,) = [found for found in our_passes() if found.name == "simplify"]
    assert len(simplify.rules) >= 30
    assert all(rule.contract == exact for rule in simplify.rules)
    assert all("->" in rule.doc for rule in simplify.rules)


def test_simplify_keeps_symbolic_dimensions_valid() -> None:
    def f(x):
        y = jnp.swapaxes(jnp.swapaxes(x, 0, 1), 0, 1) * 1.0
        y = jnp.concatenate([y[:1], y[1:]])
        return jnp.pad(y, 1)[1:, 1:].reshape(-1) + jnp.where(True, 0.0, 1.0)

    (shape,) = [export.symbolic_shape("b, 8")]
    text = export.export(jax.jit(f))(jax.ShapeDtypeStruct(shape, np.float32)).mlir_module()
    module = read_module(text, make_context())
    assert "?" in str(module)
    report = _run(module, "inline,simplify")
    assert report.hits


@pytest.mark.parametrize("start", [0, 100, 200, 255])
def test_dynamic_slice_to_slice_reads_unsigned_starts(start: int) -> None:
    """XLA and the reference interpreter read a constant uint8 above 127 as negative."""
    x = np.arange(256, dtype=np.int32)

    def f(x):
        return lax.dynamic_slice(x, (np.uint8(start),), (1,))

    module = read_module(jax.jit(f).lower(x).as_text(), make_context())
    report = _run(module, "inline,simplify")
    if "dynamic_slice" in jax.jit(f).lower(x).as_text():
        assert report.hits["dynamic-slice-to-slice"] == 1
    compiled = _call(module, x)
    assert compiled.tolist() == [start]


def _call(module: ir.Module, *arguments: np.ndarray) -> np.ndarray:
    from jxc.check.run import run_xla

    return run_xla(module, arguments)[0]


def test_slices_of_many_updates_converge() -> None:
    def function(u):
        for i in range(1, 16):
            for j in range(1, 20):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u = lax.dynamic_update_slice(u, around[None, None], (i, j))
        return u

    text = jxc.lower(function, "f32[17,21]").opt("inline,symbol-dce,cse,simplify").as_text()
    assert text.count("stablehlo.slice %arg0 ") == text.count("stablehlo.slice ") > 0


def test_programs_of_many_constants_converge() -> None:
    lines = [f"%{i + 1} = stablehlo.add %{i}, %0 : tensor<f32>" for i in range(1040)]
    constant = "%0 = stablehlo.constant dense<1.0> : tensor<f32>"
    body = "\n".join([constant, *lines, "return %1040 : tensor<f32>"])
    module = read_module(f"func.func @main() -> tensor<f32> {{\n{body}\n}}", make_context())
    _run(module, "simplify")
    assert count_ops(module) == 1

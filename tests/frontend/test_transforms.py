"""Transforms: their text, and the lowered function compared with JAX's own transform."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jxc.frontend.lowering import lower
from jxc.frontend.transform import TransformError, parse_transform


def energy(x, y):
    return jnp.sum(jnp.sin(x) * y)


def outputs(x, y):
    return jnp.sin(x) * y, x + y


X = np.linspace(-1.0, 1.0, 4, dtype=np.float32)
Y = np.linspace(2.0, 3.0, 4, dtype=np.float32)
XS = np.stack([X, Y])


@pytest.mark.parametrize(
    ("text", "args", "reference"),
    [
        ("jit", (X, Y), energy),
        ("grad", (X, Y), jax.grad(energy)),
        ("grad(argnums=(0, 1))", (X, Y), jax.grad(energy, argnums=(0, 1))),
        ("value_and_grad(argnums=1)", (X, Y), jax.value_and_grad(energy, argnums=1)),
        ("vmap(grad, in_axes=(0, None))", (XS, Y), jax.vmap(jax.grad(energy), in_axes=(0, None))),
        ("grad(checkpoint)", (X, Y), jax.grad(energy)),
        ("hessian", (X, Y), jax.hessian(energy)),
        ("jacrev(jacfwd)", (X, Y), jax.hessian(energy)),
        ("jvp", ((X, Y), (Y, X)), lambda p, t: jax.jvp(energy, p, t)),
        ("vmap(jvp)", ((XS, XS), (XS, XS)), jax.vmap(lambda p, t: jax.jvp(energy, p, t))),
        ("pmap", (XS[:1], XS[:1]), jax.vmap(energy)),
    ],
)
def test_transformed_function_equals_jax(text, args, reference):
    compiled = lower(energy, args, transform=text).lowered.compile()
    jax.tree.map(
        lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-6),
        compiled(*args),
        reference(*args),
    )


def test_vjp_gives_outputs_and_the_cotangents_of_the_primals():
    cotangents = (Y, X)
    found, pulled = lower(outputs, ((X, Y), cotangents), transform="vjp").lowered.compile()(
        (X, Y), cotangents
    )
    expected, pull_back = jax.vjp(outputs, X, Y)
    for ours, theirs in zip((*found, *pulled), (*expected, *pull_back(cotangents)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_outermost_jit_keeps_donation():
    lowering = lower(lambda x: x + 1, (X,), transform="jit(donate_argnums=0)")
    assert jax.tree.leaves(lowering.lowered.args_info)[0].donated


@pytest.mark.parametrize(
    "text",
    [
        "jit",
        "vmap(grad(argnums=0), in_axes=(None, 0))",
        "checkpoint(policy='dots_saveable')",
        "vmap(vmap(in_axes={'a': None}), axis_name='i')",
    ],
)
def test_a_transform_prints_as_it_is_written(text):
    assert str(parse_transform(text)) == text


def test_parse_transform_accepts_other_spellings():
    assert str(parse_transform("jax.vmap(jax.remat())")) == "vmap(checkpoint)"


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", 1, "invalid syntax"),
        ("grd", 1, "expected a transform, found 'grd'. Did you mean 'grad'?"),
        ("vmap(0)", 6, "expected a transform, found '0'. Known: jit, grad"),
        ("grad()()", 1, "expected a transform, found 'grad()'"),
        ("vmap(grad, 0)", 12, "expected keyword arguments after what vmap is applied to"),
        ("jit(static_argnum=0)", 5, "jit takes no argument 'static_argnum'. Did you mean"),
        ("vmap(**k)", 6, "vmap takes no argument"),
        ("vmap(in_axes=x)", 14, "expected a number, string, tuple or dict for in_axes, found 'x'"),
    ],
)
def test_transform_error_names_the_column(text, column, expected):
    with pytest.raises(TransformError) as caught:
        parse_transform(text)
    assert str(caught.value).startswith(f"--transform, column {column}: {expected}")

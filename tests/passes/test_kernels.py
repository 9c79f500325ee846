"""The pass `kernels`: the kernels in interpret mode, and the programs in which they are called.

The results of the kernels are compared with numpy in f64. In the tests of programs a function of
plain JAX stands for the kernels, since those of TPU and GPU do not run here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.passes.kernels import attention, cost, grouped
from jxc.passes.kernels.flash import on_gpu, on_tpu

LOWEST = np.finfo(np.float32).min


def expected(q: Any, k: Any, v: Any, do: Any, scale: float, causal: bool) -> list[np.ndarray]:
    """Attention and its gradient in f64."""
    q, k, v, do = (np.asarray(each, np.float64) for each in (q, k, v, do))
    scores = np.einsum("bhsd,bhtd->bhst", q, k) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = np.einsum("bhsd,bhtd->bhst", do, v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return [
        np.einsum("bhst,bhtd->bhsd", p, v),
        np.einsum("bhst,bhtd->bhsd", ds, k),
        np.einsum("bhst,bhsd->bhtd", ds, q),
        np.einsum("bhst,bhsd->bhtd", p, do),
    ]


def with_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the arguments and a cotangent: the result and the gradients."""

    def both(*arguments: Any) -> Any:
        result, pullback = jax.vjp(f, *arguments[:-1])
        return result, *pullback(arguments[-1])

    return both


def normal(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    draw = np.random.default_rng(0).standard_normal
    return [jnp.asarray(draw(shape), dtype) for shape in shapes]


# The kernels


@pytest.mark.parametrize(
    ("kernel", "dtype", "causal", "keys", "bound"),
    [
        (on_tpu, np.float32, True, 384, 2e-6),
        (on_tpu, jnp.bfloat16, False, 128, 1e-2),
        (on_gpu, np.float32, True, 384, 2e-6),
    ],
)
def test_kernels_in_interpret_mode(
    kernel: Callable[..., Any], dtype: Any, causal: bool, keys: int, bound: float
) -> None:
    """Several blocks, forward and backward; `bound` is relative to the largest element."""
    queries, others = (1, 1, 384, 32), (1, 1, keys, 32)
    arguments = normal(queries, others, others, queries, dtype=dtype)
    options = {"interpret": True} if kernel is on_gpu else {}

    def run(q: Any, k: Any, v: Any) -> Any:
        return kernel(q, k, v, 0.2, causal=causal, **options)

    with pltpu.force_tpu_interpret_mode() if kernel is on_tpu else nullcontext():
        found = with_gradient(run)(*arguments)
    for got, want in zip(found, expected(*arguments, 0.2, causal), strict=True):
        assert np.abs(np.asarray(got, np.float64) - want).max() <= bound * np.abs(want).max()


# Programs. The arguments are [b,s,h,d] or [b,h,s,d] of 2, 256, 3, 16.


def weighted(scores: Any, v: Any) -> Any:
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v)


def seen(scores: Any) -> Any:
    return jnp.tril(jnp.ones(scores.shape[-2:], bool))


def divided(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / 3.0
    return weighted(jnp.where(seen(scores), scores, -jnp.inf), v)


def multiplied(q: Any, k: Any, v: Any) -> Any:
    """[b,h,s,d]"""
    scores = q @ k.swapaxes(-1, -2) * 0.3
    return jax.nn.softmax(jnp.where(seen(scores), scores, -jnp.inf)) @ v


def of_flax(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("...qhd,...khd->...hqk", q / 4.0, k)
    mask = seen(scores).astype(jnp.float32)[None, None]
    return weighted(jnp.where(mask, scores, jnp.finfo(jnp.float32).min), v)


def of_transformers(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("...qhd,...khd->...hqk", q * 0.25, k)
    mask = seen(scores)[None, None].astype(jnp.int32)
    bias = jax.lax.select(mask > 0, jnp.zeros(mask.shape), jnp.full(mask.shape, LOWEST))
    return weighted(scores + bias, v)


def of_jax(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


def of_jax_to_all(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, implementation="xla")


def to_all(q: Any, k: Any, v: Any) -> Any:
    return weighted(jnp.einsum("bshd,bthd->bhst", q, k), v)


def to_all_divided(q: Any, k: Any, v: Any) -> Any:
    return weighted(jnp.einsum("bshd,bthd->bhst", q, k) / 5.0, v)


def mapped(q: Any, k: Any, v: Any) -> Any:
    def one(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.where(jnp.tril(jnp.ones((256, 256), bool)), q @ k.T * 0.3, -jnp.inf)
        return jax.nn.softmax(scores) @ v

    return jax.vmap(jax.vmap(one, in_axes=1, out_axes=1))(q, k, v)


FORMS = [divided, of_flax, of_transformers, of_jax, of_jax_to_all, to_all, to_all_divided]
FORMS += [mapped, multiplied]
SHAPES: dict[Callable[..., Any], tuple[int, ...]] = {multiplied: (2, 3, 256, 16)}


def reference(q: Any, k: Any, v: Any, scale: float, *, causal: bool) -> Any:
    """Stands for the kernels. As they do, it keeps no scores for the gradient."""

    @jax.checkpoint
    def run(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bhsd,bhtd->bhst", q, k, preferred_element_type=np.float32)
        unseen = jnp.triu(jnp.full(scores.shape[-2:], -1e30 if causal else 0.0), 1)
        p = jax.nn.softmax((scores * scale + unseen).astype(np.float32))
        return jnp.einsum("bhst,bhtd->bhsd", p, v.astype(np.float32)).astype(q.dtype)

    return run(q, k, v)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that run here, from 256 positions on."""
    for module in (attention, grouped):
        monkeypatch.setattr(module, "on_tpu", reference)
        monkeypatch.setattr(module, "on_gpu", reference)
    monkeypatch.setattr(cost, "LEAST_POSITIONS", {"tpu": 128, "gpu": 128})


def rewritten(
    f: Callable[..., Any], arguments: Any, target: str, pipeline: str = "kernels"
) -> tuple[dict[str, int], Any]:
    """How often each replacement applied, and the program after the pass."""
    made = jxc.lower(f, *arguments).opt(pipeline, target=target)
    assert made.report is not None
    return {rule: count for rule, count in made.report.hits.items() if count}, made.module


def check(f: Callable[..., Any], arguments: Any, target: str, rule: str, bound: float) -> None:
    hits, module = rewritten(f, arguments, target)
    assert hits == {rule: 1}
    assert "256x256" not in str(next(iter(module.body.operations))), "no scores in @main"
    found = lowered_from_module(module).compile()(*arguments)
    for got, want in zip(found, jax.tree.leaves(jax.jit(f)(*arguments)), strict=True):
        error = np.abs(np.asarray(got, np.float64) - np.asarray(want, np.float64)).max()
        assert error <= bound * np.abs(np.asarray(want, np.float64)).max()


def rule_of(form: Callable[..., Any]) -> str:
    return "attention" if "to_all" in form.__name__ else "causal-attention"


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_attention(small: None, form: Callable[..., Any]) -> None:
    """Forward, and forward with the gradient."""
    arguments = normal(*[SHAPES.get(form, (2, 256, 3, 16))] * 4)
    check(form, arguments[:3], "tpu:v5e", rule_of(form), 1e-5)
    check(with_gradient(form), arguments, "gpu:h100", rule_of(form), 1e-5)


@pytest.mark.parametrize("form", [of_jax, of_jax_to_all])
def test_attention_of_jax_in_bf16(small: None, form: Callable[..., Any]) -> None:
    arguments = normal(*[(2, 256, 3, 16)] * 4, dtype=jnp.bfloat16)
    check(with_gradient(form), arguments, "tpu:v5e", rule_of(form), 2e-2)


@pytest.mark.parametrize("form", [of_jax, of_jax_to_all])
def test_grouped_heads(small: None, form: Callable[..., Any]) -> None:
    queries, keys = (2, 256, 6, 16), (2, 256, 2, 16)
    arguments = normal(queries, keys, keys, queries)
    check(with_gradient(form), arguments, "tpu:v5e", f"grouped-{rule_of(form)}", 1e-5)


def test_one_replacement_by_name(small: None) -> None:
    arguments = normal(*[(2, 256, 3, 16)] * 3)
    assert rewritten(of_jax, arguments, "tpu:v5e", "attention")[0] == {}
    assert rewritten(of_jax, arguments, "tpu:v5e", "causal-attention")[0] == {"causal-attention": 1}


def weights_too(q: Any, k: Any, v: Any) -> Any:
    p = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k))
    return jnp.einsum("bhst,bthd->bshd", p, v), p


def with_dropout(q: Any, k: Any, v: Any) -> Any:
    p = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k))
    kept = jax.random.bernoulli(jax.random.key(0), 0.9, p.shape)
    return jnp.einsum("bhst,bthd->bshd", jnp.where(kept, p, 0), v)


def with_small_mask(q: Any, k: Any, v: Any) -> Any:
    """Scores below -100 would count."""
    scores = jnp.einsum("bshd,bthd->bhst", q, k)
    return weighted(jnp.where(seen(scores), scores, -100.0), v)


def before_only(q: Any, k: Any, v: Any) -> Any:
    """Each query sees the keys before it, not its own."""
    scores = jnp.einsum("bshd,bthd->bhst", q, k)
    unmasked = jnp.tril(jnp.ones(scores.shape[-2:], bool), -1)
    return weighted(jnp.where(unmasked, scores, -1e30), v)


def at_highest_precision(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bshd,bthd->bhst", q, k, precision="highest")
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v, precision="highest")


@pytest.mark.parametrize(
    "form", [weights_too, with_dropout, with_small_mask, before_only, at_highest_precision]
)
def test_other_programs_keep_their_attention(small: None, form: Callable[..., Any]) -> None:
    assert rewritten(form, normal(*[(2, 256, 3, 16)] * 3), "tpu:v5e")[0] == {}


@pytest.mark.parametrize(
    ("target", "shape"),
    [
        ("cpu", (1, 1024, 1, 64)),
        ("tpu:v5e", (1, 512, 1, 64)),  # too short
        ("tpu:v5e", (1, 1100, 1, 64)),  # not a multiple of a block
        ("gpu:h100", (1, 1024, 1, 256)),  # too many features
    ],
)
def test_shapes_without_a_kernel(target: str, shape: tuple[int, ...]) -> None:
    arguments = [jax.ShapeDtypeStruct(shape, np.float32)] * 3
    assert rewritten(to_all, arguments, target)[0] == {}

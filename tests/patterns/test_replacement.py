"""Replacements written in JAX: what is found, what is not, and that values are kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.errors import JxcError
from jxc.rewrite import collect_remarks


@jxc.replacement(
    jxc.reassociates,
    q="f32|bf16[b,h,s,d]",
    k="f32|bf16[b,h,t,d]",
    v="f32|bf16[b,h,t,e]",
    scale=float,
)
def attention(q, k, v, scale):
    """softmax(q k^T scale) v -> the same with the division last."""
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) * scale) @ v


@attention.search(scale=1.0)
def attention_without_scale(q, k, v):
    return jax.nn.softmax(q @ k.swapaxes(-1, -2)) @ v


@attention.by
def late_division(q, k, v, scale):
    assert q.ndim == k.ndim == v.ndim == 4
    logits = jnp.einsum("bhsd,bhtd->bhst", q, k) * scale
    weights = jnp.exp(logits - logits.max(-1, keepdims=True))
    return jnp.einsum("bhst,bhte->bhse", weights, v) / weights.sum(-1)[..., None]


def heads_first(q, k, v):
    return jax.nn.softmax(q @ k.swapaxes(-1, -2) * 0.125) @ v


def heads_third(q, k, v):
    logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) * 0.125
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits), v)


def grouped(q, k, v):
    b, s, h, d = q.shape
    q = q.reshape(b, s, k.shape[2], h // k.shape[2], d)
    weights = jax.nn.softmax(jnp.einsum("bqhgd,bkhd->bhgqk", q, k) * 0.25)
    return jnp.einsum("bhgqk,bkhd->bqhgd", weights, v).reshape(b, s, h, -1)


def layers(q, k, v):
    return jax.lax.scan(lambda x, _: (heads_first(x, k, v), None), q, None, length=3)[0]


FIRST, THIRD = [(2, 4, 16, 8)] * 3, [(2, 16, 4, 8), (2, 32, 4, 8), (2, 32, 4, 8)]
GROUPED = [(2, 16, 4, 8), (2, 32, 2, 8), (2, 32, 2, 8)]


def values(shapes, dtype=jnp.float32):
    random = np.random.RandomState(0)
    return [jnp.asarray(random.randn(*shape), dtype) for shape in shapes]


def applied(function, arguments, replacement):
    """How often it was replaced, and whether the program gives the values of plain JAX."""
    program = jxc.lower(function, *arguments).opt(replacement)
    plain = jax.tree.leaves(jax.jit(function)(*arguments))
    for one, other in zip(plain, jax.tree.leaves(program.compile()(*arguments)), strict=True):
        close = 2e-2 if one.dtype == jnp.bfloat16 else 1e-5
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=close, atol=close
        )
    return program.report.hits.get(replacement.name, 0)


def gradient(function):
    return jax.grad(lambda *arguments: (function(*arguments) ** 2).sum(), argnums=(0, 1, 2))


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        pytest.param(heads_first, FIRST, id="heads_first"),
        pytest.param(heads_first, [(16, 8)] * 3, id="one_head"),
        pytest.param(heads_third, THIRD, id="heads_third"),
        pytest.param(jax.vmap(heads_third), [(3, *shape) for shape in THIRD], id="vmap"),
        pytest.param(
            jax.vmap(heads_third, in_axes=(0, None, None)),
            [(3, *THIRD[0]), *THIRD[1:]],
            id="vmap_of_q",
        ),
        pytest.param(grouped, GROUPED, id="grouped_heads"),
        pytest.param(layers, FIRST, id="inside_scan"),
        pytest.param(lambda q, k, v: attention_plain(q, k, v), FIRST, id="without_scale"),
        pytest.param(jax.nn.dot_product_attention, THIRD, id="jax_nn"),
    ],
)
def test_attention_is_found(function, shapes):
    assert applied(function, values(shapes), attention) == 1


def attention_plain(q, k, v):
    return jax.nn.softmax(q @ k.swapaxes(-1, -2)) @ v


def test_attention_is_found_in_bf16():
    assert applied(heads_third, values(THIRD, jnp.bfloat16), attention) == 1


@pytest.mark.parametrize(
    ("function", "shapes", "hits"),
    [
        pytest.param(heads_first, FIRST, 1, id="heads_first"),
        pytest.param(heads_third, THIRD, 1, id="heads_third"),
        pytest.param(jax.vmap(heads_third), [(3, *shape) for shape in THIRD], 1, id="vmap"),
        pytest.param(jax.checkpoint(heads_third), THIRD, 2, id="checkpoint"),
        pytest.param(lambda q, k, v: heads_first(heads_first(q, k, v), k, v), FIRST, 2, id="two"),
    ],
)
def test_forward_and_gradient_are_replaced_together(function, shapes, hits):
    assert applied(gradient(function), values(shapes), attention) == hits


def test_gradient_without_a_differentiable_alternative_stays():
    @jxc.replacement(jxc.reassociates, x="f32[n,d]")
    def centred(x):
        return jnp.exp(x - x.mean(-1, keepdims=True))

    centred.by(lambda x: jnp.exp(x) / jnp.exp(x.mean(-1, keepdims=True)), differentiable=False)
    arguments = values([(6, 8)])
    assert applied(lambda x: jnp.sin(centred.function(x)), arguments, centred) == 1
    # the forward function alone is replaced: of its values only the result is used again
    assert applied(jax.grad(lambda x: jnp.sin(centred.function(x)).sum()), arguments, centred) == 1


# Programs that are nearly the pattern. Each must keep its values, whether or not it matches.


def replaced_by(search, by, **inputs):
    made = jxc.replacement(jxc.reassociates, **inputs)(search)
    return made.by(by)


def plus_transpose(x):
    return jnp.sin(x) + x.T


def test_transposed_use_of_an_argument_is_not_a_plain_one():
    found = replaced_by(plus_transpose, lambda x: x.T + jnp.sin(x), x="f32[n,n]")
    [x] = values([(6, 6)])
    assert applied(plus_transpose, [x], found) == 1
    assert applied(lambda x: jnp.sin(x) + x, [x], found) == 0
    assert applied(lambda x: jnp.sin(x.T) + x, [x], found) == 1


def test_product_with_itself_keeps_its_orientation():
    def gram(x):
        return jnp.tanh(x @ x.T)

    found = replaced_by(gram, lambda x: jnp.tanh(jnp.einsum("ik,jk->ij", x, x)), x="f32[n,d]")
    [x] = values([(6, 6)])
    assert applied(gram, [x], found) == 1
    assert applied(lambda x: jnp.tanh(x @ x), [x], found) == 0
    assert applied(lambda x: jnp.tanh(x.T @ x), [x], found) == 1


def causal(x):
    size = x.shape[-1]
    return jnp.where(jnp.arange(size)[:, None] >= jnp.arange(size)[None, :], x, -1e9)


def test_order_of_iotas_and_comparisons_counts():
    found = replaced_by(causal, lambda x: jnp.where(jnp.tri(x.shape[-1], dtype=bool), x, -1e9),
                        x="f32[b,s,s]")  # fmt: skip
    [x] = values([(3, 6, 6)])
    assert applied(causal, [x], found) == 1
    assert applied(lambda x: causal(x.swapaxes(-1, -2)), [x], found) == 1
    for other in (jnp.greater, jnp.less_equal):

        def program(x, compare=other):
            rows = jnp.arange(6)
            return jnp.where(compare(rows[:, None], rows[None, :]), x, -1e9)

        is_transposed = other is jnp.less_equal
        assert applied(program, [x], found) == is_transposed


def test_constants_must_be_equal():
    found = replaced_by(lambda x: jnp.sin(x) * 3 + 1, lambda x: 1 + 3 * jnp.sin(x), x="f32[n]")
    [x] = values([(6,)])
    assert applied(lambda x: jnp.sin(x) * 3 + 1, [x], found) == 1
    assert applied(lambda x: jnp.sin(x) * 3 + 2, [x], found) == 0


def test_size_of_an_iota_must_be_that_of_the_pattern():
    def rows(x):
        return x[:, None] * jnp.arange(8, dtype=jnp.float32)

    found = replaced_by(rows, lambda x: jnp.outer(x, jnp.arange(8, dtype=jnp.float32)), x="f32[n]")
    [x] = values([(6,)])
    assert applied(rows, [x], found) == 1
    assert applied(lambda x: x[:, None] * jnp.arange(9, dtype=jnp.float32), [x], found) == 0


def test_slices_must_be_those_of_the_pattern():
    def rotated(x):
        half = x.shape[-1] // 2
        return jnp.concatenate([-x[..., half:], x[..., :half]], -1)

    def rolled(x):
        half = x.shape[-1] // 2
        sign = jnp.where(jnp.arange(x.shape[-1]) < half, -1.0, 1.0)
        return jnp.roll(x, half, -1) * sign

    found = replaced_by(rotated, rolled, x="f32[n,d]")
    [x] = values([(3, 6, 8)])
    assert applied(rotated, [x], found) == 1
    assert applied(lambda x: rotated(x.swapaxes(0, 1)), [x], found) == 1
    for other in (
        lambda x: jnp.concatenate([-x[..., 3:], x[..., :3]], -1),
        lambda x: jnp.concatenate([x[..., 4:], -x[..., :4]], -1),
    ):
        assert applied(other, [x], found) == 0
    # along another dimension: the others are mapped over
    assert applied(lambda x: jnp.concatenate([-x[:, 3:], x[:, :3]], 1), [x], found) == 1


def test_value_used_elsewhere_stays_unless_it_is_cheap():
    def norm(x):
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    found = replaced_by(norm, lambda x: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6),
                        x="f32[n,d]")  # fmt: skip
    [x] = values([(6, 8)])

    def mean_too(x):
        mean = (x * x).mean(-1, keepdims=True)
        return x / jnp.sqrt(mean + 1e-6), mean

    assert applied(norm, [x], found) == 1
    assert applied(mean_too, [x], found) == 0
    assert applied(lambda x: (norm(x), x * x), [x], found) == 1


def test_several_results():
    def moments(x):
        mean = x.mean(-1)
        return mean, (x * x).mean(-1) - mean * mean

    found = replaced_by(moments, lambda x: (x.mean(-1), x.var(-1)), x="f32[n,d]")
    [x] = values([(6, 8)])
    assert applied(moments, [x], found) == 1
    assert applied(lambda x: moments(x)[1], [x], found) == 1
    assert applied(lambda x: (moments(x)[1] * 2, moments(x.T)[0]), values([(8, 8)]), found) == 1


def test_result_used_before_all_inputs_are_known():
    def two(x, y):
        return jnp.sin(x).sum(-1), jnp.cos(y).sum(-1) + jnp.sin(x).sum(-1)

    found = replaced_by(two, lambda x, y: two(x, y), x="f32[n,d]", y="f32[n,d]")

    def chained(x):
        first = jnp.sin(x).sum(-1)
        return jnp.cos(x * first[:, None]).sum(-1) + first

    assert applied(chained, values([(6, 8)]), found) == 0


def test_program_that_matches_nothing_is_not_changed():
    lowered = jxc.lower(lambda x: jnp.tanh(x) @ x, values([(6, 6)])[0])
    assert str(lowered.opt(attention).module) == str(lowered.module)


def test_when_and_targets_select_the_alternative():
    made = jxc.replacement(jxc.exact, x="f32[n,d]", factor=float)(
        lambda x, factor: jnp.sin(x) * factor
    )
    seen = []
    made.by(lambda x, factor: x, targets="gpu")
    made.by(lambda x, factor: x, when=lambda m: seen.append((m.d, m.n, m.factor, m.x.dtype)))
    made.by(lambda x, factor: factor * jnp.sin(x), targets="cpu, tpu")
    assert applied(lambda x: jnp.sin(x) * 0.5, values([(6, 8)]), made) == 1
    assert seen == [(8, 6, 0.5, jnp.float32)]


def squashed(q, k, v):
    return jax.nn.softmax(jnp.tanh(q @ k.swapaxes(-1, -2)) * 0.5) @ v


def test_miss_is_explained():
    with collect_remarks() as remarks:
        jxc.lower(squashed, *values(FIRST)).opt(attention)
    [remark] = remarks
    assert remark.text.startswith("9 of 13 ops match; this one is stablehlo.tanh")
    assert attention.why(jxc.lower(squashed, *values(FIRST))) == f"{remark.location}: {remark.text}"
    assert attention.why(jxc.lower(heads_first, *values(FIRST))) == ""
    assert "is stablehlo.tanh, the pattern has stablehlo.dot_general" in remark.text
    file, line, _ = remark.location.rsplit(":", 2)
    assert (file, int(line)) == (__file__, squashed.__code__.co_firstlineno + 1)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": "f33[n]"}, "no element type 'f33'"),
        ({"x": "f32"}, "expected an array such as"),
        ({"x": "f32[n,-1]"}, "'-1' is not a name or a size"),
    ],
)
def test_malformed_inputs(inputs, message):
    with pytest.raises(ValueError, match=message):
        jxc.replacement(jxc.exact, **inputs)


def test_parameters_must_be_the_inputs():
    with pytest.raises(TypeError, match="has the parameters y; expected x"):
        jxc.replacement(jxc.exact, x="f32[n]")(lambda y: y)


def test_alternative_of_another_shape_is_an_error():
    made = replaced_by(lambda x: jnp.sin(x).sum(-1), lambda x: jnp.sin(x), x="f32[n,d]")
    with pytest.raises(JxcError, match="returns tensor<6x8xf32>, the search float32\\[6\\]"):
        jxc.lower(lambda x: jnp.sin(x).sum(-1), *values([(6, 8)])).opt(made)


def test_search_that_cannot_be_traced_is_an_error():
    made = replaced_by(lambda x: x.reshape(7, 7), lambda x: x, x="f32[n]")
    with pytest.raises(JxcError, match="cannot be traced with float32"):
        jxc.lower(jnp.sin, *values([(6,)])).opt(made)


def test_constant_of_a_search_gives_the_constant_of_the_replacement():
    made = jxc.replacement(jxc.reassociates, x="f32[n,d]", factor=float, offset=float)(
        lambda x, factor, offset: jnp.sin(x) * factor + offset
    )
    made.search(divisor=float, factor=lambda m: 1 / m.divisor)(
        lambda x, offset, divisor: jnp.sin(x) / divisor + offset
    )
    made.by(lambda x, factor, offset: offset + factor * jnp.sin(x))
    [x] = values([(6, 8)])
    assert applied(lambda x: jnp.sin(x) * 3 + 5, [x], made) == 1
    assert applied(lambda x: jnp.sin(x) / 3 + 5, [x], made) == 1


def test_kernel_of_triton_is_lowered_without_a_gpu():
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    def kernel(x, y):
        y[...] = jnp.sin(x[...]) * 2

    def called(x):
        return pallas.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            grid=(),
            compiler_params=triton.CompilerParams(num_warps=1),
        )(x)

    made = replaced_by(lambda x: jnp.sin(x) * 2, called, x="f32[n]")
    lowered = jxc.lower(lambda x: jnp.sin(x) * 2, *values([(64,)]))
    module = jxc.opt(lowered.module, made, target="gpu")
    assert "triton" in str(module)


def test_constant_cotangent_is_broadcast_along_mapped_dimensions():
    """The gradient of a mean: the program has one number for all rows."""
    made = jxc.replacement(jxc.reassociates, x="f32[n,d]", i="i32[n]")(
        lambda x, i: jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], -1)[:, 0]
    )
    made.by(lambda x, i: (jax.nn.log_softmax(x) * jax.nn.one_hot(i, x.shape[-1])).sum(-1))
    [x], labels = values([(16, 8)]), np.arange(16, dtype=np.int32) % 8
    assert applied(jax.value_and_grad(lambda x, i: made(x, i).mean()), [x, labels], made) == 1


def test_dynamic_dimensions_and_tokens_are_left_alone():
    found = replaced_by(lambda x: jnp.sin(x) * 2, lambda x: 2 * jnp.sin(x), x="f32[n]")
    text = """
    func.func @main(%x: tensor<?xf32>, %t: !stablehlo.token) -> (tensor<?xf32>, !stablehlo.token) {
      %y = stablehlo.sine %x : tensor<?xf32>
      %z = stablehlo.add %y, %y : tensor<?xf32>
      %u = stablehlo.after_all %t, %t : !stablehlo.token
      return %z, %u : tensor<?xf32>, !stablehlo.token
    }"""
    assert "@main" in str(jxc.opt(text, found))
    double = replaced_by(lambda x: jnp.sin(x) + jnp.sin(x), lambda x: 2 * jnp.sin(x), x="f32[n]")
    assert "call @" not in str(jxc.opt(text, double))

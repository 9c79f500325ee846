"""Kernels as the model of fusion predicts them, and what prices decide."""

from __future__ import annotations

from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend import hook
from jxc.backend.targets import find_target
from jxc.cost.cpu_products import copies_for_dot
from jxc.cost.fusion import kernels_of
from jxc.cost.price import UNKNOWN_TRIPS
from jxc.cost.prices import Version, prices_of_unrolling, prices_of_versions
from jxc.cost.rates import Rates
from jxc.ir import clone_module, make_context, read_module
from jxc.ir.module import main_of
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext
from jxc.rewrite.remarks import collect_remarks

X = np.ones((300, 70), np.float32)


def _twice(x):
    return x.reshape(-1) * (x.reshape(-1) + 1)


PROGRAMS = {
    "elementwise": lambda x: jnp.tanh(x) * 2 + 1,
    "an expensive op of two users": lambda x: (jnp.exp(x) * 2, jnp.exp(x).T + 1),
    "a cheap op of two users": lambda x: ((x + 1) * 2, (x + 1) * 3),
    "a product between elementwise ops": lambda x: jnp.exp(x @ x.T + 1.0),
    "a sort": lambda x: jnp.sort(x * 2) + 1,
    "slices": lambda x: x[:, 1:] - x[:, :-1],
    "an exponential that is broadcast": lambda x: x * jnp.exp(x[:, :1]),
    "a sum of squares": lambda x: (x * x).sum(1),
    "a softmax": lambda x: jax.nn.softmax(x),
    "a sum of a slice": lambda x: jnp.tanh(x[:, :20]).sum(1),
    "a sum of selected elements": lambda x: jnp.where(x > 0, x, 2 * x).sum(1),
    "two sums of exponentials": lambda x: (jnp.exp(x).sum(1), jnp.exp(x).max(1)),
    "slices of a sum": lambda x: jnp.tanh(x.sum(1))[1:] + 1,
    "the distance to a mean of columns": lambda x: x - x.mean(0),
    "a sum of 16-bit numbers": lambda x: x.astype(jnp.bfloat16).astype(jnp.float32).sum(1),
    "a padded array read by two ops": lambda x: _twice(jnp.pad(x, 1)),
    "a concatenation read by two ops": lambda x: _twice(jnp.concatenate([x, x * 3])),
    "a padded array read by two kernels": lambda x: (jnp.exp(jnp.pad(x, 1)), jnp.pad(x, 1).T + 1),
    "a sum of integers": lambda x: (x.astype(jnp.int32) + 1).astype(jnp.float32).sum(1),
}


def _ops(function, *args):
    """The ops of a function without passes of ours but `inline`, and what it returns."""
    module = jxc.lower(function, *args).opt("inline,cse").module
    block = main_of(module.operation).regions[0].blocks[0]
    ops = list(block.operations)
    return module, ops[:-1], list(ops[-1].operands)


def _launched(text):
    """The lines of the entry computation of optimized HLO, and how many of them launch kernels."""
    entry = text[text.index("ENTRY") :].splitlines()
    launched = (" fusion(", " dot(", " custom-call(", " sort(")
    return entry, sum(any(op in line for op in launched) for line in entry)


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_those_of_the_optimized_hlo(name):
    module, ops, outputs = _ops(PROGRAMS[name], X)
    with module.context:
        predicted = len(kernels_of(ops, outputs))
    with hook.use(None):
        text = jax.jit(PROGRAMS[name]).lower(X).compile().as_text()
    entry, found = _launched(text)
    copies = sum("copy" in line for line in entry)  # of results, for their layout
    assert found - copies <= predicted <= found + 1


GPU_PROGRAMS = {
    "a softmax": (lambda x: jax.nn.softmax(x * 2), 1),
    "a logarithm of a softmax": (lambda x: jax.nn.log_softmax(x), 1),
    "rows of variance 1": (lambda x: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True), 1),
    "rows of sum 1, twice": (lambda x: (x / x.sum(1, keepdims=True), jnp.tanh(x)), 2),
    "columns of sum 1": (lambda x: x / x.sum(0), 2),
    "a product of two sums": (lambda x: (x * 2).sum(1)[:, None] * jnp.exp(x).sum(1)[None, :], 3),
}


@pytest.mark.parametrize("name", GPU_PROGRAMS)
def test_kernels_around_reductions_on_gpu(name):
    """The numbers are those of jax-cuda13-plugin 0.10.2, which is asked where it is installed."""
    function, kernels = GPU_PROGRAMS[name]
    module, ops, outputs = _ops(function, X)
    with module.context:
        assert len(kernels_of(ops, outputs, kind="gpu")) == kernels
    if not find_target("gpu:h100").missing:
        text = jxc.lower(function, X).compile(target="gpu:h100").as_text()
        assert _launched(text)[1] in (kernels, kernels - 1)  # it may compute two results at once


def _seconds(ops, outputs, context, rates=None):
    versions = Version(ops, outputs, {}), Version((), (), {})
    return prices_of_versions(*versions, context.device, rates or context.rates)[0].seconds


def test_price_of_a_loop_counts_iterations():
    def loop(trips):
        return lambda x: jax.lax.fori_loop(0, trips, lambda _, h: jnp.tanh(h @ h), x)

    x, context = np.ones((64, 64), np.float32), PassContext()
    seconds = []
    for trips in (1, 100):
        module, ops, outputs = _ops(loop(trips), x)
        with module.context:
            seconds.append(_seconds(ops, outputs, context))
    assert seconds[1] == pytest.approx(100 * seconds[0], rel=0.01)
    module, ops, outputs = _ops(lambda x, n: loop(n)(x), x, np.int32(3))
    with module.context:
        unknown = _seconds(ops, outputs, context)
    assert unknown == pytest.approx(UNKNOWN_TRIPS * seconds[0], rel=0.01)


def _with_and_without_unrolling(shape, function=lambda x: jnp.tanh(x * 2)):
    module, context = jxc.lower(function, np.ones(shape, np.float32)).module, PassContext()
    rates = Rates("cpu")
    with module.context:
        both = prices_of_unrolling(module.operation, context.device, rates)
    return [price.seconds for price in both]


def test_price_of_short_rows_depends_on_loop_unrolling():
    assert _with_and_without_unrolling((48000,)) == [0, 0]  # it changes nothing there
    unrolled, rolled = _with_and_without_unrolling((3000, 16))
    module, ops, outputs = _ops(lambda x: jnp.tanh(x * 2), np.ones(48000, np.float32))
    context = PassContext()
    with module.context:
        flat = _seconds(ops, outputs, context, Rates("cpu"))
    assert unrolled > 2 * rolled and rolled == pytest.approx(flat, rel=0.1)
    unrolled, rolled = _with_and_without_unrolling((16000, 3))  # of several rows at once
    assert rolled > 2 * unrolled
    unrolled, rolled = _with_and_without_unrolling((1000, 6, 8))  # both loops are unrolled
    assert unrolled > 4 * rolled


def _transposed(function, *shapes):
    module, ops, outputs = _ops(function, *(np.ones(shape, np.float32) for shape in shapes))
    with module.context:
        return _seconds(ops, outputs, PassContext(), Rates("cpu"))


def test_transposes_with_constants_take_longer_if_rows_compete_for_the_cache():
    with_constant = _transposed(lambda x: x.T + 1, (1024, 1024))
    assert with_constant > 5 * _transposed(lambda x, y: x.T + y, (1024, 1024), (1024, 1024))
    assert with_constant > 3 * _transposed(lambda x: x.T + 1, (1040, 1008))


def test_products_that_sum_columns_take_longer_if_these_compete_for_the_cache():
    def of_columns(x, y):
        return jax.lax.dot_general(x, y, (((0,), (0,)), ((), ())))

    by_columns = _transposed(of_columns, (512, 1024), (512, 64))
    assert by_columns > 2 * _transposed(lambda x, y: x @ y, (1024, 512), (512, 64))
    assert by_columns > 1.5 * _transposed(of_columns, (512, 1000), (512, 64))


def test_products_of_complex_matrices_have_a_price():
    x, y = np.ones((300, 200), np.complex64), np.ones((300, 100), np.complex64)
    lowered = jxc.lower(lambda x, y: x.T @ y, x, y).opt("O2")
    np.testing.assert_allclose(lowered.compile()(x, y), x.T @ y)


def test_time_of_pricing_loops_is_linear_in_a_chain_of_values_that_are_read_twice():
    def chain(x):
        h = x.astype(jnp.int32).sum(0)
        for _ in range(60):
            h = h ^ (h >> 3)
        return h

    unrolled, rolled = _with_and_without_unrolling((50, 32), chain)  # 2**60 paths
    assert rolled > unrolled


def test_operands_of_one_value_are_copied_as_those_of_two():
    def scores(q, k):
        return jnp.einsum("bqhd,bkhd->bhqk", q, k)

    q, shape = np.ones((4, 128, 4, 64), np.float32), (4, 128, 4, 64)
    module, ops, _ = _ops(scores, q, q)
    with module.context:
        two = [copies_for_dot(op) for op in ops if op.operation.name == "stablehlo.dot_general"]
    module, ops, _ = _ops(lambda q: scores(q, q), q)
    with module.context:
        one = [copies_for_dot(op) for op in ops if op.operation.name == "stablehlo.dot_general"]
    assert one == two and two == [[(prod(shape), False), (prod(shape), True)]]


def test_price_of_sums_of_integers_depends_on_loop_unrolling():
    unrolled, rolled = _with_and_without_unrolling(
        (1000, 100), lambda x: x.astype(jnp.int32).sum(0)
    )
    assert rolled > unrolled


def test_rewrites_that_pay_only_together_are_found():
    """The maximum of a softmax does not pay as slices before the sum is written so."""
    x = np.ones((8815, 2), np.float32)
    hits = _hits(jax.nn.softmax, x, "inline,cse,reductions")
    assert hits == {"reduce-to-slices": 2}


def _hits(function, arg, pipeline, **context):
    module = clone_module(jxc.lower(function, arg).opt("inline").module)
    return run_pipeline(module, make_pipeline(pipeline), PassContext(**context)).hits


def test_a_device_with_other_rates_decides_otherwise():
    """The same program, on a CPU whose C library computes a tangent in no time."""
    angles = np.ones(20_000, np.float32)
    fast = Rates("cpu", {"tangent-of-xla": 0.01})
    assert _hits(jnp.tan, angles, "elementary") == {"tangent-to-polynomials": 1}
    assert not _hits(jnp.tan, angles, "elementary", rates=fast)
    assert _hits(jnp.tan, angles, "elementary{always=true}", rates=fast)


def test_a_program_that_runs_once_is_not_worth_compiling():
    angles = np.ones(20_000, np.float32)
    with collect_remarks() as remarks:
        assert not _hits(jnp.tan, angles, "elementary", calls=100)
    (missed,) = [each for each in remarks if each.rule == "tangent-to-polynomials"]
    assert missed.text.endswith("more to compile, which 100 runs do not save")
    assert _hits(jnp.tan, angles, "elementary", calls=10_000)


def test_a_refusal_says_both_prices():
    lowered = jxc.lower(jnp.tan, np.ones(1100, np.float32))
    with collect_remarks() as remarks:
        assert not lowered.opt("elementary").report.hits
    (missed,) = [each for each in remarks if each.rule == "tangent-to-polynomials"]
    assert missed.kind == "missed" and missed.text.startswith("declined: ")
    assert " instead of " in missed.text and " on cpu" in missed.text


def test_an_op_that_is_never_rewritten_is_left_as_it_was():
    """What a refused rule built is gone."""
    lowered = jxc.lower(jnp.tan, np.ones(1100, np.float32))
    assert str(lowered.opt("elementary").module) == str(lowered.opt("trivial-dce").module)


def _convolution(x, w, groups=1):
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=groups
    )


def test_a_device_with_fast_depthwise_convolutions_keeps_them():
    x, w = np.ones((2, 24, 24, 32), np.float32), np.ones((3, 3, 1, 32), np.float32)
    lowered = jxc.lower(lambda x, w: _convolution(x, w, 32), x, w)
    fast = Rates("cpu", {"depthwise-multiply-add": 0.01, "grouped-multiply-add": 0.01})
    for rates, hits in ((Rates("cpu"), {"depthwise-to-multiply-add": 1}), (fast, {})):
        module = clone_module(lowered.opt("inline").module)
        report = run_pipeline(module, make_pipeline("convolution"), PassContext(rates=rates))
        assert report.hits == hits


def test_the_rewrite_that_saves_most_is_carried_out():
    """Each of two rewrites of this convolution pays; the second rule's saves more."""
    x, w = np.ones((2, 2, 2, 512), np.float32), np.ones((3, 3, 512, 512), np.float32)
    lowered = jxc.lower(_convolution, x, w)
    rules = ("wide-window-to-swapped-operands", "wide-window-to-product")
    for rule in rules:
        assert lowered.opt(f"convolution{{enable-patterns={rule}}}").report.hits == {rule: 1}
    assert lowered.opt("convolution").report.hits == {rules[1]: 1}


CONDITIONAL = """
func.func @main(%x: tensor<300x300xf32>, %y: tensor<f32>) -> tensor<300x300xf32> {{
  %test = {test}
  %r = "stablehlo.if"(%test) ({{
    %a = stablehlo.add %x, %x : tensor<300x300xf32>
    stablehlo.return %a : tensor<300x300xf32>
  }}, {{
    %b = stablehlo.tan %x : tensor<300x300xf32>
    stablehlo.return %b : tensor<300x300xf32>
  }}) : (tensor<i1>) -> tensor<300x300xf32>
  return %r : tensor<300x300xf32>
}}
"""


def test_numbers_that_are_tested_to_be_finite_are():
    """A conditional takes its slowest branch, unless it asks whether a number is finite."""
    context, seconds = PassContext(), []
    for test in (
        "stablehlo.is_finite %y : (tensor<f32>) -> tensor<i1>",
        "stablehlo.compare GT, %y, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>",
    ):
        module = read_module(CONDITIONAL.format(test=test), make_context())
        with module.context:
            *ops, end = main_of(module.operation).regions[0].blocks[0].operations
            seconds.append(_seconds(ops, list(end.operands), context))
    assert seconds[1] > 5 * seconds[0]


@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_what_has_no_price_is_left_alone(target):
    """The model knows no sorts on GPU and TPU."""
    lowered = jxc.lower(jnp.sort, np.ones((8, 1000), np.float32)).for_target(target)
    with collect_remarks() as remarks:
        assert not lowered.opt("inline,sorting", target=target).report.hits
    (missed,) = [each for each in remarks if each.rule == "sort-to-packed-sort"]
    assert "no price" in missed.text


def test_rounding_to_16_bits_takes_a_pass_in_f32_where_the_vector_unit_lacks_bf16():
    def seconds(target, kind):
        x = jax.ShapeDtypeStruct((1024, 4096), kind)
        module, ops, outputs = _ops(lambda p, slope: p - 0.1 * slope, x, x)
        with module.context:
            return _seconds(ops, outputs, PassContext(target))

    ratios = [seconds(t, jnp.bfloat16) / seconds(t, jnp.float32) for t in ("tpu:v5e", "tpu:v6e")]
    assert ratios == pytest.approx([5 / 6, 1 / 2], rel=0.05)  # libtpu 0.0.52: 0.82 and 0.50


def test_small_matrices_are_padded_on_a_tpu():
    """Products of 4x4 matrices are written out where thousands of tiles would be half empty."""

    def hits(count):
        x = np.ones((count, 4, 4), np.float32)
        lowered = jxc.lower(jnp.matmul, x, x).for_target("tpu:v5e")
        return lowered.opt("inline,small-matrices", target="tpu:v5e").report.hits

    assert hits(4096) == {"small-product-to-multiply-add": 1}
    assert not hits(16)


def test_a_reduction_that_selects_each_element_is_computed_once():
    """Its kernel is not that of the `select`, for each element of which it would be repeated."""
    seconds = []
    for size in (100_000, 200_000):
        x = np.ones(size, np.float32)
        module, ops, outputs = _ops(lambda x: jnp.where(jnp.isnan(x).any(), jnp.nan, x), x)
        with module.context:
            assert len(kernels_of(ops, outputs)) == 2
            seconds.append(_seconds(ops, outputs, PassContext()))
    assert seconds[1] < 3 * seconds[0]

"""Elementary functions as f64 formulas: special and random values, gradients, types."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.check.run import run_xla
from jxc.cost import cpu
from jxc.cost.rates import Rates
from jxc.ir import make_context, read_module
from jxc.rewrite import PassContext

TINY = 2.0**-126
BOUND = 0.502
BOUNDS = Path(__file__).parents[2] / "passes" / "elementary" / "bounds.json"

SPECIAL = [0.0, 1e-45, 1e-40, TINY, 1e-20, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 12.0]
SPECIAL += [2.0**24 - 1, 2.0**24, 2.0**28, 2.0**58, 1e30, 3.4028235e38, np.inf, np.nan]
EDGES = np.array([*SPECIAL, *(-x for x in SPECIAL)], np.float32)


def arguments(count):
    """Edge values, in all pairs for two arguments, and numbers of all sizes and signs."""
    random = np.random.default_rng(0)
    edges = np.meshgrid(*[EDGES] * count)
    bits = random.integers(0, 2**32, (count, 4000), dtype=np.uint32).view(np.float32)
    near = random.uniform(-4, 4, (count, 4000)).astype(np.float32)
    return [np.concatenate([e.ravel(), b, n]) for e, b, n in zip(edges, bits, near, strict=True)]


def _power(exponent):
    wide = float(np.float32(exponent))
    return lambda x: jnp.power(x, exponent), lambda x: np.power(x, wide), 1


def _power_of(base):
    wide = float(np.float32(base))
    return lambda x: jnp.power(base, x), lambda x: np.power(wide, x), 1


def _exp(x, y):
    """exp of a complex number with the special values of C and numpy."""
    z = np.empty(x.shape, np.complex128)
    z.real, z.imag = x, y
    z[(x == -np.inf) & ~np.isfinite(y)] = -np.inf  # to a zero of any sign
    return np.exp(z)


def _by(divisor):
    wide = float(np.float32(divisor))
    return lambda x: lax.rem(x, jnp.full_like(x, divisor)), lambda x: np.fmod(x, wide), 1


ARCTANGENT = "arctangent-to-polynomial"
CASES = {
    "sine-to-polynomial": [(jnp.sin, np.sin, 1)],
    "cosine-to-polynomial": [(jnp.cos, np.cos, 1)],
    "tangent-to-polynomials": [(jnp.tan, np.tan, 1)],
    "arccosine-to-polynomial": [(jnp.arccos, np.arccos, 1)],
    ARCTANGENT: [(jnp.arctan2, np.arctan2, 2)],
    "cube-root-to-iteration": [(jnp.cbrt, np.cbrt, 1)],
    "power-to-products": [_power(c) for c in (1.5, -2.5, -0.5, 4.0, 7.0, -7.0, -2.0)],
    "power-to-polynomials": [
        (jnp.power, np.power, 2),
        *(_power(c) for c in (0.3, -1 / 3, 9.0, 10.0, 33.5)),
        *(_power_of(c) for c in (2.0, 0.1)),
    ],
    "softplus-to-polynomials": [
        (lambda x: jnp.log1p(jnp.exp(-jnp.abs(x))), lambda x: np.log1p(np.exp(-np.abs(x))), 1)
    ],
    "complex-exponential-to-polynomials": [
        (lambda x, y: jnp.exp(lax.complex(x, y)).real, lambda x, y: _exp(x, y).real, 2),
        (lambda x, y: jnp.exp(lax.complex(x, y)).imag, lambda x, y: _exp(x, y).imag, 2),
    ],
    "remainder-to-long-division": [
        (lax.rem, np.fmod, 2),
        *(_by(c) for c in (12.0, -3.0, 0.1, 1e-30, 1e30)),
    ],
}
ALL = [(rule, i) for rule, cases in CASES.items() for i in range(len(cases))]


def rewritten(function, args, rule):
    """The results after the pass; the rule must have fired, and no original op may be left."""
    lowered = jxc.lower(function, *args).opt("elementary{always=true}")
    assert lowered.report.hits == {rule: 1}
    return np.asarray(lowered.compile()(*args))


def errors(found, function, args):
    """Errors in ulps, infinite for a wrong NaN, infinity or sign; denormals may be flushed."""
    with np.errstate(all="ignore"):
        wanted = [function(*(a.astype(np.float64) for a in each)) for each in (args, flushed(args))]
        each = [_errors(found.astype(np.float64), w) for w in wanted]
    return np.minimum(*each)


def flushed(args):
    return [np.where(np.abs(a) < TINY, np.copysign(0, a), a).astype(np.float32) for a in args]


def _errors(found, wanted):
    ulp = 2.0 ** (np.maximum(np.frexp(wanted)[1], -125) - 24)
    error = np.abs(found - wanted) / ulp
    is_same = (found == wanted.astype(np.float32)) & np.isinf(found)
    is_flushed = (found == 0) & (np.abs(wanted) < TINY)
    error[is_same | is_flushed | np.isnan(found)] = 0
    misplaced = (np.isnan(found) != np.isnan(wanted)) | ~np.isfinite(error)
    misplaced |= (np.signbit(found) != np.signbit(wanted)) & ~np.isnan(found)
    return np.where(misplaced, np.inf, error)


@pytest.mark.parametrize(("rule", "case"), ALL, ids=[f"{rule}-{i}" for rule, i in ALL])
def test_elementary_function_is_within_its_bound(rule, case):
    function, exact, count = CASES[rule][case]
    args = arguments(count)
    found = rewritten(function, args, rule)
    error = errors(found, exact, args)
    worst = int(error.argmax())
    at = [arg[worst] for arg in args]
    limit = {"remainder-to-long-division": 0.0}.get(rule, BOUND)
    assert error[worst] <= limit, (at, found[worst])


@pytest.mark.parametrize(
    ("op", "exact", "rule"),
    [
        ("asin", np.arcsin, "arcsine-to-polynomial"),
        ("atan", np.arctan, "arctangent-to-polynomial"),
    ],
)
def test_elementary_op_is_within_its_bound(op, exact, rule):
    """Ops that newer versions of JAX write differently; newer versions of XLA have a fast atan."""
    [x] = arguments(1)
    kind = f"tensor<{x.size}xf32>"
    body = f"%y = chlo.{op} %x : {kind} -> {kind} return %y : {kind}"
    text = f"func.func @main(%x: {kind}) -> {kind} {{ {body} }}"
    after = jxc.opt(read_module(text, make_context()), "elementary{always=true}")
    assert "chlo" not in str(after), rule
    assert errors(run_xla(after, [x])[0], exact, [x]).max() <= BOUND


def test_arcsine_of_jax_is_rewritten():
    x = np.linspace(-1, 1, 4097, dtype=np.float32)
    lowered = jxc.lower(jnp.arcsin, x).opt("elementary")
    assert (
        lowered.report.hits.keys() <= {"arcsine-to-polynomial", ARCTANGENT} and lowered.report.hits
    )
    assert errors(np.asarray(lowered.compile()(x)), np.arcsin, [x]).max() < 2


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("rule", [rule for rule in CASES if CASES[rule][0][2] == 1])
def test_elementary_functions_of_16_bits_equal_xla(rule, dtype):
    """All 2^16 values have the bits of XLA, which rounds from f32; denormals are excluded."""
    function, exact, _ = CASES[rule][0]
    x = jnp.arange(2**16, dtype=jnp.uint16).view(dtype)
    found = rewritten(function, [x], rule).astype(np.float32)
    wide = np.asarray(x.astype(np.float32))
    with np.errstate(all="ignore"):
        wanted = jnp.asarray(exact(wide.astype(np.float64)), np.float32).astype(dtype)
    wanted = np.asarray(wanted.astype(np.float32))
    is_right = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    is_denormal = (np.abs(wide) < TINY) | (np.abs(wanted) < TINY)
    assert (is_right | is_denormal).all()


def test_elementary_functions_in_gradients():
    x = np.random.default_rng(0).uniform(0.1, 9, (256, 256)).astype(np.float32)

    def loss(x):
        return (jnp.sin(x) * x**2.5 + jnp.arctan2(x, 2.0) + jnp.cbrt(x)).sum()

    lowered = jxc.lower(jax.value_and_grad(loss), x).opt("inline,simplify,elementary,simplify")
    hits = lowered.report.hits
    assert hits["sine-to-polynomial"] == hits["cosine-to-polynomial"] == 1
    assert hits["power-to-products"] == 2 and hits[ARCTANGENT] == 1
    value, slope = lowered.compile()(x)
    plain, steep = jax.jit(jax.value_and_grad(loss))(x)
    np.testing.assert_allclose(value, plain, rtol=1e-6)
    np.testing.assert_allclose(slope, steep, rtol=2e-6, atol=1e-5)


def test_elementary_functions_under_vmap():
    x = np.random.default_rng(0).uniform(-9, 9, (256, 256)).astype(np.float32)
    lowered = jxc.lower(jax.vmap(lambda row: jnp.sin(row) % 0.3), x).opt("elementary{always=true}")
    assert lowered.report.hits == {"sine-to-polynomial": 1, "remainder-to-long-division": 1}
    plain = jax.jit(jax.vmap(lambda row: jnp.sin(row)))(x)
    np.testing.assert_allclose(lowered.compile()(x), np.mod(plain, np.float32(0.3)), atol=2e-7)


def test_elementary_function_has_the_same_bits_fused_and_alone():
    """Fused code contracts other f64 products and sums, far below an ulp of f32."""
    x = np.random.default_rng(0).uniform(-100, 100, 2**16).astype(np.float32)
    alone = jxc.lower(jnp.sin, x).opt("elementary").compile()(x)
    fused = jxc.lower(lambda x: -jnp.sin(x * 2.0), x).opt("elementary").compile()(x / 2)
    np.testing.assert_array_equal(np.asarray(alone), -np.asarray(fused))


def test_elementary_function_before_a_sum_depends_on_the_rates():
    """Newer versions of XLA compile a sine and a sum into one vectorized kernel."""
    lowered = jxc.lower(lambda x: jnp.sin(x).sum(), np.ones(2**16, np.float32))
    for sum_rate, hits in ((0.1, {}), (100.0, {"sine-to-polynomial": 1})):
        with patch.object(Rates, "__getitem__", lambda self, rate, f=sum_rate: _rate(rate, f)):
            assert lowered.opt("elementary").report.hits == hits


def _rate(rate, summed):
    return summed if rate == cpu.SUMMED_SINE else rate.shipped


def test_elementary_functions_stay_on_other_targets():
    lowered = jxc.lower(jnp.sin, np.ones(2**16, np.float32))
    assert lowered.opt("elementary").report.hits
    assert not lowered.opt("elementary", target="gpu").report.hits
    assert PassContext("gpu").rates.decides is False


def test_verify_accepts_the_contract():
    x = np.ones(1024, np.float32)
    verdict = jxc.verify(lambda x: jnp.sin(x) * jnp.cbrt(x) + x**1.5, x, pipeline="elementary")
    assert verdict.agrees and verdict.draws


def test_measured_bounds_are_within_the_contract_and_better_than_xla():
    """The errors that `scripts/ulps.py` measured on all f32, for each jaxlib."""
    measured = json.loads(BOUNDS.read_text())
    assert jaxlib.__version__ in measured
    for functions in measured.values():
        for name, found in functions.items():
            limit = 0.0 if name.startswith("remainder") else BOUND
            if found["rule"] is not None:
                assert found["rewritten"]["ulps"] <= limit, name
                assert found["rewritten"]["ulps"] <= found["xla"]["ulps"], name
                assert found["rewritten"]["misplaced"] == 0, name

"""The pass `collectives` on four devices: fewer collectives, the same results and shardings.

Each program runs in a process whose CPU is split into four devices.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from jxc.frontend.mesh import environment_of_host

PREAMBLE = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, PartitionSpec as P
from jxc.backend.lowered import lowered_of
from jxc.check.deviation import compare_calls
from jxc.frontend.lowering import lower
from jxc.hlo import parse_hlo
from jxc.compiled.collectives import collectives_of

def communication(executable):
    found = collectives_of(parse_hlo(executable.as_text()))
    return sum(c.times for c in found), sum(c.times * c.payload for c in found)

def show(function, args, ins, outs, target="cpu", check=True, sizes=(4,), names=("d",)):
    devices = np.array(jax.devices()[:4]).reshape(sizes)
    mesh = Mesh(devices, names, axis_types=(AxisType.Auto,) * len(sizes))
    mapped = jax.shard_map(function, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=check)
    low = lowered_of(lower(mapped, args, mesh=mesh, in_shardings=ins, concrete=True))
    after = low.opt("O1").opt("collectives", target=target)
    plain, ours = low.compile(), after.compile()
    shardings = [jax.tree.leaves(each.compiled.output_shardings) for each in (plain, ours)]
    print(json.dumps({
        "hits": dict(after.report.hits), "before": communication(plain),
        "after": communication(ours), "same": shardings[0] == shardings[1],
        "agrees": compare_calls(plain, ours, args, {}).agrees,
    }))

def normal(*shape):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape), jnp.float32)

W, X, XS = normal(8, 8) / 4, normal(16, 8), normal(6, 16, 8)
"""

RECURRENT = """
def f(w, xs):
    def loss(w):
        def step(h, x):
            gate = jax.nn.sigmoid(x @ w)
            return gate * jnp.tanh(h @ w + x) + (1 - gate) * h, None
        start = lax.pcast(jnp.zeros((4, 8)), "d", to="varying")
        return lax.pmean((lax.scan(step, start, xs)[0] ** 2).mean(), "d")
    return jax.value_and_grad(loss)(w)
show(f, (W, XS), (P(), P(None, "d")), (P(), P()))
"""
MICROBATCHES = """
def f(w, xs):
    def add(total, x):
        value, gradient = jax.value_and_grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        return (total[0] + lax.pmean(value, "d"), total[1] + lax.pmean(gradient, "d")), None
    return lax.scan(add, (jnp.ones(()), jnp.ones((8, 8))), xs)[0]
show(f, (W, XS), (P(), P(None, "d")), (P(), P()), check=False)
"""
METRICS = """
def f(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, (lax.pmean(h.mean(), "d"), lax.pmax(h.max(0), "d"))
    return lax.scan(step, xs[0], xs)[1]
show(f, (W, XS), (P(), P(None, "d")), (P(), P()), check=False)
"""
INVARIANT = """
def f(w, x):
    def step(h, _):
        return jnp.tanh(h @ lax.all_gather(w, "d", tiled=True) + lax.psum(w, "d").sum()), None
    return lax.scan(step, x, None, length=5)[0]
show(f, (W, X), (P("d"), P("d")), P("d"), target="gpu", check=False)
"""
SUMS = """
def f(x, y):
    gathered = lax.all_gather(y, "d")
    return lax.pmean(jnp.sin(x), "d") - 3 * lax.psum(y, "d") + x.sum(), gathered.sum(0)
show(f, (X, X + 1), (P("d"), P("d")), (P("d"), P()), check=False)
"""
PARTS = """
def f(x, y):
    counts = (10 * x).astype(jnp.int32)
    largest = lax.all_gather(counts, "a", axis=1, tiled=True).max(1)
    return lax.psum(x, "a") + lax.psum(y, "a"), lax.psum(x, "b") + lax.psum(y, "a"), largest
show(f, (X, X + 1), (P("a", "b"), P("a", "b")), (P("a", "b"),) * 2 + (P("b"),), check=False,
     sizes=(2, 2), names=("a", "b"))
"""

MAXIMA = """
def f(x):
    return lax.all_gather(x.at[0, 1].set(jnp.nan), "d").max(0)
show(f, (X,), (P("d"),), P(), check=False)
"""

MASKS = """
def f(x):
    masks = (10 * x).astype(jnp.int32)
    return lax.reduce_and(lax.all_gather(masks, "d"), (0,))
show(f, (X,), (P("d"),), P(), check=False)
"""

CASES = {
    "recurrent": (RECURRENT, {"all-reduce-after-loop": 1, "sum-of-all-reduces": 1}),
    "microbatches": (MICROBATCHES, {"all-reduce-after-loop": 1}),
    "metrics": (METRICS, {"all-reduced-rows-after-loop": 1}),
    "invariant": (INVARIANT, {"collective-before-loop": 1}),
    "sums": (SUMS, {"sum-of-all-reduces": 1, "reduce-of-all-gather": 1}),
    "maxima": (MAXIMA, {}),
    "masks": (MASKS, {}),
    "parts": (PARTS, {"sum-of-all-reduces": 1, "reduce-of-all-gather": 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_keep_results_and_shardings_on_four_devices(name: str) -> None:
    program, hits = CASES[name]
    found = run(program)
    assert found["hits"].keys() >= hits.keys(), found
    assert found["agrees"] and found["same"], found
    assert found["after"][0] <= found["before"][0] and found["after"][1] <= found["before"][1]


def test_gradients_of_a_loop_are_reduced_once() -> None:
    for program in (RECURRENT, MICROBATCHES):
        found = run(program)
        assert found["before"][0] >= 6, "XLA moves the all-reduces itself: leave out the rule"
        assert found["after"][0] <= 2


def run(program: str) -> dict:
    """What a program prints on four devices."""
    settings = {**os.environ, **environment_of_host(4), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-W", "ignore", "-c", PREAMBLE + program]
    options = {"capture_output": True, "text": True, "env": settings, "timeout": 300}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])

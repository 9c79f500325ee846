"""Programs over four devices of this process, with and without jxc: values, shardings, rules."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import jxc
from jxc.compiled.collectives import collectives_of
from jxc.hlo import parse_hlo
from jxc.ir import write_text
from jxc.ir.propagation import main_result_shardings, split_of
from jxc.ir.shardings import meshes_of

from ..devices import assert_same_on_devices

RANDOM = np.random.default_rng(0)


def mesh_of(kind: AxisType = AxisType.Auto) -> jax.sharding.Mesh:
    return jax.make_mesh((4,), ("d",), axis_types=(kind,))


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def depthwise(x: jax.Array, w: jax.Array) -> jax.Array:
    numbers = ("NHWC", "HWIO", "NHWC")
    groups = x.shape[-1]
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )


def training(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    def loss(w: jax.Array) -> jax.Array:
        return (jax.nn.relu(depthwise(x, w)) ** 2).mean()

    value, gradient = jax.value_and_grad(loss)(w)
    return value, w - 0.1 * gradient


def pooled(x: jax.Array) -> jax.Array:
    window = (1, 2, 2, 1)
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")


def attention(x: jax.Array, w: jax.Array, out: jax.Array) -> jax.Array:
    split = (x @ w).reshape(*x.shape[:2], 4, -1).transpose(0, 2, 1, 3)
    weights = jax.nn.softmax(split @ split.swapaxes(-1, -2) / 3.0)
    return (weights @ split).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1) @ out


def median_of_doubled(x: jax.Array) -> jax.Array:
    return jnp.median(2 * x, axis=0)


def constrained(x: jax.Array) -> jax.Array:
    along = NamedSharding(mesh_of(), P(None, "d"))
    return jax.lax.with_sharding_constraint(jnp.cumsum(x, 0) * 2, along) @ x


def unevenly_constrained(x: jax.Array) -> jax.Array:
    first = jax.lax.with_sharding_constraint(x[:6], NamedSharding(mesh_of(), P("d")))
    return jnp.sort(first, axis=1)[:, ::-1] + 1


IMAGES, KERNEL = (8, 8, 8, 32), (3, 3, 1, 32)
PROGRAMS = {
    "training, split images": (training, (P("d"), P()), (IMAGES, KERNEL)),
    "training, split height": (training, (P(None, "d"), P()), (IMAGES, KERNEL)),
    "training, split channels": (
        training,
        (P(None, None, None, "d"), P(None, None, None, "d")),
        (IMAGES, KERNEL),
    ),
    "pooling, split height": (pooled, (P(None, "d"),), (IMAGES,)),
    "attention, split weights": (
        attention,
        (P(), P(None, "d"), P("d")),
        ((2, 8, 32), (32, 32), (32, 32)),
    ),
    "median": (median_of_doubled, (P("d"),), ((16, 16),)),
    "cummax": (partial(jax.lax.cummax, axis=0), (P("d"),), ((64, 64),)),
    "constraint": (constrained, (P("d"),), ((16, 16),)),
    "uneven constraint": (unevenly_constrained, (P(None, "d"),), ((16, 16),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_devices_send_no_more_and_results_stay_where_they_are(name):
    function, specs, shapes = PROGRAMS[name]
    shardings = tuple(NamedSharding(mesh_of(), spec) for spec in specs)
    args = [jax.device_put(array(*s), where) for s, where in zip(shapes, shardings, strict=True)]
    jitted = jax.jit(function, in_shardings=shardings)
    plain = jitted.lower(*args).compile()
    ours = jxc.lower(jitted, *args).opt("O2").compile().compiled
    assert_same_on_devices(ours(*args), plain(*args), rtol=1e-4, atol=1e-5)
    for metric in (lambda c: c.times, lambda c: c.payload * c.times):
        sent = [
            sum(map(metric, collectives_of(parse_hlo(each.as_text())))) for each in (plain, ours)
        ]
        assert sent[1] <= sent[0]


def folded(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, ...]:
    """XLA folds `1 * b` before the propagation, which then splits the first result as `a` is."""
    return jnp.maximum(1 * b, a) * 2, jax.lax.with_sharding_constraint(b, at()), jnp.maximum(c, b)


def returned_twice(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, ...]:
    """Without `where`, the second result is a part of the others, whose split it would change."""
    twice = c + c
    total = a + twice
    return total, jnp.where(False, jnp.tanh(b), twice), 1 * total + 0


def without_elements(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, ...]:
    return jnp.maximum(a, b), b[:, :0] - b[:, :0].mean(0, keepdims=True), c[:0]


def with_large_constant(a: jax.Array, b: jax.Array, c: jax.Array) -> tuple[jax.Array, ...]:
    """`b + k` is not folded, as it would be if zeros stood for the values of `k`."""
    k = np.arange(b.size, dtype=np.float32).reshape(b.shape)
    return jnp.maximum(b + k, a) * 2, jax.lax.with_sharding_constraint(b, at()), jnp.maximum(c, b)


def at(*axes: str | None) -> NamedSharding:
    return NamedSharding(mesh_of(), P(*axes))


TIES = [folded, returned_twice, without_elements, with_large_constant]
ROWS, COLUMNS, WHOLE = ("d",), (None, "d"), ()


@pytest.fixture(params=[(WHOLE, ROWS, COLUMNS), (COLUMNS, ROWS, COLUMNS), (ROWS, COLUMNS, ROWS)])
def tied(request):
    """Arguments of one shape, which are split in different ways."""
    return [jax.device_put(array(8, 16384), at(*axes)) for axes in request.param]


@pytest.mark.parametrize("pipeline", ["O1", "O2", "inline{default-pipeline=},symbol-dce,O2"])
@pytest.mark.parametrize("function", TIES)
def test_results_of_automatic_axes_are_split_as_by_plain_jax(function, pipeline, tied):
    ours = jxc.jit(function, pipeline=pipeline, strict=True)(*tied)
    assert_same_on_devices(ours, jax.jit(function)(*tied), rtol=1e-4)


@pytest.mark.parametrize("function", TIES)
def test_propagation_splits_results_as_xla_does(function, tied):
    lowered = jax.jit(function).lower(*tied)
    module = jxc.lower(jax.jit(function), *tied).module.operation
    for found, expected in zip(
        main_result_shardings(module), lowered.compile().output_shardings, strict=True
    ):
        axes = ["d" if count > 1 else None for count in split_of(found, meshes_of(module))]
        assert at(*axes).is_equivalent_to(expected, ndim=2)


def test_rules_on_convolutions_apply_to_split_images():
    shardings = tuple(NamedSharding(mesh_of(), spec) for spec in (P("d"), P()))
    jitted = jax.jit(training, in_shardings=shardings)
    report = jxc.lower(jitted, array(*IMAGES), array(*KERNEL)).opt("O2").report
    assert report is not None
    assert report.hits["depthwise-to-multiply-add"] == 1
    assert report.hits["depthwise-weight-gradient-to-sums"] == 1


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_jit_trains_with_donated_shards(kind):
    mesh = mesh_of(kind)
    with jax.sharding.set_mesh(mesh):
        images = jax.device_put(array(*IMAGES), NamedSharding(mesh, P("d")))
        kernels = [jax.device_put(array(*KERNEL), NamedSharding(mesh, P())) for _ in range(2)]
        kernels[1] = jax.device_put(np.asarray(kernels[0]), NamedSharding(mesh, P()))
        trained, deleted = [], []
        for step, kernel in zip((jax.jit, jxc.jit), kernels, strict=True):
            run = step(training, donate_argnums=1)
            for _ in range(3):
                given, (loss, kernel) = kernel, run(images, kernel)
            trained.append((loss, kernel))
            deleted.append(given.is_deleted())
        assert deleted[0] == deleted[1]
        assert_same_on_devices(trained[1], trained[0], rtol=1e-5, atol=1e-6)


def test_pmap_and_shard_map_see_the_arrays_of_one_device():
    """Each device sorts along a dimension that it has whole, so rules may cut it."""

    def largest(x: jax.Array) -> jax.Array:
        return jax.lax.pmean(jnp.sort(x, axis=-1)[..., ::-1][..., :2], "d")

    x = array(4, 8, 64)
    specs = {"in_specs": P("d"), "out_specs": P()}
    mapped = jax.shard_map(largest, mesh=mesh_of(), **specs)
    plain = jax.jit(mapped)(x), jax.pmap(largest, axis_name="d")(x)
    jax.clear_caches()
    with jxc.use("O2") as log:
        by_axis = jax.jit(mapped)(x)
        by_map = jax.pmap(largest, axis_name="d")(x)
    assert_same_on_devices((by_axis, by_map), plain, rtol=1e-5)
    hits = [rule for program in log.compilations for rule in program.report.hits]
    assert hits.count("slice-of-sort-to-top-k") == 2


def test_rules_apply_over_explicit_axes():
    """JAX writes sharding constraints there; those that change nothing are removed."""
    mesh = mesh_of(AxisType.Explicit)
    with jax.sharding.set_mesh(mesh):
        images = jax.device_put(array(*IMAGES), NamedSharding(mesh, P("d")))
        kernel = jax.device_put(array(*KERNEL), NamedSharding(mesh, P()))
        lowered = jxc.lower(jax.jit(training), images, kernel).opt("O2")
        assert "sdy.sharding_constraint" not in write_text(lowered.module)
        assert lowered.report is not None
        assert lowered.report.hits["depthwise-weight-gradient-to-sums"] == 1
        found, expected = lowered.compile()(images, kernel), jax.jit(training)(images, kernel)
        assert_same_on_devices(found, expected, rtol=1e-4, atol=1e-5)

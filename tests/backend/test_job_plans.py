"""Plans of `jxc fit` in programs over several devices, and in jobs of two processes."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import jxc

from .jobs import run_two

MODEL = """
import jax
import jax.numpy as jnp


def loss(params, x):
    for up, down in params:
        x = x + jax.nn.gelu(x @ up) @ down
    return jnp.mean(x**2)


def step(params, x):
    return jax.value_and_grad(loss)(params, x)


def arguments():
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    return [(f32(64, 256), f32(256, 64))] * 4, f32(1024, 64)
"""


@pytest.fixture
def step(tmp_path):
    """The step of a module in a file, and the shapes of its arguments."""
    path, namespace = tmp_path / "network.py", {}
    path.write_text(MODEL)
    exec(compile(MODEL, str(path), "exec"), namespace)
    return namespace["step"], namespace["arguments"]()


@pytest.fixture
def plan(step, tmp_path):
    """A plan that was made for one device."""
    found = jxc.fit(step[0], *step[1], max_memory="12MiB", exact=True)
    found.save(tmp_path / "plan.toml")
    return tmp_path / "plan.toml"


def placed(shapes, of_up, of_down, of_x):
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    rng = np.random.default_rng(0)
    arrays = jax.tree.map(lambda s: rng.normal(size=s.shape, scale=0.1).astype(s.dtype), shapes)
    where = [(of_up, of_down)] * len(shapes[0]), of_x
    return jax.device_put(arrays, jax.tree.map(lambda spec: NamedSharding(mesh, spec), where))


@pytest.mark.parametrize(
    "specs",
    [(P(), P(), P("d")), (P(None, "d"), P("d"), P())],
    ids=["batch-is-split", "weights-are-split"],
)
def test_plan_lowers_the_peak_of_each_device(step, plan, specs):
    args = placed(step[1], *specs)
    plain = jax.jit(step[0]).lower(*args).compile()
    ours = jxc.jit(step[0], pipeline=str(plan), strict=True).lower(*args).compile()
    before, after = (each.memory_analysis().temp_size_in_bytes for each in (plain, ours))
    assert after < 0.8 * before
    for one, other in zip(*(jax.tree.leaves(each(*args)) for each in (ours, plain)), strict=True):
        assert one.sharding == other.sharding
        np.testing.assert_array_equal(one, other)


STEP = """
import importlib.util
spec = importlib.util.spec_from_file_location("network", f"{sys.argv[3]}/network.py")
network = importlib.util.module_from_spec(spec)
spec.loader.exec_module(network)
rng = np.random.default_rng(0)
whole = jax.tree.map(lambda s: rng.normal(size=s.shape, scale=0.1).astype(s.dtype),
                     network.arguments())
where = jax.tree.map(lambda _: NamedSharding(mesh, PartitionSpec()), whole[0]), split
args = jax.tree.map(lambda a, s: jax.make_array_from_callback(a.shape, s, lambda i: a[i]),
                    whole, where)
def temporaries(compiled):
    return compiled.memory_analysis().temp_size_in_bytes
def values(results):
    return [np.asarray(each.addressable_data(0)) for each in jax.tree.leaves(results)]
"""


def test_two_processes_run_one_plan(plan):
    out, errors = run_two(
        STEP
        + """
with jxc.use("O0"):
    plain = jax.jit(network.step).lower(*args).compile()
planned = jxc.jit(network.step, pipeline=f"{sys.argv[3]}/plan.toml", strict=True)
compiled = planned.lower(*args).compile()
assert temporaries(compiled) < 0.8 * temporaries(plain)
for one, other in zip(values(compiled(*args)), values(plain(*args)), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-9)  # sums over the network
print("loss", float(compiled(*args)[0]))
""",
        str(plan.parent),
    )
    assert "loss" in out[0] and out[0] == out[1]
    assert not any("do not agree" in each for each in errors)


FROM_ENVIRONMENT = """
compiled = jax.jit(network.step).lower(*args).compile()
print(temporaries(compiled), float(compiled(*args)[0]))
"""


def test_plan_in_the_environment_of_both_processes(plan):
    folder = str(plan.parent)
    planned, errors = run_two(STEP + FROM_ENVIRONMENT, folder, JXC_PIPELINE=str(plan))
    plain, _ = run_two(STEP + FROM_ENVIRONMENT, folder, JXC_PIPELINE="")
    assert planned[0] == planned[1] and plain[0] == plain[1]
    (less, one), (more, other) = planned[0].split(), plain[0].split()
    assert int(less) < 0.8 * int(more) and one == other
    assert not any("do not agree" in each for each in errors)


def test_processes_with_different_plans_say_so_and_run_no_plan(plan):
    other = plan.read_text().replace("op =", "keep_every = 2\nop =", 1)
    (plan.parent / "other.toml").write_text(other)
    code = """
plan = f"{sys.argv[3]}/{'other' if number else 'plan'}.toml"
with jxc.use(plan):
    compiled = jax.jit(network.step).lower(*args).compile()
print(temporaries(compiled), float(compiled(*args)[0]))
"""
    out, errors = run_two(STEP + code, str(plan.parent))
    plain, _ = run_two(STEP + FROM_ENVIRONMENT, str(plan.parent), JXC_PIPELINE="")
    assert out[0] == out[1] == plain[0]
    assert all("do not agree" in each for each in errors)

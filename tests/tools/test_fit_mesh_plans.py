"""`jxc fit` over a mesh whose budget needs a plan: bytes of one device, the file, equal results."""

import os
import subprocess
import sys
import tomllib

import pytest

import jxc
from jxc.backend.targets import find_target
from jxc.errors import JxcError, UsageError
from jxc.ir.module import walk
from jxc.ir.propagation import local_types
from jxc.ir.shardings import argument_specs
from jxc.tools.fit.check import check_plan, without_shardings
from jxc.tools.fit.choices import Choices
from jxc.tools.fit.meshes.plans import Planner
from jxc.tools.fit.plan import FitPlan

LAYERS = """
import jax
import jax.numpy as jnp


def layer(x, w):
    h = jax.nn.gelu(x @ w["up"])
    return x + h @ w["down"], None


def loss(params, x):
    for w in params:
        x, _ = layer(x, w)
    return jnp.mean(x**2)


def step(params, x):
    value, slopes = jax.value_and_grad(loss)(params, x)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)


def arguments(layers=4, rows=4096):
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    return [{"up": f32(64, 256), "down": f32(256, 64)}] * layers, f32(rows, 64)
"""

SCAN = """
import jax
import jax.numpy as jnp


def layer(x, w):
    h = jax.nn.gelu(x @ w["up"])
    return x + h @ w["down"], None


def loss(params, x):
    return jnp.mean(jax.lax.scan(layer, x, params)[0] ** 2)


def step(params, x):
    value, slopes = jax.value_and_grad(loss)(params, x)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)


def arguments(layers=4, rows=4096):
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    return {"up": f32(layers, 64, 256), "down": f32(layers, 256, 64)}, f32(rows, 64)
"""

RUN = """
import jax
import jax.numpy as jnp
import numpy as np
import warnings
from code_ import arguments, fast, in_shardings, step

warnings.simplefilter("error")
random = np.random.default_rng(0)
given = jax.tree.map(lambda a: jnp.asarray(random.normal(0, 0.1, a.shape), a.dtype), arguments)
expected = jax.jit(step)(*given)
placed = jax.tree.map(jax.device_put, given, in_shardings)
found = fast(*placed)
for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
    np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
sizes = fast.lower(*placed).compile().memory_analysis()
print(sizes.temp_size_in_bytes + sizes.argument_size_in_bytes + sizes.output_size_in_bytes)
"""


def imported(tmp_path, source):
    path = tmp_path / "network.py"
    path.write_text(source)
    namespace = {}
    exec(compile(source, str(path), "exec"), namespace)
    return namespace


@pytest.mark.parametrize("source", [LAYERS, SCAN], ids=["layers", "scan"])
def test_plan_over_a_mesh_keeps_the_results_and_the_promised_peak(source, tmp_path):
    model = imported(tmp_path, source)
    args = model["arguments"]()
    found = jxc.fit(model["step"], *args, mesh="data=8", max_memory="4MiB", seconds=60)
    assert found.fits and found.chosen.plan, str(found)
    assert found.chosen.needed <= 2**22 < min(t.needed for t in found.trials if not t.again)
    text = str(found)
    assert f"with {found.chosen.again}" in text and "computed again" in text
    assert "no sharding that was compiled fits without a plan" in text
    with pytest.raises(UsageError, match="ends in"):
        found.save(tmp_path / "step.rules")
    found.save(tmp_path / "plan.toml")
    assert "jxc.jit(step, pipeline='plan.toml', in_shardings=" in found.code
    code = f"{source}\narguments = arguments()\n{found.code}"
    (tmp_path / "network.py").write_text(code)
    (tmp_path / "run.py").write_text(RUN.replace("code_", "network"))
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    libraries = 2**20  # at most, for products: no buffer, but promised
    assert -(2**16) < found.chosen.needed - int(done.stdout) < libraries


def test_plan_alone_shards_the_program(tmp_path):
    model = imported(tmp_path, LAYERS)
    args = model["arguments"]()
    found = jxc.fit(model["step"], *args, mesh="data=8", max_memory="4MiB", seconds=60)
    found.save(tmp_path / "plan.toml")
    made = jxc.lower(model["step"], *model["arguments"](layers=6)).opt(str(tmp_path / "plan.toml"))
    assert argument_specs(made.module, 8)[1][-1] == (("data",),)


def test_rules_of_a_plan_are_read_back_as_they_are(tmp_path):
    rules = "mesh x=2\nparams['a\\\\b'] -> x\nresult['\"\"\"'] ->\n"
    FitPlan("O2").with_rules(rules).save(tmp_path / "plan.toml")
    read = tomllib.loads((tmp_path / "plan.toml").read_text())
    assert read["rules"] == rules and read["pipeline"] == "annotate-sharding,O2"


def sharded(tmp_path, source=LAYERS):
    """A program for 8 devices whose batch is split, and its function."""
    model = imported(tmp_path, source)
    (tmp_path / "step.rules").write_text("mesh data=8\nx -> data\n")
    plain = jxc.lower(model["step"], *model["arguments"]())
    return plain, plain.opt(f"annotate-sharding{{rules={tmp_path / 'step.rules'}}}")


def test_bytes_and_times_of_choices_are_those_of_one_device(tmp_path):
    plain, split = sharded(tmp_path)
    whole, part = (Choices(each, find_target("gpu:h100")) for each in (plain, split))
    first = whole.all[0]
    assert first.selectors == part.all[0].selectors == ()
    assert first.peak / 8 <= part.all[0].peak < first.peak / 6
    assert part.frontier(part.all[0]).peak.seconds < whole.frontier(first).peak.seconds
    assert part.argument_bytes == whole.argument_bytes - 7 * 4096 * 64 * 4 // 8


def test_local_types_are_restored(tmp_path):
    _, split = sharded(tmp_path)
    module = split.module.operation
    before = str(module)
    products = [op for op in walk(module) if op.operation.name == "stablehlo.dot_general"]
    with module.context, local_types(module):
        assert products[0].result.type.shape == [512, 256]
    assert products[0].result.type.shape == [4096, 256]
    assert str(module) == before


def test_loops_of_a_program_over_a_mesh_are_compared_on_one_device(tmp_path):
    plain, split = sharded(tmp_path, SCAN)
    assert str(without_shardings(split.module)) == str(plain.module)
    found = check_plan(split.module, "rematerialize{values=tanh}", 1, "", "cpu")
    assert "equal results" in found


def test_program_with_its_own_shardings_gets_bytes_of_one_device(tmp_path):
    _, split = sharded(tmp_path)
    found = jxc.fit(split, max_memory="5MiB", exact=True)
    assert found.fits and found.plan and "exact" in found.checked
    assert 0 < max(each.bytes for each in found.plan.measures) <= 4 * 512 * 256 * 4


def test_plan_that_fails_leaves_the_shardings(tmp_path, monkeypatch):
    def failing(*_):
        raise JxcError("no values")

    monkeypatch.setattr(Planner, "prospects", failing)
    model = imported(tmp_path, LAYERS)
    found = jxc.fit(model["step"], *model["arguments"](), mesh="data=2", seconds=20)
    assert found.fits and "a plan failed: no values" in str(found)
    with pytest.raises(JxcError, match="no values"):
        jxc.fit(model["step"], *model["arguments"](), mesh="data=8", max_memory="4MiB", seconds=20)

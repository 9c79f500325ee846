"""`jxc fit` over a mesh: shardings within a budget, their rules and code, and what is refused."""

import json
import os
import subprocess
import sys
import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend.targets import find_target
from jxc.errors import JxcError, UsageError
from jxc.ir.shardings import argument_specs
from jxc.tools.fit.meshes.explore import Place, Sharded
from jxc.tools.fit.meshes.partition import Prediction
from jxc.tools.fit.meshes.products import _split
from jxc.tools.fit.meshes.result import MeshFit
from jxc.tools.fit.meshes.search import meshes_for, simplest
from jxc.tools.fit.meshes.shardings import groups_of, summary, units_of

MODEL = """
import jax
import jax.numpy as jnp


def loss(params, x):
    for each in params["layers"]:
        x = x + jnp.tanh(x @ each["up"]) @ each["down"]
    return jnp.mean((x - params["shift"]) ** 2)


def step(params, moments, x):
    slopes = jax.grad(loss)(params, x)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, slopes)
    return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments


def arguments(layers=2, rows=64, width=64):
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)
    layer = {"up": f32(width, 4 * width), "down": f32(4 * width, width)}
    params = {"layers": [layer] * layers, "shift": f32(width)}
    return params, params, f32(rows, width)
"""


@pytest.fixture
def model():
    """The functions of a small network."""
    namespace = {}
    exec(MODEL, namespace)
    return namespace


def lowered(model, **sizes):
    return jxc.lower(model["step"], *model["arguments"](**sizes))


def specs_of(model, path, devices=4, **sizes):
    """The specs of the arguments after the rules in a file."""
    made = lowered(model, **sizes).opt(f"annotate-sharding{{rules={path}}}")
    return argument_specs(made.module, devices)[1]


def test_layers_are_one_group_and_moments_are_tied_to_parameters(model):
    groups = groups_of(lowered(model).module)
    assert "params['layers'][*]['up']" in [group.pattern for group in groups]
    units = units_of(groups)
    tied = [[group.pattern for group in unit.groups] for unit in units]
    assert tied[0] == [
        "params['layers'][*]['up']",
        "moments['layers'][*]['up']",
        "result[*]['layers'][*]['up']",
    ]
    assert [unit.is_updated for unit in units] == [True, True, False]
    assert tied[-1] == ["x"]


def test_arguments_of_different_shapes_are_groups_of_their_own():
    shapes = [jnp.ones((4, 8)), jnp.ones((8, 4))]
    groups = groups_of(jxc.lower(lambda weights: weights[0] @ weights[1], shapes).module)
    assert [group.pattern for group in groups] == ["weights[0]", "weights[1]", "result"]


def test_numbers_of_layers_are_left_out_but_not_those_that_tell_shapes_apart():
    layers = [(jnp.ones((4, 8)), jnp.ones((8, 4)))] * 3

    def deep(layers):
        return [(up + 1, down + 1) for up, down in layers]

    groups = groups_of(jxc.lower(deep, layers).module)
    paths = [(group.pattern, len(group.members)) for group in groups]
    assert paths[:2] == [("layers[*][0]", 3), ("layers[*][1]", 3)]
    assert paths[2:] == [("result[*][0]", 3), ("result[*][1]", 3)]


def test_numbers_in_names_of_blocks_are_left_out():
    blocks = {
        f"Block_{i}": {f"Dense_{j}": {"kernel": jnp.ones((4, 4))} for j in range(2)}
        for i in range(3)
    }
    groups = groups_of(jxc.lower(lambda params: jax.tree.map(jnp.sin, params), blocks).module)
    found = [(group.pattern, len(group.members)) for group in groups if not group.is_result]
    names = [f"params['Block_*']['Dense_{j}']['kernel']" for j in range(2)]
    assert found == [(name, 3) for name in names]


def test_moves_change_one_axis_where_it_divides(model):
    unit = units_of(groups_of(lowered(model, rows=6).module))[-1]
    mesh = {"x": 2, "y": 4}
    assert unit.shape == (6, 64)
    assert list(unit.moves((("x",),), mesh)) == [(), ((), ("x",)), (("x",), ("y",))]
    assert unit.split_largest(("x", "y"), mesh) == ((), ("x", "y"))


def test_product_keeps_what_the_result_shares_with_an_operand():
    batch, contracted = (("left", 0), "x"), (("contracted", 0), "x")
    assert _split(batch, contracted, batch) == batch
    assert _split(contracted, contracted, batch) == contracted
    assert _split(contracted, None, None) == contracted


def test_of_candidates_that_are_alike_the_one_that_splits_least_is_compiled(model):
    units = units_of(groups_of(lowered(model).module))
    specs = {unit.groups[0]: (("x",),) for unit in units}

    def candidate(specs, seconds, needed=100):
        return Sharded(Place({"x": 4}), specs, {}, Prediction(seconds, 0.0, needed, ()))

    few = dict(list(specs.items())[-1:])
    best = candidate(specs, 1.0)
    alike, slower, larger = candidate(few, 1.01), candidate(few, 1.1), candidate(few, 1.01, 120)
    assert simplest(best, [best, slower, larger]) is best
    assert simplest(best, [best, slower, larger, alike]) is alike


def test_shardings_are_found_and_their_rules_apply_to_other_sizes(model, tmp_path):
    found = jxc.fit(model["step"], *model["arguments"](), devices=4)
    assert isinstance(found, MeshFit) and found.fits and len(found.trials) <= 5
    chosen = found.chosen.sharded
    assert np.prod(list(chosen.mesh.values())) == 4
    assert found.chosen.seconds == min(trial.seconds for trial in found.trials)
    assert any(any(spec) for spec in chosen.specs.values())
    found.save(tmp_path / "step.rules")
    two = specs_of(model, tmp_path / "step.rules")
    three = specs_of(model, tmp_path / "step.rules", layers=3, rows=128)
    assert len(three) == len(two) + 4 and set(three) == set(two)


def test_small_budget_splits_parameters_and_moments(model):
    args = model["arguments"](rows=4096, width=128)
    plenty = jxc.fit(model["step"], *args, mesh="data=4")
    whole = sum(np.prod(leaf.shape) * 4 for leaf in jax.tree.leaves(args[:2]))
    held = {g.pattern: s for g, s in plenty.chosen.sharded.specs.items() if not g.is_result}
    assert held["x"] == (("data",),), summary(plenty.chosen.sharded.specs)
    little = jxc.fit(model["step"], *args, mesh="data=4", max_memory=plenty.chosen.needed - 1)
    if little.fits:
        assert little.chosen.needed < plenty.chosen.needed
    split = {g.pattern: s for g, s in little.smallest.sharded.specs.items() if not g.is_result}
    assert any(split["moments['layers'][*]['up']"]) and whole


def test_nothing_that_fits_shows_the_smallest(model, tmp_path):
    found = jxc.fit(model["step"], *model["arguments"](), mesh="data=2", max_memory="10KiB")
    assert not found.fits and found.chosen is None and not found.code
    assert "no sharding fits into 10 KiB; the smallest needs" in str(found)
    assert "what holds the rest:" in str(found)
    with pytest.raises(UsageError, match="none fits"):
        found.save(tmp_path / "step.rules")


RUN = """
import jax.numpy as jnp
import numpy as np
from code_ import arguments, fast, in_shardings, step

random = np.random.default_rng(0)
given = jax.tree.map(lambda a: jnp.asarray(random.normal(0, 0.1, a.shape), a.dtype), arguments)
expected = jax.jit(step)(*given)
found = fast(*jax.tree.map(jax.device_put, given, in_shardings))
for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
    np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
print({len(each.sharding.device_set) for each in jax.tree.leaves(found)})
"""


@pytest.mark.parametrize("devices", [8])
def test_code_runs_as_printed_and_keeps_the_results(model, devices, tmp_path):
    found = jxc.fit(model["step"], *model["arguments"](), devices=devices)
    text = str(found)
    assert all(line in text for line in found.code.strip().splitlines())
    (tmp_path / "code_.py").write_text(f"{MODEL}\narguments = arguments()\n{found.code}")
    (tmp_path / "run.py").write_text(f"import jax\n{RUN}")
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": str(devices), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == [f"{{{devices}}}"], done.stderr


def test_meshes_have_one_or_two_axes_or_those_of_the_user(model):
    here = lowered(model)
    tpu, cpu = find_target("tpu:v5e:4x4"), find_target("cpu")
    assert meshes_for(here, tpu, None, None) == [
        {"x": 4, "y": 4},
        {"x": 2, "y": 8},
        {"x": 8, "y": 2},
    ]
    assert meshes_for(here, cpu, None, 3) == [{"x": 3}]
    assert meshes_for(here, cpu, {"data": 2, "model": 1}, None) == [{"data": 2, "model": 1}]
    with pytest.raises(UsageError, match="give a mesh"):
        meshes_for(here, cpu, None, None)
    with pytest.raises(UsageError, match="has 4 devices, not 8"):
        meshes_for(here, cpu, {"data": 4}, 8)


def test_program_without_arrays_is_refused():
    with pytest.raises((UsageError, JxcError), match="no argument that could be split"):
        jxc.fit(lambda x: x + 1, jnp.float32(1), devices=2)


def jxc_command(*arguments, folder):
    command = [sys.executable, "-c", "from jxc.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_command_writes_rules_over_the_mesh_of_the_user(tmp_path):
    (tmp_path / "network.py").write_text(MODEL)
    given = ["fit", "network.py:step", "--mesh", "data=2,model=2"]
    done = jxc_command(*given, "-o", "step.rules", "--json", folder=tmp_path)
    found = json.loads(done.stdout)
    assert found["fits"] and found["chosen"]["mesh"] == {"data": 2, "model": 2}
    assert (tmp_path / "step.rules").read_text() == found["rules"]
    done = jxc_command(*given, "-o", "step.toml", "--json", folder=tmp_path)
    plan = tomllib.loads((tmp_path / "step.toml").read_text())
    assert plan["rules"] == json.loads(done.stdout)["rules"]
    assert plan["pipeline"] == "annotate-sharding,O2"


def test_command_with_shardings_makes_a_plan(tmp_path):
    (tmp_path / "network.py").write_text(MODEL)
    given = ["fit", "network.py:step", "--mesh", "data=2", "--sharding", "x=data", "--json"]
    found = json.loads(jxc_command(*given, folder=tmp_path).stdout)
    assert found["fits"] and "plan" in found

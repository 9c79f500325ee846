"""Modules for several devices, compiled for the devices of this process, saved and loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import jxc
from jxc import load, save
from jxc.backend.artifacts.header import ArtifactError
from jxc.backend.from_module import lowered_from_module
from jxc.backend.lowered import CrossExecutable
from jxc.backend.targets import find_target
from jxc.backend.targets.build import build
from jxc.errors import JxcError
from jxc.frontend.lowering import lower
from jxc.frontend.mesh import environment_of_host
from jxc.ir import make_context, read_module, write_text

WEIGHTS, X = jnp.arange(32.0).reshape(8, 4) / 99, jnp.arange(16.0).reshape(2, 8) / 9


def product(params, unused, x):
    return jnp.tanh(x @ params["w"]), jnp.sum(x)


@pytest.fixture(scope="module")
def text():
    """The text of `product` lowered over four devices, without the unused argument."""
    shapes = ({"w": jax.typeof(WEIGHTS)}, jax.typeof(X), jax.typeof(X))
    given = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), shapes)
    split = {"x": P("data"), "params['w']": P(None, "model")}
    return write_text(
        lower(product, given, mesh={"data": 2, "model": 2}, in_shardings=split).module
    )


def read(text):
    return lowered_from_module(read_module(text, make_context()))


def test_module_with_a_mesh_runs_on_its_devices(text, tmp_path):
    low = read(text)
    assert low.mesh == {"data": 2, "model": 2}
    header = save(low.opt().compile(), tmp_path / "product.jxc")
    assert (header.devices, dict(header.mesh)) == (4, {"data": 2, "model": 2})
    assert [leaf.spec for leaf in header.arguments] == [((), ("model",)), (("data",),)]
    loaded = load(tmp_path / "product.jxc")
    found, total = loaded(WEIGHTS, X)
    assert len(found.sharding.device_set) == 4
    expected = product({"w": WEIGHTS}, None, X)
    np.testing.assert_allclose(found, expected[0], rtol=1e-5)
    np.testing.assert_allclose(total, expected[1], rtol=1e-5)
    assert loaded.compiled.input_shardings[0][0].spec == P(None, "model")


LOADING = """
import sys, jax.numpy as jnp, numpy as np, jxc
x = np.arange(32, dtype=np.float32).reshape(8, 4)
try:
    found = jxc.load(sys.argv[1])(x)
except jxc.JxcError as error:
    print(type(error).__name__, error)
else:
    print(len(found.sharding.device_set), np.allclose(found, np.sin(x) @ x.T, rtol=1e-5))
"""


def run_with_devices(count, file):
    """What a process with so many CPU devices prints that loads a program and runs it."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **environment_of_host(count)}
    command = [sys.executable, "-c", LOADING, str(file)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_saved_program_runs_on_other_numbers_and_orders_of_devices(tmp_path):
    file, x = tmp_path / "split.jxc", jnp.arange(32.0).reshape(8, 4)
    devices = np.array(jax.devices())[[3, 1, 2, 0]].reshape(2, 2)
    sharding = NamedSharding(Mesh(devices, ("a", "b")), P("b", "a"))
    lowered = jxc.lower(lambda x: jnp.sin(x) @ x.T, jax.device_put(x, sharding))
    header = save(lowered.compile(), file)
    assert (header.platform, header.devices, dict(header.mesh)) == ("cpu", 4, {"a": 2, "b": 2})
    np.testing.assert_allclose(load(file)(x), jnp.sin(x) @ x.T, rtol=1e-5)
    assert run_with_devices(4, file) == run_with_devices(6, file) == "4 True"
    assert "is for 4 devices, and JAX finds 2 here: JAX_NUM_CPU_DEVICES=4" in run_with_devices(
        2, file
    )


def test_module_without_argument_shardings_compiles_for_its_devices():
    plain = write_text(jxc.lower(jnp.sin, X).module)
    low = read(plain.replace("num_partitions = 1", "num_partitions = 4"))
    assert low.mesh == {"devices": 4}
    (found,) = low.compile()(X)
    np.testing.assert_allclose(found, jnp.sin(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("num_partitions = 4", "num_partitions = 2", "is for 2 devices: expected one such mesh"),
        ("num_replicas = 1", "num_replicas = 3", "mhlo.num_replicas = 3"),
        ('sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>', 'mhlo.sharding = "{replicated}"',
         "sharded by mhlo.sharding"),
    ],
)  # fmt: skip
def test_module_with_several_meshes_or_gspmd_shardings_is_rejected(text, old, new, says):
    assert old in text
    with pytest.raises(JxcError, match=says):
        read(text.replace(old, new))


def test_sharding_over_part_of_an_axis_is_rejected(text):
    joined = text.replace('"data"=2, "model"=2', '"data"=4').replace('{"model"}', "{}")
    with pytest.raises(JxcError, match="argument 1 is split over a part of an axis"):
        read(joined.replace('{"data"}', '{"data":(1)2}'))


def test_save_rejects_several_devices_of_other_hardware(text, tmp_path):
    low = read(text)
    elsewhere = CrossExecutable(build(low.module, find_target("cpu")), low)
    with pytest.raises(
        ArtifactError, match="4 devices of cpu, and programs for several devices can be saved"
    ):
        save(elsewhere, tmp_path / "x.jxc")

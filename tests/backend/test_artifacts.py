"""Saved executables: what is kept, and files that are refused."""

import collections
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc import load, save
from jxc.backend.artifacts.header import MAGIC, ArtifactError, checksum, read_artifact
from jxc.errors import MissingTargetError, UsageError

Pair = collections.namedtuple("Pair", "left right")


# Saving and loading


def factor(params, x, unused, *, key):
    """A program with LAPACK, random keys, a donated argument and an unused one."""
    _, r = jnp.linalg.qr(x @ params["w"])
    out = {"r": jnp.linalg.cholesky(r.T @ r + jnp.eye(4)), "keys": jax.random.split(key, 3)}
    return out, x + 1, Pair([params["pair"].left], None), params["empty"]


def factor_inputs():
    params = {
        "w": jnp.ones((4, 4)),
        "none": None,
        "pair": Pair(jnp.ones(2, jnp.bfloat16), [jnp.zeros(3)]),
        "empty": jnp.zeros((0, 3)),
    }
    x = jnp.arange(16.0).reshape(4, 4)
    return (params, x, jnp.ones(3)), {"key": jax.random.key(1)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved executable, and its results."""
    args, kwargs = factor_inputs()
    executable = jxc.lower(jax.jit(factor, donate_argnums=1), *args, **kwargs).opt().compile()
    path = tmp_path_factory.mktemp("saved") / "factor.jxc"
    save(executable, path)
    return path, executable(*args, **kwargs)


LOADING = """
import sys
import numpy as np, jax
from jxc import load
sys.path.insert(0, sys.argv[2])
from tests.backend.test_artifacts import factor_inputs
args, kwargs = factor_inputs()
out, x, pair, empty = load(sys.argv[1])(*args, **kwargs)
assert args[1].is_deleted() and not args[0]["w"].is_deleted()
assert type(pair) is tuple and type(pair[0]) is list and pair[1] is None
keys = jax.random.key_data(out["keys"])
np.savez(sys.argv[3], r=out["r"], keys=keys, x=x, left=np.float32(pair[0][0]), empty=empty)
"""


def test_load_runs_a_saved_program_in_another_process(saved, tmp_path, request):
    path, (out, x, pair, empty) = saved
    result = tmp_path / "result.npz"
    program = [sys.executable, "-c", LOADING, path, request.config.rootpath, result]
    subprocess.run(program, check=True)
    found = np.load(result)
    np.testing.assert_array_equal(found["r"], out["r"])
    np.testing.assert_array_equal(found["keys"], jax.random.key_data(out["keys"]))
    np.testing.assert_array_equal(found["x"], x)
    np.testing.assert_array_equal(found["left"], np.float32(pair.left[0]))
    assert found["empty"].shape == empty.shape


def test_save_keeps_arguments_passed_through_and_python_numbers(tmp_path):
    low = jxc.lower(lambda x, y: (x, {"sum": x + y, "x": x}), 1.0, jnp.arange(3.0))
    save(low.compile(), tmp_path / "sum.jxc")
    x, out = load(tmp_path / "sum.jxc")(2.0, jnp.arange(3.0))
    assert x == out["x"] == 2
    np.testing.assert_array_equal(out["sum"], [2, 3, 4])


def test_save_keeps_the_old_file_if_it_cannot_replace_it(tmp_path, monkeypatch):
    path = tmp_path / "sine.jxc"
    path.write_bytes(b"earlier")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(ArtifactError, match="No space left"):
        save(jxc.lower(jnp.sin, 1.0).compile(), path)
    assert path.read_bytes() == b"earlier" and list(tmp_path.iterdir()) == [path]


def test_save_keeps_64_bit_types(tmp_path):
    with jax.enable_x64(True):
        save(jxc.lower(lambda x: x / 3, 1.0).compile(), tmp_path / "third.jxc")
    third = load(tmp_path / "third.jxc")(1.0)
    assert third.dtype == "float64" and float(third) == 1 / 3


def test_loaded_program_names_wrong_arguments(saved):
    program = load(saved[0])
    args, kwargs = factor_inputs()
    with pytest.raises(
        UsageError, match=r"expected kwargs\['key'\] of type key<fry>\[\], found no"
    ):
        program(*args)
    with pytest.raises(UsageError, match=r"expected args\[1\] of type float32\[4,4\], found .*\[2"):
        program(args[0], jnp.ones((2, 2)), *args[2:], **kwargs)


def parts_of(path):
    """The header of a file as an object, and the executable."""
    raw = path.read_bytes()
    start = len(MAGIC) + 4
    end = start + int.from_bytes(raw[start - 4 : start], "little")
    return json.loads(raw[start:end]), raw[end:]


def edited_header(path, to, **changes):
    """The file with other fields in its header, and a correct checksum."""
    record, executable = parts_of(path)
    record |= changes
    del record["sha256"]
    header = json.dumps({**record, "sha256": checksum(record, executable)}).encode()
    to.write_bytes(MAGIC + len(header).to_bytes(4, "little") + header + executable)
    return to


def nested(depth):
    """The nesting of an empty list in so many lists, as a header has it."""
    tree = {"list": []}
    for _ in range(depth):
        tree = {"list": [tree]}
    return tree


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"versions": {"jaxlib": "0.1.2"}}, ArtifactError, "made by jaxlib 0.1.2, and this is"),
        ({"schema_version": 99}, ArtifactError, "schema version 99"),
        ({"machine": {"architecture": "vax"}}, ArtifactError, "architecture vax"),
        ({"platform": "tpu", "target": "tpu:v5e:2x2"}, MissingTargetError, "finds no TPU here"),
        ({"device_kind": "H100"}, MissingTargetError, "and this machine has a cpu"),
        (
            {"devices": 8, "mesh": {"x": 8}},
            MissingTargetError,
            "for 8 devices, and JAX finds 4 here: JAX_NUM_CPU_DEVICES=8",
        ),
        ({"arguments": None}, ArtifactError, "expected an array at arguments, found null"),
        ({"devices": 8}, ArtifactError, "expected one device for each position of its mesh"),
        ({"machine": {"features": [[1]]}}, ArtifactError, "a string or an array at machine.feat"),
        ({"x64": 1}, ArtifactError, "expected true or false at x64, found an integer"),
        ({"argument_tree": {"dict": 3}}, ArtifactError, "expected a nesting of its arrays"),
        ({"argument_tree": [[]]}, ArtifactError, "expected a nesting of its arrays"),
        ({"result_tree": "*"}, ArtifactError, "expected a nesting of all of its arrays"),
        ({"result_tree": nested(300)}, ArtifactError, "it nests more than 500 levels"),
    ],
)
def test_load_rejects_other_versions_machines_and_devices(saved, tmp_path, changes, error, says):
    with pytest.raises(error, match=says):
        load(edited_header(saved[0], tmp_path / "edited.jxc", **changes))


@pytest.mark.parametrize(
    "change",
    [{"shape": [-1]}, {"shape": [10**30]}, {"dtype": "zzz"}, {"dtype": "key<zzz>"}],
    ids=str,
)
def test_load_rejects_arrays_that_do_not_exist(saved, tmp_path, change):
    first, *rest = parts_of(saved[0])[0]["arguments"]
    arguments = [{**first, **change}, *rest]
    with pytest.raises(ArtifactError, match="is damaged: its header describes no program: "):
        load(edited_header(saved[0], tmp_path / "edited.jxc", arguments=arguments))


def test_load_rejects_a_processor_with_fewer_features(saved, tmp_path):
    path = tmp_path / "edited.jxc"
    machine = {"architecture": load(saved[0]).header.machine["architecture"], "features": ["sse9"]}
    with pytest.raises(ArtifactError, match="features that this one lacks: sse9"):
        load(edited_header(saved[0], path, machine=machine))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda raw: raw[:-1], "its checksum is not"),
        (lambda raw: raw[:40], "header ends too early"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "its checksum is not"),
        (lambda raw: raw[8:], "does not begin like one"),
        (lambda raw: b"", "does not begin like one"),
    ],
)
def test_load_rejects_a_damaged_file(saved, tmp_path, damage, says):
    path = tmp_path / "damaged.jxc"
    path.write_bytes(damage(saved[0].read_bytes()))
    with pytest.raises(ArtifactError, match=says):
        load(path)


def test_load_rejects_every_flipped_byte_of_a_header(saved, tmp_path):
    raw, path = saved[0].read_bytes(), tmp_path / "flipped.jxc"
    end = len(MAGIC) + 4 + int.from_bytes(raw[len(MAGIC) : len(MAGIC) + 4], "little")
    for at in range(0, end, 7):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :])
        with pytest.raises(ArtifactError):
            read_artifact(path)


def with_callback(x):
    jax.debug.print("x is {}", x)
    return x


def test_save_rejects_callbacks(tmp_path):
    with pytest.raises(ArtifactError, match="calls back into Python"):
        save(jxc.lower(with_callback, 1.0).compile(), tmp_path / "with_callback.jxc")
    assert not (tmp_path / "with_callback.jxc").exists()

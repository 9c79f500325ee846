"""Saved executables, stages written to files and compiled further, and passes on HLO."""

import collections
import json
import subprocess
import sys
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc import load, save
from jxc.backend.artifacts.header import MAGIC, ArtifactError, checksum, read_artifact
from jxc.backend.artifacts.hlo_pass import HloPass, compile_here, compile_through, compile_with
from jxc.backend.artifacts.resume import lowered_from_hlo
from jxc.backend.artifacts.stages import disassemble, emit
from jxc.backend.artifacts.xla_passes import _without_numbers, trace_passes
from jxc.backend.targets import find_target
from jxc.errors import JxcError, MissingTargetError, UsageError
from jxc.rewrite import PassContext

Pair = collections.namedtuple("Pair", "left right")

CPU = find_target("cpu")

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


# Compiling a stage further


OFFSETS = np.random.default_rng(0).random(40).astype(np.float32)


def scaled(x):
    return {"sin": jnp.sin(x) * 2.5 + OFFSETS, "sum": jnp.sum(x)}


@pytest.fixture(scope="module")
def optimized():
    """Optimized HLO with its constants."""
    low = jxc.lower(scaled, jnp.ones(40))
    return emit(low, ["hlo"], CPU, whole_constants=True)["hlo"]


def test_optimized_hlo_is_compiled_without_xla_passes(optimized):
    x = jnp.linspace(0, 1, 40)
    expected = jxc.lower(scaled, x).compile()(x)
    same, total = lowered_from_hlo(optimized).compile()(x)
    np.testing.assert_array_equal(same, expected["sin"])
    assert total == expected["sum"]
    edited, _ = lowered_from_hlo(optimized.replace("constant(2.5)", "constant(100)")).compile()(x)
    np.testing.assert_allclose(edited, jnp.sin(x) * 100 + OFFSETS, rtol=1e-5)
    np.testing.assert_array_equal(jxc.lower(scaled, x).compile()(x)["sin"], expected["sin"])


def test_lowered_from_hlo_rejects_an_elided_constant(optimized):
    short = jxc.lower(scaled, jnp.ones(40)).compile().as_text()
    assert "constant({...})" in short
    with pytest.raises(JxcError, match=r"x.txt:\d+: a large constant was elided"):
        lowered_from_hlo(short, "x.txt")
    with pytest.raises(JxcError, match="a large constant was elided"):
        jxc.ir.read_module(short, jxc.ir.make_context())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (", is_scheduled=true", "", "not scheduled"),
        ("is_scheduled=true", "is_scheduled=true, num_partitions=2", "for several devices"),
        ("parameter(0)", "parameter(one)", "malformed HLO"),
    ],
)
def test_lowered_from_hlo_rejects_other_modules(optimized, old, new, says):
    assert old in optimized
    with pytest.raises(JxcError, match=says):
        lowered_from_hlo(optimized.replace(old, new, 1))


def test_xla_rejects_hlo_of_wrong_types(optimized):
    wrong = optimized.replace("f32[40]{0} sine(", "s32[40]{0} sine(")
    assert wrong != optimized
    with pytest.raises(JxcError, match=r"XLA does not compile it: .*shape"):
        compile_with(lowered_from_hlo(wrong), CPU)


def test_lowered_from_hlo_reads_the_signature_of_the_entry(optimized):
    wrong = optimized.replace("->(f32[40]{0}, f32[])", "->(s32[40]{0}, f32[])", 1)
    assert wrong != optimized
    assert lowered_from_hlo(wrong).compile()(jnp.ones(40))[0].dtype == "float32"


COLUMNS = """HloModule m, is_scheduled=true
ENTRY e { ROOT p = f32[4,3]{0,1} parameter(0) }
"""


def test_lowered_from_hlo_rejects_layouts_that_jax_does_not_pass():
    with pytest.raises(JxcError, match=r"parameter 0 has the layout f32\[4,3\]\{0,1\}"):
        lowered_from_hlo(COLUMNS)


# Passes on HLO


def larger(hlo, context):
    assert context.target == "cpu"
    return hlo.replace("constant(2.5)", "constant(100)")


def run_with(hlo_pass, x):
    low = jxc.lower(scaled, x)
    context = PassContext("cpu")
    return compile_through(hlo_pass, low.module, context, lambda module: compile_here(low, module))(
        x
    )


@pytest.mark.parametrize("stage", ["before", "pre-scheduler", "post-scheduler"])
def test_hlo_pass_runs_on_one_compilation_only(stage):
    x = jnp.linspace(0, 1, 40)
    plain = jxc.lower(scaled, x).compile()(x)["sin"]
    changed = run_with(HloPass("larger", larger, stage), x)["sin"]
    np.testing.assert_allclose(changed, jnp.sin(x) * 100 + OFFSETS, rtol=1e-5)
    np.testing.assert_array_equal(jxc.lower(scaled, x).compile()(x)["sin"], plain)


def test_hlo_pass_bypasses_the_persistent_cache(tmp_path):
    from jax.experimental.compilation_cache import compilation_cache as cache

    x = jnp.linspace(0, 1, 40)
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_enable_compilation_cache": True,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        cache.reset_cache()
        run_with(HloPass("larger", larger, "pre-scheduler"), x)
        assert not [file for file in tmp_path.iterdir() if "scaled" in file.name]
        jxc.lower(scaled, x).compile()
        assert [file for file in tmp_path.iterdir() if "scaled" in file.name]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        cache.reset_cache()


NOTHING = """HloModule m, is_scheduled=true
ENTRY e { x = f32[40]{0} parameter(0) ROOT y = (f32[40]{0}) tuple(x) }
"""


def test_hlo_pass_errors_name_the_users_line():
    x = jnp.ones(40)
    wrong = {
        "raised ZeroDivisionError": lambda hlo, context: 1 / 0,
        "raised SystemExit": lambda hlo, context: sys.exit(1),
        "returned HLO that does not parse": lambda hlo, context: "no HLO",
        "returned int: expected HLO text": lambda hlo, context: 3,
        "changed the parameters or results": lambda hlo, context: NOTHING,
    }
    for says, function in wrong.items():
        for stage in ("before", "post-scheduler"):
            with pytest.raises(JxcError, match=says) as caught:
                run_with(HloPass("wrong", function, stage), x)
            assert "test_artifacts.py:" in str(caught.value)
    assert run_with(HloPass("none", lambda hlo, context: None, "pre-scheduler"), x)["sum"] == 40
    with pytest.raises(UsageError, match="expected one of before, pre-scheduler"):
        HloPass("late", larger, "late")


# XLA's passes


def test_trace_passes_gives_a_file_for_each_change():
    low = jxc.lower(jax.grad(lambda x: jnp.sum(jnp.tanh(x @ x) * 2.0)), jnp.ones((8, 8)))
    found = trace_passes(low.module, CPU)
    files = found.files()
    assert next(iter(files)) == "0000-before.txt" and found.runs > len(found.changes) > 2
    assert "0001-" in list(files)[1] and any("fusion" in name for name in files)
    texts = [_without_numbers(text) for text in files.values()]
    assert all(one != other for one, other in pairwise(texts))
    assert 0 < sum(found.seconds.values()) < found.build.seconds
    assert all(change.pipeline for change in found.changes)


def test_trace_passes_ignores_renumbered_instructions():
    one = '%a.1 = f32[] add(%b.2, %c.3), metadata={op_name="f" stack_frame_id=4}'
    numbered = one.replace(".1", ".7").replace("id=4", "id=9")
    swapped = one.replace("%b.2, %c.3", "%c.3, %b.2")
    assert _without_numbers(one) == _without_numbers(numbered)
    twice = "%b.2 = f32[] parameter(0)\n%c.3 = f32[] parameter(1)\n"
    assert _without_numbers(twice + one) != _without_numbers(twice + swapped)


def test_disassemble_names_the_missing_tools(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JxcError, match="neither objdump nor llvm-objdump is on the path"):
        disassemble({"kernel.o": b""})

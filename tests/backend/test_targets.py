"""Targets: their names, their data files, and the process that compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jxc.backend import _private, targets as finding
from jxc.backend.lowered import CrossExecutable
from jxc.backend.targets import (
    Target,
    all_offers,
    find_target,
    find_targets,
    gpu,
    require,
    worker,
)
from jxc.backend.targets.build import RESULT, BuildError, build
from jxc.compiled.kernels import peak_of
from jxc.cost import device as device_file
from jxc.cost.device import known_devices
from jxc.errors import JxcError, MissingTargetError, UsageError
from jxc.ir import make_context, read_module

ADD = """
module @add {
  func.func public @main(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
    %0 = stablehlo.add %a, %b : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
"""


def test_a_tpu_has_as_many_devices_as_its_topology():
    assert find_target("tpu:v5e:4x4").most_devices == 16
    assert find_target("tpu:v4:2x2x1").most_devices == 4
    assert find_target("tpu:v3:2x2").most_devices == 8, "JAX counts each core of a v3"
    assert find_target("tpu:v5e").most_devices == 1
    assert find_target("tpu:v4:2x2x3").most_devices == 12, "the third size may be any number"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xpu", "expected cpu, gpu, tpu"),
        ("tpu:v9:2x2", "no TPU 'v9' is known; known are"),
        ("tpu:v5e:2", "expected a topology such as 2x2"),
        ("tpu:v5p:2x2", "expected a topology such as 2x2x1"),
        ("tpu:v5e:0x2", "expected a topology"),
        ("tpu:v5e:3x5", "extents of a topology are 1 or even, such as 2x2"),
        ("tpu:v4:2x5x1", "extents of a topology are 1 or even, such as 2x2x1"),
        ("tpu:v5e:100x100", "TPU v5e goes up to 16x16 chips"),
        ("gpu:h10", "Did you mean 'h100'?"),
        ("gpu:@no-such-file", "No such file"),
        ("cpu:4", "--mesh says how many"),
        ("cpu,,gpu:h100", "names separated by commas"),
    ],
)
def test_unknown_target_error_lists_the_known_ones(name, message):
    with pytest.raises(UsageError) as caught:
        find_targets(name)
    assert message in str(caught.value)


def test_a_target_named_twice_counts_once():
    assert [t.name for t in find_targets("cpu, tpu:v5e:2x2,cpu")] == ["cpu", "tpu:v5e:2x2"]


@pytest.mark.parametrize("kind", ["gpu", "tpu"])
def test_every_device_file_has_all_numbers(kind):
    for name, device in known_devices(kind).items():
        assert device.memory_bytes > 2**33 and device.bandwidth > 1e11, name
        assert device.peak_flops["f32"] > 1e12 and device.source and device.device_kind, name
        assert device.network, name
        assert device.network.kind == {"gpu": "switch", "tpu": "torus"}[kind], name
        assert 1e10 < device.network.bandwidth < device.bandwidth, name


def test_elementwise_work_on_a_tpu_is_priced_at_its_vector_unit():
    for name, device in known_devices("tpu").items():
        elementwise, product = peak_of(device, "elementwise-f32"), peak_of(device, "tf32")
        assert 10 * elementwise < product, name
        assert elementwise <= peak_of(device, "function-f32") < product, name
        assert peak_of(device, "scalar-elementwise-f64") == elementwise, name
        assert peak_of(device, "convolution-bf16") == peak_of(device, "bf16"), name


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"bandwidth": 1.0, "kind": "star", "source": "s"}, "expected kind torus, switch, memory"),
        ({"bandwith": 1.0}, "bandwith"),
    ],
)
def test_a_wrong_number_in_a_device_file_names_the_file(numbers, message):
    with pytest.raises(JxcError, match=rf"devices/some\.toml: .*{message}"):
        device_file._device("some", {"kind": "gpu", "network": numbers})


def test_topologies_that_close_to_rings_say_so():
    assert find_target("tpu:v5p:4x4x8").topology["wrap"] == (True, True, True)
    assert find_target("tpu:v5e:8x16").topology["wrap"] == (False, True, False)
    assert "wrap" not in find_target("tpu:v5p:2x4x4").topology


def test_gpu_description_reads_back(tmp_path):
    h200 = known_devices("gpu")["h200"]
    file = tmp_path / "ours.pbtxt"
    file.write_text(find_target("gpu:h200").topology["target_config"])
    described = find_target(f"gpu:@{file}").device
    assert described.memory_bytes == h200.memory_bytes
    assert described.bandwidth == h200.bandwidth
    assert described.peak_flops["bf16"] == h200.peak_flops["bf16"]
    assert described.name == "ours" and described.device_kind == h200.settings["description"]
    file.write_text(file.read_text().replace(h200.settings["description"], "NVIDIA L40S"))
    assert find_target(f"gpu:@{file}").device.device_kind == "NVIDIA L40S"


def test_gpu_file_without_a_description_is_rejected(tmp_path):
    file = tmp_path / "x.pbtxt"
    file.write_text("platform_name: 'CUDA'")
    with pytest.raises(UsageError, match="found no device_memory_size"):
        find_target(f"gpu:@{file}")


def test_oldest_gpus_require_an_older_ptxas(monkeypatch):
    monkeypatch.setattr(gpu, "_cuda_of", lambda ptxas: 13)
    monkeypatch.setattr(gpu, "_version_of", lambda package: gpu.version("jaxlib"))
    assert "cu12" in find_target("gpu:v100").missing
    monkeypatch.setattr(gpu, "_cuda_of", lambda ptxas: 12)
    monkeypatch.setattr(gpu.shutil, "which", lambda name: f"/bin/{name}")
    assert find_target("gpu:v100").missing == ""


def test_gpu_plugin_must_have_the_version_of_jaxlib(monkeypatch):
    monkeypatch.setattr(gpu, "_version_of", lambda package: "0.1.0")
    assert find_target("gpu:h100").missing.startswith("pip install jax-cuda13-plugin==")


def test_build_names_a_missing_compiler():
    missing = Target("gpu:x", "gpu", "cuda", known_devices("gpu")["h100"], missing="pip install x")
    with pytest.raises(MissingTargetError, match="not installed here: pip install x"):
        require(missing)
    with pytest.raises(MissingTargetError):
        build(read_module(ADD, make_context()), missing)


MIXED = """
module @mixed {
  func.func public @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.tanh %0 : tensor<64x64xf32>
    %2 = stablehlo.add %1, %a : tensor<64x64xf32>
    return %2 : tensor<64x64xf32>
  }
}
"""


class _Family:
    """A family of targets as another package would provide it."""

    @staticmethod
    def find(rest):
        return find_target("cpu")

    @staticmethod
    def offers():
        return ()

    @staticmethod
    def devices(target, count):
        return jax.devices("cpu")[:count]


def test_entry_points_add_families_of_targets(monkeypatch):
    point = EntryPoint("npu", f"{__name__}:_Family", finding.ENTRY_POINTS)
    monkeypatch.setattr(finding, "entry_points", lambda group: [point])
    assert find_target("npu:1").kind == "cpu"
    assert next(offer.name for offer in all_offers()) == "cpu"
    with pytest.raises(UsageError, match="expected cpu, gpu, tpu, npu"):
        find_target("apu")


def test_build_compiles_for_the_cpu():
    made = build(read_module(ADD, make_context()), find_target("cpu"), files=("*.ll",))
    assert "add" in made.hlo and "is_scheduled=true" in made.hlo
    assert "add" in made.hlo_before and "allocation" in made.buffer_assignment
    assert made.memory["argument_size_in_bytes"] == 512
    assert made.cost["flops"] == 64
    assert made.seconds > 0 and made.executable


ABANDONED = """
import os, sys
from jxc.backend.targets import find_target
from jxc.backend.targets.build import start_build
from jxc.ir import make_context, read_module

running = start_build(read_module(sys.argv[1], make_context()), find_target("cpu"))
print(running._child.pid, running._folder.name, flush=True)
os._exit(0)
"""


def test_compiler_ends_with_the_process_that_wants_its_output():
    command = [sys.executable, "-c", ABANDONED, ADD]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pid, folder = printed.split()
    try:
        for _ in range(600):
            if not is_running(int(pid)):
                break
            time.sleep(0.1)
        assert not is_running(int(pid))
        assert not (Path(folder) / RESULT).exists(), "it compiled to the end"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_running(pid):
    state = Path(f"/proc/{pid}/stat")
    if Path("/proc/self").exists():
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0


def test_module_without_tiles_is_compiled_without_tritons_products(monkeypatch):
    plain, seen = _private.compile_for, []

    def without_tiles(module, devices, options):
        seen.append(options.get("xla_gpu_enable_triton_gemm"))
        if seen[-1] is None:
            raise RuntimeError("INTERNAL: Couldn't find output tile sizes that satisfy hlo: %dot")
        return plain(module, devices, options)

    monkeypatch.setattr(_private, "compile_for", without_tiles)
    found = build(read_module(ADD, make_context()), find_target("cpu"), compiler=worker.main)
    assert seen == [None, False]
    assert "without Triton's matrix products" in found.note
    assert jax.config.jax_enable_compilation_cache  # in this process as well


def test_build_splits_the_cpu_into_the_devices_of_the_program():
    text = ADD.replace("module @add {", "module @add attributes {mhlo.num_partitions = 4 : i32} {")
    made = build(read_module(text, make_context()), find_target("cpu"))
    assert "num_partitions=4" in made.hlo


def test_build_rejects_more_devices_than_the_target_has():
    text = ADD.replace("module @add {", "module @add attributes {mhlo.num_partitions = 8 : i32} {")
    tpu = find_target("tpu:v5e:2x2")
    present = Target(tpu.name, tpu.kind, tpu.platform, tpu.device, tpu.most_devices)
    with pytest.raises(JxcError, match="is for 8 devices, and tpu:v5e:2x2 has 4"):
        build(read_module(text, make_context()), present)


def test_build_error_has_the_compilers_message():
    text = ADD.replace("stablehlo.add %a, %b", "stablehlo.custom_call @nobody(%a, %b)").replace(
        ": tensor<64xf32>\n    return",
        ": (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>\n    return",
    )
    options = {"xla_no_such_option": True}
    with pytest.raises(BuildError) as caught:
        build(read_module(text, make_context()), find_target("cpu"), xla_options=options)
    assert "xla_no_such_option" in caught.value.compiler_message
    assert "XLA does not compile it for cpu" in str(caught.value)


def test_build_error_of_a_crash_omits_the_stack():
    environment = {"XLA_FLAGS": "--xla_no_such_option"}
    with pytest.raises(BuildError) as caught:
        build(read_module(ADD, make_context()), find_target("cpu"), environment=environment)
    assert re.search(r"the compiler died \(.*\): Unknown flags? in XLA_FLAGS", str(caught.value))
    assert "@ 0x" not in str(caught.value)


def test_compile_for_another_target_lowers_again():
    import jxc

    low = jxc.lower(jnp.sin, jnp.ones(8)).opt("O1")
    if not (tpu := find_target("tpu:v5e:2x2")).missing:
        made = low.compile(tpu.name)
        assert made.lowered.platform == "tpu" and made.memory()["argument"] > 0
        with pytest.raises(MissingTargetError, match="call it there"):
            made(jnp.ones(8))
    again = low.for_target("tpu:v5e:2x2")
    assert again.platform == "tpu" and again.pipeline == low.pipeline
    assert low.compile("cpu")(jnp.zeros(8))[0] == 0


def test_cost_counted_by_jxc_equals_that_of_xla():
    made = build(read_module(MIXED, make_context()), find_target("cpu"))
    counted = CrossExecutable(replace(made, cost=None), lowered=None).cost()
    assert counted == {
        key: made.cost[key] for key in ("flops", "transcendentals", "bytes accessed")
    }
    assert (counted["flops"], counted["transcendentals"]) == (2 * 64**3 + 64**2, 64**2)

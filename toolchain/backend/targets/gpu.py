"""NVIDIA GPUs, compiled for by JAX's CUDA plugin; no GPU is needed.

The plugin compiles for a description of the hardware, XLA's `GpuTargetConfigProto`. jxc writes it
from the data file of a known GPU; for others the user gives a file (`gpu:@FILE`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...cost.device import Device, known_devices
from ...errors import UsageError
from .target import Offer, Target, find_device, present_target

_HINT = "To compile for one that is not here, name it, such as gpu:h100; see `jxc targets`."


def find(rest: str) -> Target:
    """The target "gpu:NAME", "gpu:@FILE" with XLA's description, or "gpu" for one present."""
    if not rest:
        return present_target("gpu", "cuda", _HINT)
    if rest.startswith("@"):
        device, description = _described_in(rest[1:])
    else:
        others = ", and gpu:@FILE for XLA's description of any other"
        device = find_device("gpu", rest, f"gpu:{rest}", others)
        description = _description(device)
    return Target(
        f"gpu:{rest}",
        "gpu",
        "cuda",
        device,
        None,
        missing=_missing(device),
        environment=_environment(device),
        topology={"topology_name": device.name, "target_config": description},
    )


def offers() -> Sequence[Offer]:
    """A GPU of this machine, and each GPU with a data file."""
    there = [Offer("gpu", "the GPU of this machine", "present")] if is_here() else []
    found = [
        Offer(f"gpu:{name}", device.settings["description"], _missing(device) or "compiles")
        for name, device in known_devices("gpu").items()
    ]
    any_other = "a GPU that XLA's target config describes"
    return [*there, *found, Offer("gpu:@FILE", any_other, _missing() or "compiles")]


def devices(target: Target, count: int) -> Sequence[Any]:
    """`count` devices: of one host, or of as many hosts as they fill."""
    import jax
    from jax.experimental import topologies

    if target.is_present:
        return list(jax.devices("cuda")[:count])
    network = target.device.network
    node = network.node_devices if network else count
    hosts = f"{count // node}x{node}" if count % node == 0 else f"1x{count}"
    described = topologies.get_topology_desc(
        platform="cuda", topology=f"1x{hosts}", **target.topology
    )
    return list(described.devices)


def _described_in(file: str) -> tuple[Device, str]:
    """A device from XLA's own description, with the peak flops of the most similar known device."""
    try:
        text = Path(file).read_text()
    except OSError as error:
        raise UsageError(f"--target gpu:@{file}: {error.strerror}") from None
    numbers = re.findall(r"(\w+): *(\d+\.?\d*)(?![\w.])", text)  # the first of each name counts
    fields = {name: float(value) for name, value in reversed(numbers)}
    needed = ("device_memory_size", "memory_bandwidth", "core_count", "major")
    if absent := [name for name in needed if name not in fields]:
        raise UsageError(
            f"--target gpu:@{file}: expected XLA's GPU target config, as `xla_dump_to` writes it "
            f"(*.gpu_target_config.pbtxt); found no {absent[0]}"
        )
    like = _most_like(fields)
    named = re.search(r'device_description_str: *"([^"]+)"', text)
    share = fields["core_count"] / like.settings["core_count"]
    device = replace(
        like,
        name=Path(file).stem,
        device_kind=named[1] if named else like.device_kind,
        memory_bytes=int(fields["device_memory_size"]),
        bandwidth=fields["memory_bandwidth"],
        peak_flops={kind: flops * share for kind, flops in like.peak_flops.items()},
        source=f"{file}; peak by its cores, from {like.name}",
        network=None,
    )
    return device, text


def _most_like(fields: Mapping[str, float]) -> Device:
    """The known device of the closest compute capability, then of the closest core count."""

    def distance(device: Device) -> tuple[float, float]:
        major, minor = device.settings["compute_capability"]
        apart = abs(10 * major + minor - 10 * fields["major"] - fields.get("minor", 0))
        return apart, abs(device.settings["core_count"] - fields["core_count"])

    return min(known_devices("gpu").values(), key=distance)


_NOT_DESCRIBED = ("description", "compute_capability", "newest_ptxas")
"""The settings of a device that are no numbers in XLA's description."""


def _description(device: Device) -> str:
    """The text form of the `GpuTargetConfigProto` of a device."""
    settings = device.settings
    major, minor = settings["compute_capability"]
    info = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 49152,
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
        "registers_per_core_limit": 65536,
        "registers_per_block_limit": 65536,
        "memory_bandwidth": int(device.bandwidth),
        "device_memory_size": device.memory_bytes,
        **{name: value for name, value in settings.items() if name not in _NOT_DESCRIBED},
    }
    lines = "\n".join(f"  {name}: {value}" for name, value in info.items())
    return (
        f"gpu_device_info {{\n{lines}\n"
        f"  cuda_compute_capability {{ major: {major} minor: {minor} }}\n}}\n"
        'platform_name: "CUDA"\ndnn_version_info { major: 9 minor: 8 patch: 0 }\n'
        f'device_description_str: "{settings["description"]}"\n'
    )


# What must be installed


def _missing(device: Device | None = None) -> str:
    """The command that installs what is missing; the plugin must have jaxlib's version."""
    jaxlib = version("jaxlib")
    if not any(_version_of(f"jax-{cuda}-plugin") == jaxlib for cuda in ("cuda13", "cuda12")):
        return f"pip install jax-cuda13-plugin=={jaxlib}"
    if _ptxas(device):
        return ""
    is_old = device is not None and "newest_ptxas" in device.settings
    return "pip install nvidia-cuda-nvcc-cu12" if is_old else "pip install nvidia-cuda-nvcc"


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ptxas(device: Device | None) -> str | None:
    """The path of CUDA's assembler for a device: on the PATH, or in its Python package."""
    newest = device.settings.get("newest_ptxas") if device else None
    packages = (Path(folder) / "nvidia" for folder in sys.path if folder)
    installed = (str(file) for folder in packages for file in folder.glob("*/bin/ptxas"))
    found = filter(None, (shutil.which("ptxas"), *installed))
    return next((each for each in found if newest is None or _cuda_of(each) <= newest), None)


@cache
def _cuda_of(ptxas: str) -> int:
    """The version of CUDA, such as 13, that an assembler belongs to."""
    output = subprocess.run(
        [ptxas, "--version"], capture_output=True, text=True, check=False
    ).stdout
    release = re.search(r"release (\d+)", output)
    return int(release[1]) if release else 0


def _environment(device: Device) -> dict[str, str]:
    """Variables that skip the check for CUDA's libraries and put the assembler on the PATH."""
    environment = {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}
    ptxas = _ptxas(device)
    if ptxas and ptxas != shutil.which("ptxas"):
        environment["PATH"] = os.pathsep.join((str(Path(ptxas).parent), os.environ["PATH"]))
    return environment


def is_here() -> bool:
    """Whether this machine has an NVIDIA GPU."""
    return Path("/dev/nvidia0").exists()

"""NVIDIA GPUs, through the compiler in JAX's CUDA plugin: no GPU needs to be there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import UsageError, did_you_mean
from .device import Device, device_names, known_device
from .present import present_target
from .target import Offer, Target

_INSTALL = "pip install --no-deps jax-cuda13-plugin=={0} jax-cuda13-pjrt=={0}"
_INSTALL_PTXAS = "pip install nvidia-cuda-nvcc"
_HINT = "To compile for one that is not here, name it, such as gpu:h100; see `jxc targets`."


def find(rest: str) -> Target:
    """The target "gpu:NAME", "gpu:@FILE" with XLA's description, or "gpu" for one present."""
    if not rest:
        return present_target("gpu", "cuda", _HINT)
    device, description = _described_in(rest[1:]) if rest.startswith("@") else _known(rest)
    return Target(
        f"gpu:{rest}",
        "gpu",
        "cuda",
        device,
        None,
        missing=_missing(),
        environment=MappingProxyType(_environment()),
        topology=MappingProxyType({"topology_name": device.name, "target_config": description}),
    )


def offers() -> Sequence[Offer]:
    """A GPU of this machine, and each that there is a data file for."""
    state = _missing() or "compiles"
    there = [Offer("gpu", "the GPU of this machine", "present")] if _is_present() else []
    named = [known_device("gpu", name) for name in device_names("gpu")]
    found = [Offer(f"gpu:{d.name}", d.settings["description"], state) for d in named if d]
    return [*there, *found, Offer("gpu:@FILE", "a GPU that XLA's target config describes", state)]


def devices(target: Target, count: int) -> Sequence[Any]:
    """So many devices of one host."""
    import jax
    from jax.experimental import topologies

    if target.is_present:
        return jax.devices("cuda")[:count]
    described = topologies.get_topology_desc(
        platform="cuda", topology=f"1x1x{count}", **target.topology
    )
    return described.devices


def _known(name: str) -> tuple[Device, str]:
    device = known_device("gpu", name)
    if device is None:
        names = device_names("gpu")
        raise UsageError(
            f"--target gpu:{name}: no such GPU is known; there are {', '.join(names)}, and "
            f"gpu:@FILE for XLA's description of any other.{did_you_mean(name, names)}"
        )
    return device, _description(device)


def _described_in(file: str) -> tuple[Device, str]:
    """A device from XLA's own description; its peak is that of the known device most like it."""
    try:
        text = Path(file).read_text()
    except OSError as error:
        raise UsageError(f"--target gpu:@{file}: {error.strerror}") from None
    told = _fields(text)
    needed = ("device_memory_size", "memory_bandwidth", "core_count", "major")
    if absent := [name for name in needed if name not in told]:
        raise UsageError(
            f"--target gpu:@{file}: expected XLA's GPU target config, as `xla_dump_to` writes it "
            f"(*.gpu_target_config.pbtxt); found no {absent[0]}"
        )
    like = _most_like(told)
    share = told["core_count"] / like.settings["core_count"]
    device = replace(
        like,
        name=Path(file).stem,
        memory_bytes=int(told["device_memory_size"]),
        bandwidth=told["memory_bandwidth"],
        peak_flops=MappingProxyType({kind: f * share for kind, f in like.peak_flops.items()}),
        source=f"{file}; peak by its cores, from {like.name}",
    )
    return device, text


def _most_like(told: Mapping[str, float]) -> Device:
    """The known device of the nearest compute capability, then of the nearest core count."""

    def distance(device: Device) -> tuple[float, float]:
        major, minor = device.settings["compute_capability"]
        apart = abs(10 * major + minor - 10 * told["major"] - told.get("minor", 0))
        return apart, abs(device.settings["core_count"] - told["core_count"])

    known = (known_device("gpu", name) for name in device_names("gpu"))
    return min((device for device in known if device), key=distance)


def _fields(text: str) -> dict[str, float]:
    """The numbers in a protocol buffer's text form, by field name; the first of each."""
    found: dict[str, float] = {}
    words = text.replace("{", " ").replace("}", " ").split()
    for name, value in pairwise(words):
        if name.endswith(":") and value.replace(".", "", 1).isdecimal():
            found.setdefault(name[:-1], float(value))
    return found


def _description(device: Device) -> str:
    """What XLA's GPU compiler wants to know, as the text form of its GpuTargetConfigProto."""
    settings = device.settings
    major, minor = settings["compute_capability"]
    info = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 49152,
        "shared_memory_per_core": settings["shared_memory_per_core"],
        "shared_memory_per_block_optin": settings["shared_memory_per_block_optin"],
        "threads_per_core_limit": settings["threads_per_core_limit"],
        "core_count": settings["core_count"],
        "fpus_per_core": settings["fpus_per_core"],
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
        "registers_per_core_limit": 65536,
        "registers_per_block_limit": 65536,
        "memory_bandwidth": int(device.bandwidth),
        "device_memory_size": device.memory_bytes,
        "l2_cache_size": settings["l2_cache_size"],
        "clock_rate_ghz": settings["clock_rate_ghz"],
    }
    lines = "\n".join(f"  {name}: {value}" for name, value in info.items())
    return (
        f"gpu_device_info {{\n{lines}\n"
        f"  cuda_compute_capability {{ major: {major} minor: {minor} }}\n}}\n"
        'platform_name: "CUDA"\ndnn_version_info { major: 9 minor: 8 patch: 0 }\n'
        f'device_description_str: "{settings["description"]}"\n'
    )


# What must be there


def _missing() -> str:
    if not any(_is_installed(f"jax-{cuda}-plugin") for cuda in ("cuda13", "cuda12")):
        return _INSTALL.format(version("jaxlib"))
    return "" if _ptxas() else _INSTALL_PTXAS


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _ptxas() -> str | None:
    """Where CUDA's assembler is: on the path, or in its package."""
    if found := shutil.which("ptxas"):
        return found
    packages = (Path(folder) / "nvidia" for folder in sys.path if folder)
    return next((str(f) for folder in packages for f in folder.glob("*/bin/ptxas")), None)


def _environment() -> dict[str, str]:
    """No search for CUDA's libraries, which compiling does without; the assembler on the path."""
    environment = {"JAX_PLATFORMS": "cpu", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}
    if (ptxas := _ptxas()) and not shutil.which("ptxas"):
        environment["PATH"] = os.pathsep.join((str(Path(ptxas).parent), os.environ["PATH"]))
    return environment


def _is_present() -> bool:
    return Path("/dev/nvidia0").exists()

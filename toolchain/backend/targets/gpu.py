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
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import UsageError, did_you_mean
from .target import Device, Offer, Target, device_names, known_device, present_target

_INSTALL = "pip install jax-cuda13-plugin=={}"
_INSTALL_PTXAS = "pip install nvidia-cuda-nvcc"
_INSTALL_OLD_PTXAS = "pip install nvidia-cuda-nvcc-cu12"
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
        missing=_missing(device),
        environment=MappingProxyType(_environment(device)),
        topology=MappingProxyType({"topology_name": device.name, "target_config": description}),
    )


def offers() -> Sequence[Offer]:
    """A GPU of this machine, and each GPU with a data file."""
    there = [Offer("gpu", "the GPU of this machine", "present")] if is_here() else []
    named = [known_device("gpu", name) for name in device_names("gpu")]
    found = [
        Offer(f"gpu:{d.name}", d.settings["description"], _missing(d) or "compiles")
        for d in named
        if d is not None
    ]
    any_other = "a GPU that XLA's target config describes"
    return [*there, *found, Offer("gpu:@FILE", any_other, _missing() or "compiles")]


def devices(target: Target, count: int) -> Sequence[Any]:
    """`count` devices of one host."""
    import jax
    from jax.experimental import topologies

    if target.is_present:
        return list(jax.devices("cuda")[:count])
    described = topologies.get_topology_desc(
        platform="cuda", topology=f"1x1x{count}", **target.topology
    )
    return list(described.devices)


def _known(name: str) -> tuple[Device, str]:
    device = known_device("gpu", name)
    if device is None:
        names = device_names("gpu")
        raise UsageError(
            f"--target gpu:{name}: no such GPU is known; known are {', '.join(names)}, and "
            f"gpu:@FILE for XLA's description of any other.{did_you_mean(name, names)}"
        )
    return device, _description(device)


def _described_in(file: str) -> tuple[Device, str]:
    """A device from XLA's own description, with the peak flops of the most similar known device."""
    try:
        text = Path(file).read_text()
    except OSError as error:
        raise UsageError(f"--target gpu:@{file}: {error.strerror}") from None
    fields = _fields(text)
    needed = ("device_memory_size", "memory_bandwidth", "core_count", "major")
    if absent := [name for name in needed if name not in fields]:
        raise UsageError(
            f"--target gpu:@{file}: expected XLA's GPU target config, as `xla_dump_to` writes it "
            f"(*.gpu_target_config.pbtxt); found no {absent[0]}"
        )
    like = _most_like(fields)
    share = fields["core_count"] / like.settings["core_count"]
    device = replace(
        like,
        name=Path(file).stem,
        memory_bytes=int(fields["device_memory_size"]),
        bandwidth=fields["memory_bandwidth"],
        peak_flops=MappingProxyType({kind: f * share for kind, f in like.peak_flops.items()}),
        source=f"{file}; peak by its cores, from {like.name}",
    )
    return device, text


def _most_like(fields: Mapping[str, float]) -> Device:
    """The known device of the closest compute capability, then of the closest core count."""

    def distance(device: Device) -> tuple[float, float]:
        major, minor = device.settings["compute_capability"]
        apart = abs(10 * major + minor - 10 * fields["major"] - fields.get("minor", 0))
        return apart, abs(device.settings["core_count"] - fields["core_count"])

    known = (known_device("gpu", name) for name in device_names("gpu"))
    return min((device for device in known if device), key=distance)


def _fields(text: str) -> dict[str, float]:
    """The numbers in the text form of a protocol buffer, by field name; the first of each name."""
    found: dict[str, float] = {}
    words = text.replace("{", " ").replace("}", " ").split()
    for name, value in pairwise(words):
        if name.endswith(":") and value.replace(".", "", 1).isdecimal():
            found.setdefault(name[:-1], float(value))
    return found


def _description(device: Device) -> str:
    """The text form of the `GpuTargetConfigProto` of a device."""
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


# What must be installed


def _missing(device: Device | None = None) -> str:
    """The command that installs what is missing; the plugin must have jaxlib's version."""
    jaxlib = version("jaxlib")
    if not any(_version_of(f"jax-{cuda}-plugin") == jaxlib for cuda in ("cuda13", "cuda12")):
        return _INSTALL.format(jaxlib)
    if _ptxas(device):
        return ""
    return _INSTALL_OLD_PTXAS if device and _newest(device) else _INSTALL_PTXAS


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _newest(device: Device) -> int | None:
    """The last version of CUDA that compiles for it; None if all do."""
    return device.settings.get("newest_ptxas")


def _ptxas(device: Device | None) -> str | None:
    """The path of CUDA's assembler for a device: on the PATH, or in its Python package."""
    newest = _newest(device) if device else None
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

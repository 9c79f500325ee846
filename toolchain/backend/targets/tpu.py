"""TPUs, compiled for by the package `libtpu`; no TPU is needed."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...errors import JxcError, UsageError, did_you_mean
from .target import Device, Offer, Target, device_names, known_device, present_target

_INSTALL = "pip install libtpu"
_HINT = "To compile for one that is not here, name it, such as tpu:v5e:2x2; see `jxc targets`."


def find(rest: str) -> Target:
    """The target "tpu:GENERATION:TOPOLOGY", or "tpu" for one that is present."""
    if not rest:
        return present_target("tpu", "tpu", _HINT)
    generation, _, topology = rest.partition(":")
    device = known_device("tpu", generation)
    if device is None:
        names = device_names("tpu")
        raise UsageError(
            f"--target tpu:{rest}: no TPU {generation!r} is known; known are {', '.join(names)}."
            f"{did_you_mean(generation, names)}"
        )
    chips = _chips(rest, topology or device.settings["smallest"], device)
    described = {"topology_name": f"{generation}:{'x'.join(map(str, chips))}"}
    if "chip_config_name" in device.settings:
        described["chip_config_name"] = device.settings["chip_config_name"]
    return Target(
        f"tpu:{described['topology_name']}",
        "tpu",
        "tpu",
        device,
        math.prod(chips) * device.settings.get("devices_per_chip", 1),
        missing="" if _is_installed() else _INSTALL,
        environment=MappingProxyType(_environment(device)),
        topology=MappingProxyType(described),
    )


def offers() -> Sequence[Offer]:
    """A TPU of this machine, and each generation with a data file."""
    state = "compiles" if _is_installed() else _INSTALL
    there = [Offer("tpu", "the TPU of this machine", "present")] if is_here() else []
    return there + [
        Offer(
            f"tpu:{name}:{_shape(name)}",
            f"TPU {name.removeprefix('tpu')}, this or another topology",
            state,
        )
        for name in device_names("tpu")
    ]


def devices(target: Target, count: int) -> Sequence[Any]:
    """The first `count` devices of the topology."""
    import jax
    from jax.experimental import topologies

    if target.is_present:
        return list(jax.devices("tpu")[:count])
    try:
        described = topologies.get_topology_desc(platform="tpu", **target.topology)
    except Exception as error:  # the plugin raises its own type
        raise JxcError(f"--target {target.name}: libtpu does not describe it: {error}") from error
    return list(described.devices[:count])


def _shape(generation: str) -> str:
    device = known_device("tpu", generation)
    assert device is not None, "named by device_names"
    return "x".join(["2", "2", "1"][: device.settings["smallest"].count("x") + 1])


def _chips(rest: str, topology: str, device: Device) -> tuple[int, ...]:
    smallest = device.settings["smallest"]
    rank = smallest.count("x") + 1
    form = "x".join("ABC"[:rank])
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", topology) or topology.count("x") + 1 != rank:
        raise UsageError(
            f"--target tpu:{rest}: expected a topology such as {_shape(device.name)} ({form} chips "
            f"of TPU {device.name}), found {topology!r}"
        )
    chips = tuple(map(int, topology.split("x")))
    _check_extents(rest, chips, device)
    return chips


def _check_extents(rest: str, chips: tuple[int, ...], device: Device) -> None:
    """Refuse what libtpu would refuse: a host has 2x2 chips, and a pod has a largest size."""
    if any(extent > 1 and extent % 2 for extent in chips[:2]):
        raise UsageError(
            f"--target tpu:{rest}: a host of TPU {device.name} has 2x2 chips, so the first two "
            f"extents of a topology are 1 or even, such as {_shape(device.name)}"
        )
    largest = tuple(device.settings.get("largest", chips))
    if any(extent > most for extent, most in zip(chips, largest, strict=True)):
        raise UsageError(
            f"--target tpu:{rest}: TPU {device.name} goes up to {'x'.join(map(str, largest))} chips"
        )


def _environment(device: Device) -> dict[str, str]:
    """Variables that skip the metadata server, and the lock for hardware that is not used."""
    return {
        "JAX_PLATFORMS": "cpu",
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_ACCELERATOR_TYPE": device.settings["accelerator_type"],
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "true",
    }


def _is_installed() -> bool:
    return importlib.util.find_spec("libtpu") is not None


def is_here() -> bool:
    """Whether this machine has a TPU."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))

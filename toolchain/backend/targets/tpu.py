"""TPUs, compiled for by the package `libtpu`; no TPU is needed."""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...cost.device import Device, known_devices
from ...errors import JxcError, UsageError
from .target import Offer, Target, find_device, present_target

_INSTALL = "pip install libtpu"
_HINT = "To compile for one that is not here, name it, such as tpu:v5e:2x2; see `jxc targets`."


def find(rest: str) -> Target:
    """The target "tpu:GENERATION:TOPOLOGY", or "tpu" for one that is present."""
    if not rest:
        return present_target("tpu", "tpu", _HINT)
    generation, _, topology = rest.partition(":")
    device = find_device("tpu", generation, f"tpu:{rest}")
    chips = _chips(rest, topology or device.settings["smallest"], device)
    described: dict[str, Any] = {"topology_name": f"{generation}:{'x'.join(map(str, chips))}"}
    if "chip_config_name" in device.settings:
        described["chip_config_name"] = device.settings["chip_config_name"]
    if device.network and any(rings := device.network.rings(chips)):
        described["wrap"] = (*rings, False)[:3]
    return Target(
        f"tpu:{described['topology_name']}",
        "tpu",
        "tpu",
        device,
        math.prod(chips) * device.settings.get("devices_per_chip", 1),
        missing="" if _is_installed() else _INSTALL,
        environment={**_ENVIRONMENT, "TPU_ACCELERATOR_TYPE": device.settings["accelerator_type"]},
        topology=described,
    )


def offers() -> Sequence[Offer]:
    """A TPU of this machine, and each generation with a data file."""
    state = "compiles" if _is_installed() else _INSTALL
    there = [Offer("tpu", "the TPU of this machine", "present")] if is_here() else []
    return there + [
        Offer(
            f"tpu:{name}:{_smallest_host(device)}",
            f"TPU {name.removeprefix('tpu')}, this or another topology",
            state,
        )
        for name, device in known_devices("tpu").items()
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


def _smallest_host(device: Device) -> str:
    """The topology of one host, 2x2 chips."""
    return "2x2x1" if device.settings["smallest"].count("x") == 2 else "2x2"


def _chips(rest: str, topology: str, device: Device) -> tuple[int, ...]:
    """The chips of a topology by axis; refuses what libtpu would refuse.

    A host has 2x2 chips, and a pod has a largest size.
    """
    rank = device.settings["smallest"].count("x") + 1
    if not re.fullmatch(rf"[1-9]\d{{,8}}(x[1-9]\d{{,8}}){{{rank - 1}}}", topology, re.ASCII):
        raise UsageError(
            f"--target tpu:{rest:.40}: expected a topology such as {_smallest_host(device)} "
            f"({'x'.join('ABC'[:rank])} chips of TPU {device.name}), found {topology[:40]!r}"
        )
    chips = tuple(map(int, topology.split("x")))
    if any(extent > 1 and extent % 2 for extent in chips[:2]):
        raise UsageError(
            f"--target tpu:{rest}: a host of TPU {device.name} has 2x2 chips, so the first two "
            f"extents of a topology are 1 or even, such as {_smallest_host(device)}"
        )
    largest = tuple(device.settings.get("largest", chips))
    if any(extent > most for extent, most in zip(chips, largest, strict=True)):
        raise UsageError(
            f"--target tpu:{rest}: TPU {device.name} goes up to {'x'.join(map(str, largest))} chips"
        )
    return chips


_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "true",
}
"""Variables that skip the metadata server, and the lock for hardware that is not used."""


def _is_installed() -> bool:
    return importlib.util.find_spec("libtpu") is not None


def is_here() -> bool:
    """Whether this machine has a TPU."""
    return any(Path("/dev").glob("accel[0-9]*")) or any(Path("/dev/vfio").glob("[0-9]*"))

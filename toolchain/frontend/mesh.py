"""JAX's meshes and shardings, made from named sizes and specs; splitting the CPU into devices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import MissingTargetError, UsageError
from ..units import counted

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from ..ir.shardings import Spec


def make_mesh(
    mesh: Any, *, platform: str | None = None, device: Any = None, concrete: bool = False
) -> Any:
    """A JAX mesh whose axes XLA and Shardy are free to use (`AxisType.Auto`); None for no axes.

    Args:
        mesh: sizes by axis in order, their text, a JAX mesh (taken as it is), or None.
        platform: whose devices a concrete mesh is made of; the default backend's if None.
        device: a single device, which excludes a mesh.
        concrete: make it of devices of this machine, so that the program can run. An abstract mesh
            needs no devices.

    Raises:
        UsageError: the text is no mesh, or a device is given too.
        MissingTargetError: there are fewer devices than the mesh has.
    """
    from jax.sharding import AbstractMesh, Mesh

    if mesh is None or isinstance(mesh, (Mesh, AbstractMesh)):
        return mesh
    from jax.sharding import AxisType

    from ..ir.shardings import format_mesh, parse_mesh

    sizes = parse_mesh(mesh if isinstance(mesh, str) else format_mesh(mesh))
    if device is not None:
        raise UsageError(f"expected a device or a mesh, found both: {device} is one device")
    names, shape = tuple(sizes), tuple(sizes.values())
    automatic = (AxisType.Auto,) * len(names)  # from jax 0.11 on the default is explicit
    if not concrete:
        return AbstractMesh(shape, names, axis_types=automatic)
    return Mesh(_devices(sizes, platform).reshape(shape), names, axis_types=automatic)


def _devices(sizes: Mapping[str, int], platform: str | None) -> Any:
    import jax
    import numpy as np

    from ..ir.shardings import device_count, format_mesh

    try:
        devices = jax.local_devices(backend=platform)
    except RuntimeError as error:
        raise MissingTargetError(f"no {platform} device here for a mesh to run on") from error
    count = device_count(sizes)
    if count <= len(devices):
        return np.array(devices[:count])
    kind = devices[0].platform
    more = f"\n  JAX_NUM_CPU_DEVICES={count} splits the CPU into as many." if kind == "cpu" else ""
    raise MissingTargetError(
        f"the mesh {format_mesh(sizes)} has {counted(count, 'device')}; here is {len(devices)} of "
        f"kind {kind}."
        f" Lowering and compiling for a target need none of them.{more}"
    )


def within(mesh: Any) -> AbstractContextManager[Any]:
    """A context in which `with_sharding_constraint(x, P("data"))` finds the axes of the mesh."""
    import jax
    from jax.sharding import Mesh

    if mesh is None:
        return nullcontext()
    enter: Any = jax.set_mesh if isinstance(mesh, Mesh) else jax.sharding.use_abstract_mesh
    context: AbstractContextManager[Any] = enter(mesh)
    return context


def platform_for(mesh: Any, platform: str | None) -> str | None:
    """The platform to lower for: an abstract mesh has no devices, so that one must be named."""
    from jax.sharding import AbstractMesh

    if platform is not None or not isinstance(mesh, AbstractMesh):
        return platform
    import jax

    return platform_of(jax.devices()[0])


def platform_of(device: Any) -> str:
    """The platform that JAX lowers for on this device: "cuda" or "rocm" for a "gpu"."""
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def sizes_of(mesh: Any) -> dict[str, int]:
    """The size of each axis of a JAX mesh, in order; empty for None."""
    return {} if mesh is None else dict(mesh.shape)


def record_mesh(module: ir.Module, mesh: Any, name: str) -> dict[str, int]:
    """The mesh that a module is lowered over; sets `mhlo.num_partitions` to its devices.

    JAX leaves that attribute at 1 for an abstract mesh that shards no argument, and writes the
    number of devices for the same mesh with devices.

    Args:
        module: JAX's module, changed in place.
        mesh: the JAX mesh of the request, or None.
        name: the name of the function.

    Raises:
        UsageError: the function is sharded over another mesh of its own.
    """
    from jaxlib.mlir import ir

    from ..ir.shardings import device_count, format_mesh, meshes_of

    asked, found = sizes_of(mesh), list(meshes_of(module).values())
    if not asked:
        return found[0] if found and all(each == found[0] for each in found) else {}
    if others := [each for each in found if list(each.items()) != list(asked.items())]:
        own = format_mesh(others[0])
        raise UsageError(
            f"{name} is sharded over a mesh of its own, {own}, which is not --mesh "
            f"{format_mesh(asked)}.\n  Give --mesh {own}, or leave it out."
        )
    with module.context:
        count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), device_count(asked))
        module.operation.attributes["mhlo.num_partitions"] = count
    return asked


# Shardings


def sharding_over(mesh: Any, spec: Spec) -> Any:
    """The `NamedSharding` of a spec over a JAX mesh."""
    from jax.sharding import NamedSharding, PartitionSpec

    return NamedSharding(mesh, PartitionSpec(*(axes or None for axes in spec)))


def axes_of(sharding: Any) -> Spec:
    """The axes of each dimension of a spec, a `PartitionSpec` or a `NamedSharding`; () for None."""
    if sharding is None:
        return ()
    if isinstance(sharding, tuple) and all(isinstance(each, tuple) for each in sharding):
        return sharding
    axes: list[tuple[str, ...]] = []
    for entry in getattr(sharding, "spec", sharding):
        match entry:
            case str():
                axes.append((entry,))
            case tuple():
                axes.append(tuple(entry))
            case _:  # None, or P.UNCONSTRAINED
                axes.append(())
    return tuple(axes)


def spec_of(sharding: Any) -> Spec | None:
    """The spec of a `NamedSharding`; None for shardings of other kinds."""
    from jax.sharding import NamedSharding

    from ..ir.shardings import without_trailing

    return without_trailing(axes_of(sharding)) if isinstance(sharding, NamedSharding) else None


# The devices that the CPU is split into

MOST_HOST_DEVICES = 1 << 16
"""The most devices that the CPU is split into. XLA makes each of them, with its threads."""

HOST_DEVICES = "JAX_NUM_CPU_DEVICES"
"""JAX's variable for how many devices the CPU is split into; it is read when JAX is imported."""

_XLA_HOST_DEVICES = "xla_force_host_platform_device_count"


def environment_of_host(count: int) -> dict[str, str]:
    """The variables that split the CPU into devices; XLA takes the last of repeated flags."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {HOST_DEVICES: str(count), "XLA_FLAGS": f"{flags} --{_XLA_HOST_DEVICES}={count}".strip()}


def split_host(needed: int) -> None:
    """Split the CPU of this process into the devices that the program needs.

    Has no effect once JAX has listed the devices, and where the user's environment splits the CPU.

    Raises:
        UsageError: these are more than `MOST_HOST_DEVICES`.
    """
    if needed > MOST_HOST_DEVICES:
        raise UsageError(f"expected at most {MOST_HOST_DEVICES} devices of the CPU, found {needed}")
    is_split = HOST_DEVICES in os.environ or _XLA_HOST_DEVICES in os.environ.get("XLA_FLAGS", "")
    if needed > 1 and not is_split:
        os.environ.update(environment_of_host(needed))

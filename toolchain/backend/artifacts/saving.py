"""`jxc.save`: writing an executable to a file that another process can load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding
from jaxlib.mlir import ir

from ...distribution import versions
from ...errors import JxcError, UsageError
from ...files import write_output
from ...frontend.mesh import spec_of
from ...ir import functions
from ...ir.extra_results import EXTRA_RESULTS
from ...ir.module import callbacks_in
from ...ir.shardings import Spec, module_device_count
from .. import _private
from ..from_module import call_targets, calls_lapack, lowered_from_module
from ..lowered import CrossExecutable, Executable
from .header import (
    ArtifactError,
    Header,
    SavedLeaf,
    encode_tree,
    this_machine,
    write_artifact,
)

KEYS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
"""JAX's names for its kinds of random keys, by how their types are printed."""

_WIDE = ("int64", "uint64", "float64", "complex128")
_INSTRUMENTED = (
    "cannot be saved: locate-nans and trace-values add results, which only the process that "
    "compiled the program can interpret; leave these passes out"
)
_NO_CALLBACK = (
    "cannot be saved: it calls back into Python ({0}), and the function it calls exists in "
    "this process only; leave out jax.debug.print and callbacks"
)


def save(executable: Executable | CrossExecutable, path: str | Path) -> Header:
    """Write an executable to a file, for `jxc.load` or `jxc run` in another process.

    Args:
        executable: a compiled program, for this machine or for another.
        path: the file; an existing one is replaced once the new one is complete.

    Raises:
        ArtifactError: the program calls back into Python, its compiler cannot serialise it, it has
            arguments that the format cannot describe, it is for several devices of hardware that
            is not here, or the file cannot be written.
    """
    header = describe(executable)
    if isinstance(executable, CrossExecutable):
        raw = executable.build.executable
    else:
        raw = _private.serialised(executable.compiled.runtime_executable())
    if not raw:
        raise ArtifactError("cannot be saved: its compiler does not serialise executables")
    try:
        write_output(write_artifact(header, raw), str(path))
    except UsageError as error:
        raise ArtifactError(str(error)) from None
    return header


def describe(executable: Executable | CrossExecutable) -> Header:
    """The header of an executable's file."""
    if not isinstance(executable, Executable | CrossExecutable):
        raise ArtifactError(
            "expected a compiled program, such as jxc.lower(f, x).compile(); found "
            f"{executable!r:.80}"
        )
    lowered = executable.lowered
    if EXTRA_RESULTS in lowered.module.operation.attributes:
        raise ArtifactError(_INSTRUMENTED)
    for name in callbacks_in(lowered.module).values():
        raise ArtifactError(_NO_CALLBACK.format(name))
    called = lowered.jax_lowered
    if called is None:  # a module from a file: its arguments are those of @main, in order
        try:
            called = lowered_from_module(lowered.module).jax_lowered
        except JxcError as error:
            raise ArtifactError(f"cannot be saved: {error}") from error
    hosts = {device.process_index for device in _private.devices_of(called)}
    if len(hosts) > 1 and isinstance(executable, Executable):
        raise ArtifactError(
            f"cannot be saved: it spans {len(hosts)} processes, and a file holds a program of one. "
            "JAX's persistent compilation cache (jax_compilation_cache_dir) keeps such programs"
        )
    target, platform, kind, devices = _made_for(executable)
    mesh, specs = _split(executable, devices)
    used = set(_private.kept_arguments(called))
    arguments = tuple(
        SavedLeaf(
            argument_path(path), *_type_of(i), bool(i.donated), n in used, specs[n] if specs else ()
        )
        for n, (path, i) in enumerate(jax.tree_util.tree_leaves_with_path(called.args_info))
    )
    results = tuple(
        SavedLeaf(f"result{jax.tree_util.keystr(path)}", *_type_of(out))
        for path, out in jax.tree_util.tree_leaves_with_path(called.out_info)
    )
    _check_counts(lowered.module, arguments, results)
    needs_lapack = calls_lapack(call_targets(lowered.module))
    return Header(
        versions=versions(),
        target=target,
        platform=platform,
        device_kind=kind,
        machine=this_machine() if platform == "cpu" else {},
        devices=devices,
        mesh=mesh,
        libraries=("lapack",) if needs_lapack else (),
        arguments=arguments,
        results=results,
        argument_tree=encode_tree(called.args_info),
        result_tree=encode_tree(called.out_info),
        x64=any(leaf.dtype in _WIDE for leaf in (*arguments, *results)),
        name=lowered.name,
    )


def _made_for(executable: Executable | CrossExecutable) -> tuple[str, str, str, int]:
    """The target, the platform, the kind of device, and their number."""
    if isinstance(executable, CrossExecutable):
        target = executable.target
        count = module_device_count(executable.lowered.module)
        return target.name, target.kind, target.device.device_kind, count
    runtime: Any = executable.compiled.runtime_executable()
    devices = runtime.local_devices()
    platform = devices[0].platform
    return platform, platform, devices[0].device_kind, len(devices)


def _split(
    executable: Executable | CrossExecutable, devices: int
) -> tuple[dict[str, int], list[Spec] | None]:
    """The mesh of an executable for several devices, and the spec of each argument leaf."""
    if devices == 1:
        return {}, None
    if isinstance(executable, CrossExecutable):
        raise ArtifactError(
            f"cannot be saved: it is for {devices} devices of {executable.target.name}, and "
            "programs for several devices can be saved for this machine's cpu only"
        )
    given = jax.tree.leaves(executable.compiled.input_shardings, is_leaf=lambda x: x is None)
    meshes = {each.mesh for each in given if isinstance(each, NamedSharding)}
    specs = [() if each is None else spec_of(each) for each in given]
    if len(meshes) != 1 or None in specs:
        raise ArtifactError(
            f"cannot be saved: it is for {devices} devices, and its arguments are not all split "
            "over the axes of one mesh"
        )
    (mesh,) = meshes
    platform = mesh.devices.flat[0].platform
    found = [device.id for device in mesh.devices.flat]
    expected = [device.id for device in jax.local_devices(backend=platform)[:devices]]
    if platform != "cpu" and found != expected:  # CPU devices can take each other's place
        raise ArtifactError(
            f"cannot be saved: expected a mesh over the devices {expected}, the first of "
            f"jax.local_devices() in their order; found {found}"
        )
    return dict(mesh.shape), [spec for spec in specs if spec is not None]


def argument_path(path: Sequence[Any]) -> str:
    """The position of a leaf in (args, kwargs), as Python spells it."""
    which = "kwargs" if getattr(path[0], "idx", 0) else "args"
    return f"{which}{jax.tree_util.keystr(tuple(path[1:]))}"


def _type_of(leaf: Any) -> tuple[tuple[int, ...], str]:
    """The shape of a leaf, and its element type as `SavedLeaf.dtype` spells it."""
    dtype = leaf.dtype
    if not jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return tuple(leaf.shape), str(np.dtype(dtype).name)
    if str(dtype).removeprefix("key<").removesuffix(">") not in KEYS:
        raise ArtifactError(f"cannot be saved: the file format cannot describe the type {dtype}")
    return tuple(leaf.shape), str(dtype)


def _check_counts(
    module: ir.Module, arguments: Sequence[SavedLeaf], results: Sequence[SavedLeaf]
) -> None:
    main = functions(module)["main"]
    type_ = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    expected = (sum(leaf.is_used for leaf in arguments), len(results))
    found = (len(type_.inputs), len(type_.results))
    if expected != found:
        raise ArtifactError(
            f"cannot be saved: it passes {found[0]} values in and {found[1]} out, where its "
            f"signature has {expected[0]} and {expected[1]}: tokens of ordered effects, or "
            "constants that JAX passes as arguments"
        )

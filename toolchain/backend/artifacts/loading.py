"""`jxc.load`: reading a saved executable, and calling it by JAX's calling convention.

A function of the recorded signature is lowered, and where JAX would compile it, it is given the
saved executable (`interception.compiled_by`). JAX then checks types, donates arguments and places
arrays as for any other program.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jax
import ml_dtypes

from ...cost.device import is_same_device
from ...errors import JxcError, MissingTargetError, UsageError
from ...frontend import kind_of_platform
from ...frontend.mesh import HOST_DEVICES, make_mesh, sharding_over, within
from ...ir import clone_module
from ...ir.shardings import module_device_count
from .. import _private
from ..from_module import load_libraries
from ..interception import compiled_by
from ..lowered import Lowered, memory_sizes
from ..targets.build import Build
from .header import (
    ArtifactError,
    Header,
    SavedLeaf,
    check_machine,
    decode_tree,
    encode_tree,
    read_artifact,
)
from .saving import KEYS, argument_path


@dataclass(frozen=True, repr=False)
class LoadedProgram:
    """A program from a file, called with the arguments of the function it was compiled from.

    Containers other than dict, list and tuple come back as tuples of what they hold.

    Attributes:
        header: what the file records of it.
        compiled: JAX's own object, called with the argument leaves one by one.
    """

    header: Header
    compiled: jax.stages.Compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. Static arguments are omitted, as with `jax.jit(...).lower().compile()`.

        Raises:
            UsageError: an argument is missing, or has a type the program was not compiled for.
        """
        rows = jax.tree_util.tree_leaves_with_path((args, kwargs))
        leaves = [leaf for _, leaf in rows]
        with _precision(self.header):
            given = [(argument_path(path), _show_type(jax.typeof(leaf))) for path, leaf in rows]
            _check_arguments(self.header, encode_tree((args, kwargs)), given)
            if self.header.devices > 1:
                leaves = [
                    leaf if sharding is None else jax.device_put(leaf, sharding)
                    for leaf, sharding in zip(leaves, self.compiled.input_shardings[0], strict=True)
                ]
            results = self.compiled(*leaves)
        return decode_tree(self.header.result_tree, iter(results))

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Its args and kwargs, with a `jax.ShapeDtypeStruct` for each array."""
        with _precision(self.header):
            args, kwargs = decode_tree(
                self.header.argument_tree, map(_struct, self.header.arguments)
            )
        return args, kwargs

    def memory(self) -> dict[str, int]:
        """XLA's own count, in bytes: arguments, outputs, temporaries, aliases, code."""
        return memory_sizes(self.compiled.memory_analysis())

    def __repr__(self) -> str:
        return repr(self.header).replace("Header", "LoadedProgram", 1)


def _precision(header: Header) -> Any:
    return jax.enable_x64(True) if header.x64 else contextlib.nullcontext()


def load(path: str | Path) -> LoadedProgram:
    """Load an executable that `jxc.save` or `jxc compile --save` wrote. Nothing is compiled again.

    Loading runs the machine code in the file: load only files that you trust.

    Args:
        path: the file.

    Raises:
        ArtifactError: the file is not a saved executable, is damaged, or was written by another
            version of jaxlib or for another processor.
        MissingTargetError: it is for hardware that is not here, or for more devices than are here.
    """
    header, raw = read_artifact(path)
    if (made_by := header.versions.get("jaxlib")) != (here := version("jaxlib")):
        raise ArtifactError(
            f"{path} was made by jaxlib {made_by}, and this is {here}: executables of one version "
            "do not run in another; save it again"
        )
    devices = _devices(header, path)
    if header.platform == "cpu":
        check_machine(header.machine, path)
    if "lapack" in header.libraries:
        _private.load_lapack()
    try:
        executable = _private.loaded(raw, devices)
    except Exception as error:  # each runtime raises its own type
        raise ArtifactError(f"{path}: XLA does not load it: {error}") from error
    try:
        return LoadedProgram(header, _callable(header, executable, devices))
    except Exception as error:  # each field can be one that numpy or JAX refuses
        reason = str(error).partition("\n")[0]
        raise ArtifactError(
            f"{path} is damaged: its header describes no program: {reason}"
        ) from error


def callable_here(lowered: Lowered, build: Build) -> jax.stages.Compiled:
    """JAX's executable of a program that `targets.build` compiled for this machine's CPU.

    Raises:
        JxcError: the build has no executable, or it does not load.
    """
    if (
        build.executable is None
        or build.target.kind != "cpu"
        or module_device_count(lowered.module) > 1
    ):
        raise JxcError("expected a build for one CPU, with its executable")
    load_libraries(lowered.module)
    try:
        executable = _private.loaded(build.executable, jax.local_devices(backend="cpu")[:1])
    except Exception as error:  # each runtime raises its own type
        raise JxcError(f"XLA does not load what it compiled: {error}") from error
    twin = _private.with_module(lowered.jax_lowered, clone_module(lowered.module))
    with compiled_by(twin.compiler_ir("stablehlo"), lambda _: executable):
        return twin.compile()


def _devices(header: Header, path: str | Path) -> list[Any]:
    try:
        here = jax.local_devices(backend=header.platform)
    except RuntimeError:
        raise MissingTargetError(
            f"{path} is for {header.target}, and JAX finds no {header.platform.upper()} here"
        ) from None
    found, kind = here[0].device_kind, kind_of_platform(header.platform)
    if not is_same_device(kind, found, header.device_kind):
        raise MissingTargetError(
            f"{path} is for {header.target} ({header.device_kind}), and this machine has a {found}"
        )
    if len(here) < header.devices:
        more = (
            f": {HOST_DEVICES}={header.devices}, set before JAX is imported, splits the CPU"
            if header.platform == "cpu"
            else ""
        )
        raise MissingTargetError(
            f"{path} is for {header.devices} devices, and JAX finds {len(here)} here{more}"
        )
    return list(here[: header.devices])


def _callable(header: Header, executable: Any, devices: list[Any]) -> jax.stages.Compiled:
    """An executable under JAX's calling convention."""
    donated = tuple(i for i, leaf in enumerate(header.arguments) if leaf.donated)
    mesh = make_mesh(header.mesh or None, platform=header.platform, concrete=True)
    where = within(mesh) if mesh else jax.default_device(devices[0])
    with _precision(header), where, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the stand-in cannot use a donated argument
        jitted = jax.jit(_stand_in(header), donate_argnums=donated)
        lowered = jitted.lower(*(_struct(leaf, mesh) for leaf in header.arguments))
        module = lowered.compiler_ir("stablehlo")
        with compiled_by(module, lambda _: executable):
            return lowered.compile()


def _stand_in(header: Header) -> Any:
    """A function of the same signature, which uses the arguments that the executable takes."""
    results = [_struct(leaf) for leaf in header.results]
    physical = [jax.eval_shape(_plain, result) for result in results]

    def stand_in(*leaves: Any) -> list[Any]:
        used = [_plain(x) for x, leaf in zip(leaves, header.arguments, strict=True) if leaf.is_used]
        made = jax.ffi.ffi_call("jxc_loaded", physical)(*used)
        return [
            jax.random.wrap_key_data(x, impl=_implementation(like.dtype))
            if _is_key(like.dtype)
            else x
            for x, like in zip(made, results, strict=True)
        ]

    return stand_in


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf.dtype) else leaf


def _is_key(dtype: Any) -> bool:
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def _implementation(dtype: Any) -> str:
    return KEYS[str(dtype).removeprefix("key<").removesuffix(">")]


def _struct(leaf: SavedLeaf, mesh: Any = None) -> jax.ShapeDtypeStruct:
    dtype: Any = getattr(ml_dtypes, leaf.dtype, leaf.dtype)
    if leaf.dtype.startswith("key<"):
        dtype = jax.eval_shape(lambda: jax.random.key(0, impl=_implementation(leaf.dtype))).dtype
    sharding = sharding_over(mesh, leaf.spec) if mesh else None
    return jax.ShapeDtypeStruct(leaf.shape, dtype, sharding=sharding)


def _show_type(array: Any) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def _check_arguments(header: Header, nesting: Any, given: Sequence[tuple[str, str]]) -> None:
    """Refuse other types than it was compiled for; a named tuple may be given as a tuple."""
    wanted = [(leaf.path, str(leaf)) for leaf in header.arguments]
    if nesting == header.argument_tree:  # then only the types can differ
        given = [(path, type_) for (path, _), (_, type_) in zip(wanted, given, strict=True)]
    for pair in zip_longest(wanted, given):
        if pair[0] != pair[1]:
            want, have = (f"{each[0]} of type {each[1]}" if each else "nothing" for each in pair)
            raise UsageError(f"expected {want}, found {have}")

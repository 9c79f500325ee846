"""Private names of jax used by this room. Checked on jax 0.10.2 to 0.12.0.1.

JAX has no public hook between tracing and compilation; `POINTS` lists the functions that
`interception` replaces.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jax._src import (
    compilation_cache as _compilation_cache,
    compiler as _compiler,
    config as _config,
    core as _core,
    distributed as _distributed,
    pjit as _pjit,
    sharding_impls as _sharding_impls,
    source_info_util as _source_info_util,
    traceback_util as _traceback_util,
)
from jax._src.interpreters import mlir as _mlir, pxla as _pxla
from jaxlib import _hlo, _jax, lapack, xla_client as _xla_client
from jaxlib.mlir import passmanager as _passmanager

from ..errors import JxcError
from .xla_options import with_xla_options, without_attribute

OLDEST, NEWEST = (0, 10, 2), (0, 13)


POINTS: dict[str, tuple[Any, str]] = {
    "trace": (_pjit, "_trace_for_jit"),
    "resolve": (_pxla, "lower_sharding_computation"),
    "lower": (_mlir, "lower_jaxpr_to_module"),
    "compile": (_compiler, "compile_or_get_cached"),
    "read": (_compiler, "_cache_read"),
    "load": (_pxla.UnloadedMeshExecutable, "load"),
}
"""The functions of JAX through which each program passes, unless JAX's C++ caches have it.

    _trace_for_jit(function, options, mesh, debug, avals, args, kwargs) -> parameters of the call
    lower_sharding_computation(jaxpr, ...)       a traced jaxpr, to be lowered for its devices
    lower_jaxpr_to_module(name, jaxpr, ...)      the module alone
    compile_or_get_cached(backend, module, devices, options, callbacks, ...) -> executable
    _cache_read(name, key, ...)                  where the persistent cache is on
    UnloadedMeshExecutable.load(self)            the executable with its calling convention
"""


def point(name: str) -> tuple[Any, str]:
    """The module and the attribute in which JAX looks up the function `name` of `POINTS`.

    Raises:
        JxcError: this jax has no such function, or is too old.
    """
    module, attribute = POINTS[name]
    if not hasattr(module, attribute) or jax.__version_info__ < OLDEST:
        raise JxcError(
            f"jxc does not support jax {jax.__version__} (no {module.__name__}.{attribute}): it "
            f"was tested on jax {'.'.join(map(str, OLDEST))} up to, not including, "
            f"{'.'.join(map(str, NEWEST))}. Install one of these, or a newer jxc."
        )
    return module, attribute


def trace_context() -> tuple[Any, ...]:
    """The part of JAX's cache keys that does not come from the call: configuration and mesh."""
    return tuple(_config.trace_context())


def config_values() -> dict[str, Any]:
    """JAX's configuration on this thread, by the names of `jax.config`."""
    return {name: state.value for name, state in _config.config_states.items()}


def persistent_cache(backend: Any) -> tuple[str | None, int]:
    """The folder of JAX's persistent cache and its limit in bytes, -1 for none.

    The folder is None where JAX does not cache.
    """
    folder = _config.compilation_cache_dir.value
    is_used = bool(folder) and _compilation_cache.is_cache_used(backend)
    return folder if is_used else None, _config.compilation_cache_max_size.value


def bytecode_for_key(module: Any) -> bytes:
    """The module's bytecode as JAX hashes it for its persistent cache."""
    operation = module.operation
    if not _config.compilation_cache_include_metadata_in_key.value:
        operation = operation.clone().operation
        strip = _passmanager.PassManager.parse("builtin.module(strip-debuginfo)", module.context)
        strip.enable_verifier(False)  # JAX's own modules are valid
        strip.run(operation)
    buffer = io.BytesIO()
    operation.write_bytecode(buffer)
    return buffer.getvalue()


@cache
def hide_from_tracebacks(file: str) -> None:
    """Hide a file's frames from the tracebacks and locations that JAX writes."""
    _traceback_util.register_exclusion(file)
    _source_info_util.register_exclusion(file)


is_outermost_trace: Callable[[], bool] = _core.trace_state_clean
"""Whether no transformation is active."""


def eager_transformations() -> set[str] | None:
    """The kinds of the active transformations, such as "BatchTrace".

    None inside `jit`, `scan` and other functions that trace a program without running it.
    """
    trace: Any = _core.trace_ctx.trace
    kinds: set[str] = set()
    while trace is not None and not isinstance(trace, _core.EvalTrace):
        kinds.add(type(trace).__name__)
        trace = getattr(trace, "parent_trace", None)
    return kinds if kinds <= _EAGER else None


_EAGER = {"JVPTrace", "BatchTrace", "LinearizeTrace", "JaxprTrace"}


def swap_and_set(context: Any) -> tuple[Callable[[Any], Any], Callable[[Any], None]]:
    """The functions that enter and leave a JAX user context on this thread.

    Calling them directly saves a microsecond compared with the `with` statement, which calls them.
    """
    return context._obj.swap_local, context._obj.set_local


def with_module(lowered: jax.stages.Lowered, module: Any) -> jax.stages.Lowered:
    """A copy of a `jax.stages.Lowered` that compiles `module` instead."""
    lowering = copy.copy(lowered._lowering)
    lowering._hlo = module
    lowering._executable = None
    twin = copy.copy(lowered)
    twin._lowering = lowering
    return twin


def load_lapack() -> None:
    """Make LAPACK's functions callable by their FFI names. Repeated calls have no effect."""
    lapack.prepare_lapack_call("potrf_ffi", np.float32)


def compile_for(module: Any, devices: Sequence[Any], xla_options: Mapping[str, Any]) -> Any:
    """jaxlib's executable of a module, for devices that need not be present.

    It has `hlo_modules()`, `get_compiled_memory_stats()`, and on most `cost_analysis()`.
    """
    chosen = with_xla_options(_options_for(devices), xla_options)
    return compile_uncached(
        devices[0].client, module, _xla_client.DeviceList(tuple(devices)), chosen, []
    )


def serialised(executable: Any) -> bytes | None:
    """jaxlib's executable as bytes; None if its compiler does not serialise."""
    try:
        return bytes(executable.serialize())
    except Exception:  # each compiler raises its own type
        return None


def memory_of(executable: Any) -> dict[str, int] | None:
    """XLA's sizes for jaxlib's executable in bytes, by name; None if it has none.

    The names are "arguments", "outputs", "temporaries" and "aliases".
    """
    try:
        stats = executable.get_compiled_memory_stats()
    except Exception:  # each compiler has exceptions of its own
        return None
    return {
        "arguments": stats.argument_size_in_bytes,
        "outputs": stats.output_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes,
        "aliases": stats.alias_size_in_bytes,
    }


def hlo_text(executable: Any, whole_constants: bool = False) -> str:
    """The optimised modules of jaxlib's executable as text.

    Without `whole_constants`, constants of more than ten elements are printed as `{...}`, which
    reads back as arbitrary memory.
    """
    options = _hlo.HloPrintOptions()
    options.print_large_constants = whole_constants
    return "\n".join(module.to_string(options) for module in executable.hlo_modules())


def hlo_proto(executable: Any) -> bytes:
    """The optimised module of jaxlib's executable as a serialised `HloModuleProto`."""
    return bytes(executable.hlo_modules()[0].as_serialized_hlo_module_proto())


def shardings_of(hlo_proto: bytes) -> tuple[list[str], list[str]]:
    """The shardings of arguments and results in a serialised, optimised `HloModuleProto`.

    Each is written as HLO does, such as "{devices=[4,1]<=[4]}". A module that is not partitioned
    has none.
    """
    module = _hlo.HloModule.from_serialized_hlo_module_proto(hlo_proto)
    result, arguments = module.spmd_output_sharding, module.spmd_parameters_shardings
    if result is None:
        return [], []
    results = _hlo.HloSharding.from_proto(result)
    leaves = results.tuple_elements() if result.type == _hlo.OpSharding.Type.TUPLE else [results]
    return [str(_hlo.HloSharding.from_proto(each)) for each in arguments or ()], [*map(str, leaves)]


def kept_arguments(lowered: jax.stages.Lowered) -> list[int]:
    """The positions of the argument leaves that JAX passes to the module: those it uses."""
    kept = lowered._lowering.compile_args.get("kept_var_idx")
    count = len(jax.tree.leaves(lowered.args_info))
    return list(range(count)) if kept is None else sorted(kept)


def loaded(serialised: bytes, devices: Sequence[Any]) -> Any:
    """jaxlib's executable from bytes, for these devices.

    The bytes hold the numbers of the devices that it was compiled for, which differ between the
    processes of a job. On the CPU these devices take their place.
    """
    device_list = _xla_client.DeviceList(tuple(devices))
    options = _options_for(devices) if devices[0].platform == "cpu" else None  # not tried elsewhere
    return devices[0].client.deserialize_executable(
        serialised, executable_devices=device_list, compile_options=options
    )


def _options_for(devices: Sequence[Any]) -> Any:
    """XLA's options for a program partitioned over devices, in this order."""
    assignment = np.array([device.id for device in devices]).reshape(1, -1)
    return _compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=assignment
    )


def compile_uncached(
    backend: Any, module: Any, devices: Any, options: Any, callbacks: Sequence[Any]
) -> Any:
    """jaxlib's executable of the module, compiled as JAX does but without its persistent cache."""
    module, options = without_attribute(module, options)
    return _compiler.backend_compile_and_load(backend, module, devices, options, callbacks)


def with_results(
    lowered: jax.stages.Lowered, module: Any, added: Sequence[jax.ShapeDtypeStruct]
) -> jax.stages.Lowered:
    """A copy of a `jax.stages.Lowered` that compiles `module`, which has added results.

    Its executable returns a pair: the results of the given one, and a tuple of the added ones.
    """
    twin = with_module(lowered, module)
    lowering = twin._lowering
    arguments = dict(lowering.compile_args)
    avals = [_core.ShapedArray(each.shape, each.dtype) for each in added]
    arguments["global_out_avals"] = [*arguments["global_out_avals"], *avals]
    unspecified = [_sharding_impls.UNSPECIFIED] * len(added)
    arguments["out_shardings"] = (*arguments["out_shardings"], *unspecified)
    arguments["out_layouts"] = (*arguments["out_layouts"], *[None] * len(added))
    lowering.compile_args = arguments
    own = jax.tree.unflatten(lowered.out_tree, [0] * lowered.out_tree.num_leaves)
    twin.out_tree = jax.tree.structure((own, (0,) * len(added)))
    twin._in_types = twin._out_types = None  # these do not cover the added results
    return twin


def changes_references(lowered: jax.stages.Lowered) -> bool:
    """Whether a program changes arguments of type `jax.Ref` in place."""
    return lowered._lowering.compile_args.get("mut") is not None


def static_arguments(jitted: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and names of the arguments that a jitted function takes as static."""
    info = jitted._jit_info
    return tuple(info.static_argnums or ()), tuple(info.static_argnames or ())


def execute(executable: Any, arrays: Sequence[Any], handlers: Sequence[Any]) -> list[Any]:
    """The results of jaxlib's executable as arrays, not waited for."""
    results: list[Any] = executable.execute_sharded(list(arrays)).consume_with_handlers(handlers)
    return results


def copied(arrays: Sequence[Any]) -> list[Any]:
    """Copies of arrays on their devices. No program is compiled, and types stay as they are."""
    made: list[Any] = []
    for array in arrays:
        devices = array.sharding._internal_device_list
        always = _xla_client.ArrayCopySemantics.ALWAYS_COPY
        made += _xla_client.batched_copy_array_to_devices_with_sharding(
            [array], [devices], [array.sharding], [always]
        )
    return made


def placed_like(value: np.ndarray, array: Any) -> Any:
    """A numpy array with the sharding of a JAX array."""
    return jax.device_put(value, array.sharding)


def has_same_signature(executable: Any, other: Any) -> bool:
    """Whether two of jaxlib's executables are called with the same layouts and shardings."""
    return all(
        _read(executable, name) == _read(other, name)
        for name in (
            "get_parameter_layouts",
            "get_output_layouts",
            "get_parameter_shardings",
            "get_output_shardings",
        )
    )


def _read(executable: Any, name: str) -> Any:
    try:
        found = getattr(executable, name)()
    except Exception:  # each runtime has exceptions of its own for what it cannot say
        return None
    return found if found is None or "sharding" not in name else [str(each) for each in found]


def coordination_client() -> Any:
    """The client of `jax.distributed`, which has a key-value store; None without one."""
    return _distributed.global_state.client


def own_process_id() -> int:
    """The number of this process in `jax.distributed`, which needs no backend."""
    return int(_distributed.global_state.process_id or 0)


def processes_of(backend: Any, devices: Any) -> tuple[int, ...]:
    """The numbers of the processes of a program's devices, in order.

    Empty where this process has all devices or compiles for hardware that is not here.
    """
    if isinstance(backend, _jax.CompileOnlyPyClient) or jax.process_count() == 1:
        return ()
    return tuple(sorted({device.process_index for device in np.asarray(devices).flat}))


def devices_of(lowered: jax.stages.Lowered) -> Sequence[Any]:
    """The devices that a `jax.stages.Lowered` compiles for; none if that is left open."""
    return tuple(lowered._lowering._device_list or ())


RuntimeFailure: type[Exception] = _jax.JaxRuntimeError
"""Raised by the client of `jax.distributed`; the message begins with the code of the error."""


def is_for_absent_devices(backend: Any) -> bool:
    """Whether this backend compiles programs and cannot run them."""
    return isinstance(backend, _jax.CompileOnlyPyClient)

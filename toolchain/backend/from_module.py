"""A module from a file as a `Lowered` value, which is called like any other once it is compiled.

JAX supplies the calling convention: a function of the same signature is lowered, and the module
takes the place of its module. For a module of several devices, JAX needs the mesh and the sharding
of each argument; both are read from the module's `sdy` attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir

from ..errors import JxcError
from ..frontend.mesh import make_mesh, sharding_over, sizes_of, within
from ..ir import clone_module, functions, walk
from ..ir.dtypes import numpy_dtype
from ..ir.module import callbacks_in
from ..ir.shardings import REPLICAS, argument_specs, module_device_count, replica_count
from . import registered
from ._private import load_lapack
from .lowered import Lowered, ModuleOrigin

_INSTEAD = "compile the Python function itself (`jxc compile file.py:fn ...`)"


def lowered_from_module(module: ir.Module) -> Lowered:
    """A module as a program, whose executable takes @main's arguments in order.

    Args:
        module: a module with a public @main on ranked tensors of static shape, for one device or
            for a mesh of the devices that are here.

    Raises:
        JxcError: it has no @main, or one that JAX cannot call.
        MissingTargetError: it is for more devices than are here.
    """
    main = _main_of(module)
    if (count := replica_count(module)) > 1:
        raise JxcError(f"the module is for {count} devices ({REPLICAS} = {count}): {_INSTEAD}")
    _refuse_callbacks(module)
    load_libraries(module)
    _refuse_elided(module)
    signature = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    arguments = [_struct(t, f"@main's argument {i}") for i, t in enumerate(signature.inputs)]
    results = [_struct(t, f"@main's result {i}") for i, t in enumerate(signature.results)]

    mesh, arguments = _over_mesh(module, arguments)
    named = _named(module)
    origin = ModuleOrigin(named, *lower_stand_in(arguments, results, mesh))
    return Lowered(named, "", None, jax.default_backend(), origin, mesh=sizes_of(mesh))


def lower_stand_in(
    arguments: Sequence[Any], results: Sequence[jax.ShapeDtypeStruct], mesh: Any = None
) -> tuple[Any, Any]:
    """JAX's `Traced` and `Lowered` of a function of this signature, which returns zeros."""

    def stand_in(*_: object) -> tuple[jax.Array, ...]:
        return tuple(jnp.zeros(each.shape, each.dtype) for each in results)

    with jax.enable_x64(True), registered.context(None), within(mesh):
        traced = jax.jit(stand_in, keep_unused=True).trace(*arguments)
        return traced, traced.lower()


def _over_mesh(module: ir.Module, arguments: list[Any]) -> tuple[Any, list[Any]]:
    """JAX's mesh for a module of several devices, and its arguments with their shardings."""
    if (count := module_device_count(module)) == 1:
        return None, arguments
    sizes, specs = argument_specs(module, count)
    mesh = make_mesh(sizes, concrete=True)
    return mesh, [
        plain if spec is None else plain.update(sharding=sharding_over(mesh, spec))
        for plain, spec in zip(arguments, specs, strict=True)
    ]


def _named(module: ir.Module) -> ir.Module:
    """A copy with a name, which JAX needs."""
    named = clone_module(module)
    if "sym_name" not in named.operation.attributes:
        with named.context:
            named.operation.attributes["sym_name"] = ir.StringAttr.get("main")
    return named


def uncallable_from_module(module: ir.Module) -> Lowered:
    """A module as a program for other hardware, of any device count; it cannot be called.

    Raises:
        JxcError: it has no @main, or a constant of it was elided.
    """
    _main_of(module)
    _refuse_elided(module)
    named = _named(module)
    return Lowered(named, "", None, "cpu", ModuleOrigin(named))


def _main_of(module: ir.Module) -> ir.OpView:
    found = functions(module)
    if "main" in found:
        return found["main"]
    raise JxcError(
        f"the module has no function @main to compile; it has: "
        f"{', '.join('@' + name for name in found) or 'no functions'}. Rename the entry to @main."
    )


def _refuse_callbacks(module: ir.Module) -> None:
    """Refuse host callbacks: they are addresses in the process that lowered the module."""
    for name in callbacks_in(module).values():
        raise JxcError(
            f"the module calls back into Python ({name}), and the function "
            f"it calls lives in the process that lowered it: {_INSTEAD}"
        )


def load_libraries(module: ir.Module) -> None:
    """Load LAPACK if the module calls it, as JAX does in lowering; else the process would crash."""
    if calls_lapack(call_targets(module)):
        load_lapack()


def calls_lapack(targets: Iterable[str]) -> bool:
    """Whether one of these external functions is LAPACK's."""
    return any(target.startswith("lapack_") for target in targets)


def call_targets(module: ir.Module) -> Iterator[str]:
    """The names of the external functions that a module calls."""
    for op in walk(module.operation):
        if op.operation.name == "stablehlo.custom_call":
            yield ir.StringAttr(op.attributes["call_target_name"]).value


def _refuse_elided(module: ir.Module) -> None:
    """Refuse constants that were elided in printing: they read back as arbitrary memory."""
    for op in walk(module.operation):
        if op.operation.name != "stablehlo.constant":
            continue
        try:
            value = op.attributes["value"]
        except TypeError:  # a complex constant, which the bindings cannot represent
            continue
        if not isinstance(value, ir.DenseElementsAttr) and "__elided__" in str(value):
            raise JxcError(
                "a constant of the module was elided when it was printed "
                "(dense_resource<__elided__>): print it whole, or as bytecode"
            )


def _struct(type_: ir.Type, where: str) -> jax.ShapeDtypeStruct:
    if not isinstance(type_, ir.RankedTensorType):
        raise JxcError(f"{where} is {type_}: JAX can pass ranked tensors only")
    tensor = ir.RankedTensorType(type_)
    dtype = numpy_dtype(tensor.element_type)
    if dtype is None or not tensor.has_static_shape:
        raise JxcError(
            f"{where} has type {type_}: expected static dimensions and numbers. For symbolic "
            "dimensions, lower with the sizes you want to run."
        )
    return jax.ShapeDtypeStruct(tuple(tensor.shape), np.dtype(dtype))

"""A module from a file as a `Lowered` value: callable once it is compiled, like any other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib.mlir import ir

from ..errors import JxcError
from ..frontend.mesh import make_mesh, sharding_over, sizes_of, within
from ..ir import clone_module, functions, walk
from ..ir.dtypes import numpy_dtype
from ..ir.shardings import argument_specs
from . import hook
from ._private import load_lapack
from .lowered import Lowered, Origin
from .targets.build import device_count

_WHERE = "compile the Python function itself (`jxc compile file.py:fn ...`)"


def lowered_from_module(module: ir.Module) -> Lowered:
    """A module as a value that `opt` and `compile` take, called with @main's arguments in order.

    JAX supplies the calling convention: a function of the same signature is lowered, and its module
    replaced by this one.

    Args:
        module: a module with a public @main on ranked tensors of static shape, for one device or,
            over a mesh, for as many as are here.

    Raises:
        JxcError: it has no @main, or one that cannot be called from here.
        MissingTargetError: it is for more devices than are here.
    """
    main = _main_of(module)
    _refuse_replicas(module)
    _refuse_callbacks(module)
    load_libraries(module)
    _refuse_elided(module)
    signature = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    arguments = [_struct(t, f"@main's argument {i}") for i, t in enumerate(signature.inputs)]
    results = [_struct(t, f"@main's result {i}") for i, t in enumerate(signature.results)]

    def stand_in(*_: object) -> tuple[jax.Array, ...]:
        return tuple(jnp.zeros(r.shape, r.dtype) for r in results)

    mesh, arguments = _over_mesh(module, arguments)
    with jax.enable_x64(True), hook.context(None), within(mesh):
        traced = jax.jit(stand_in, keep_unused=True).trace(*arguments)
        lowered = traced.lower()
    named = _named(module)
    origin = Origin(traced, lowered, named)
    return Lowered(named, "", None, jax.default_backend(), origin, mesh=sizes_of(mesh))


def _over_mesh(module: ir.Module, arguments: list[Any]) -> tuple[Any, list[Any]]:
    """JAX's mesh for a module of several devices, and the arguments split as the module says."""
    if (count := device_count(module)) == 1:
        return None, arguments
    sizes, specs = argument_specs(module, count)
    mesh = make_mesh(sizes, concrete=True)
    return mesh, [
        plain if spec is None else plain.update(sharding=sharding_over(mesh, spec))
        for plain, spec in zip(arguments, specs, strict=True)
    ]


def _named(module: ir.Module) -> ir.Module:
    """A copy that has a name: JAX does not compile one without."""
    named = clone_module(module)
    if "sym_name" not in named.operation.attributes:
        with named.context:
            named.operation.attributes["sym_name"] = ir.StringAttr.get("main")
    return named


def uncallable_from_module(module: ir.Module) -> Lowered:
    """A module as a value that `opt` and `compile` for other hardware take, for any device count.

    Raises:
        JxcError: it has no @main, or a constant of it was left out.
    """
    _main_of(module)
    _refuse_elided(module)
    named = _named(module)
    return Lowered(named, "", None, "cpu", Origin(None, None, named))


def _main_of(module: ir.Module) -> ir.OpView:
    found = functions(module)
    if "main" in found:
        return found["main"]
    raise JxcError(
        f"the module has no function @main to compile; it has: "
        f"{', '.join('@' + name for name in found) or 'no functions'}. Rename the entry to @main."
    )


def _refuse_replicas(module: ir.Module) -> None:
    attribute = module.operation.attributes.get("mhlo.num_replicas")
    count = 1 if attribute is None else ir.IntegerAttr(attribute).value
    if count > 1:
        raise JxcError(f"the module is for {count} devices (mhlo.num_replicas = {count}): {_WHERE}")


def _refuse_callbacks(module: ir.Module) -> None:
    """Host callbacks are addresses in the process that lowered them: calling one elsewhere dies."""
    for target in call_targets(module):
        if "callback" in target:
            raise JxcError(
                f"the module calls back into Python (custom_call @{target}), and the function "
                f"it calls lives in the process that lowered it: {_WHERE}"
            )


def load_libraries(module: ir.Module) -> None:
    """JAX loads LAPACK where it lowers a call of it: calling what was not loaded dies."""
    if any(target.startswith("lapack_") for target in call_targets(module)):
        load_lapack()


def call_targets(module: ir.Module) -> Iterator[str]:
    """The functions outside the module that it calls."""
    for op in walk(module.operation):
        if op.operation.name == "stablehlo.custom_call":
            yield ir.StringAttr(op.attributes["call_target_name"]).value


def _refuse_elided(module: ir.Module) -> None:
    """A constant that was left out in printing reads back as whatever memory holds."""
    for op in walk(module.operation):
        if op.operation.name == "stablehlo.constant" and _is_elided(op):
            raise JxcError(
                "a constant of the module was left out when it was printed "
                "(dense_resource<__elided__>): print it whole, or as bytecode"
            )


def _is_elided(op: ir.OpView) -> bool:
    try:
        value = op.attributes["value"]
    except TypeError:  # a complex constant that is there: the bindings cannot hold it
        return False
    return not isinstance(value, ir.DenseElementsAttr) and "__elided__" in str(value)


def _struct(type_: ir.Type, where: str) -> jax.ShapeDtypeStruct:
    if not isinstance(type_, ir.RankedTensorType):
        raise JxcError(f"{where} is {type_}: only ranked tensors can be passed from here")
    tensor = ir.RankedTensorType(type_)
    dtype = numpy_dtype(tensor.element_type)
    if dtype is None or not tensor.has_static_shape:
        raise JxcError(
            f"{where} has type {type_}: expected static extents and numbers. For symbolic "
            "dimensions, lower with the sizes you want to run."
        )
    return jax.ShapeDtypeStruct(tuple(tensor.shape), np.dtype(dtype))

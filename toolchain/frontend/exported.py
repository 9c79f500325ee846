"""Files of `jax.export`: their modules converted or replaced, with the calling convention kept.

The calling convention is all that JAX needs beside the module: the trees of arguments and results,
shardings, platforms, the number of devices, which arguments were kept, effects, and the exported
gradient. Reading and writing such files needs the package flatbuffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import make_context, read_module
from ..ir.dtypes import numpy_dtype
from ..ir.io import module_of_export
from ..ir.module import functions
from . import _private

if TYPE_CHECKING:
    from jax.export import Exported


def read_export(data: bytes, name: str) -> Exported:
    """The function in a file of `jax.export`.

    Raises:
        JxcError: flatbuffers is not installed, or the file is damaged.
    """
    _require_flatbuffers()
    from jax import export

    if module_of_export(data) is None:
        raise UsageError(f"{name}: expected a file of jax.export; it holds no bytecode")
    try:
        return export.deserialize(bytearray(data))
    except Exception as error:  # flatbuffers raises many kinds on damaged files
        raise JxcError(f"{name}: malformed file of jax.export: {error}") from None


def write_export(exported: Exported) -> bytes:
    """The file of an exported function, with all derivatives that it has."""
    order, each = 0, exported
    while each.has_vjp():
        order, each = order + 1, each.vjp()
    return bytes(exported.serialize(vjp_order=order))


def with_modules(exported: Exported, convert: Callable[[bytes], bytes]) -> Exported:
    """The function with `convert` applied to its module and to those of its derivatives."""
    changed = with_module(exported, convert(exported.mlir_module_serialized))
    if not exported.has_vjp():
        return changed
    vjp = with_modules(exported.vjp(), convert)
    return _private.with_vjp(changed, vjp)


def with_module(exported: Exported, code: bytes) -> Exported:
    """The function with another module, and the same calling convention and derivatives."""
    return replace(exported, mlir_module_serialized=code)


def check_same_signature(exported: Exported, module: ir.Module, name: str) -> None:
    """Refuse a module whose @main the calling convention of `exported` does not fit.

    Raises:
        JxcError: the types of @main differ, or the attributes that JAX passes arguments by.
    """
    original = read_module(exported.mlir_module_serialized, make_context(), name=name)
    expected, found = _signature(original), _signature(module)
    if expected != found:
        raise JxcError(f"{name}: @main is {expected}, and that of the module is {found}")


def _signature(module: ir.Module) -> str:
    """The types of @main, and the arguments that JAX computes itself."""
    main = _main_of(module)
    return ", ".join([str(main.attributes["function_type"]), *_implicit_arguments(main)])


def _implicit_arguments(main: ir.OpView) -> list[str]:
    """The arguments that are the platform, as texts such as 'argument 0 "_platform_index"'."""
    attributes = main.attributes.get("arg_attrs", ())
    return [
        f"argument {index} {each['jax.global_constant']}"
        for index, each in enumerate(attributes)
        if "jax.global_constant" in each
    ]


def export_of_module(module: ir.Module, code: bytes, platform: str) -> Exported:
    """A function that takes @main's arguments by position and returns its results.

    A single result is returned as an array, several as a tuple.

    Args:
        module: a module for one device, with static shapes.
        code: the same as a portable artifact.
        platform: where the function may be called: one of JAX's platforms, such as "cpu".

    Raises:
        JxcError: the calling convention of the module does not follow from @main's types.
    """
    import jax
    from jax import export

    _require_flatbuffers()
    main = _main_of(module)
    if _implicit_arguments(main) or _devices(module) != 1:
        raise JxcError(
            "the module is for several devices or platforms: give --like FILE, the file of "
            "jax.export whose calling convention it has"
        )
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    inputs, outputs = ([_abstract(each) for each in part] for part in (kind.inputs, kind.results))

    def stand_in(*_: Any) -> Any:
        arrays = tuple(jax.numpy.zeros(each.shape, each.dtype) for each in outputs)
        return arrays[0] if len(arrays) == 1 else arrays

    stand_in.__name__ = _name_of(module)
    with jax.enable_x64(True):
        jitted = jax.jit(stand_in, keep_unused=True)
        exported = export.export(jitted, platforms=[platform])(*inputs)
    # The gradient of the stand-in is not that of the module.
    return _private.with_vjp(with_module(exported, code), None)


def _main_of(module: ir.Module) -> ir.OpView:
    main = functions(module).get("main")
    if main is None:
        raise JxcError("a file of jax.export needs a function @main, and the module has none")
    return main


def _devices(module: ir.Module) -> int:
    attributes = module.operation.attributes
    counts = [attributes.get(f"mhlo.num_{name}") for name in ("partitions", "replicas")]
    product = 1
    for count in counts:
        product *= 1 if count is None else ir.IntegerAttr(count).value
    return product


def _name_of(module: ir.Module) -> str:
    name = module.operation.attributes.get("sym_name")
    return "main" if name is None else str(ir.StringAttr(name).value).removeprefix("jit_")


def _abstract(kind: ir.Type) -> Any:
    import jax

    dtype = None
    if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        dtype = numpy_dtype(kind.element_type)
    if dtype is None:
        raise JxcError(
            f"@main has a {kind}; a file of jax.export without --like needs tensors of numbers "
            "with static shapes"
        )
    return jax.ShapeDtypeStruct(tuple(kind.shape), dtype)


def _require_flatbuffers() -> None:
    if find_spec("flatbuffers") is None:
        raise JxcError("files of jax.export need the package flatbuffers: pip install flatbuffers")

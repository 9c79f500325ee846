"""Compiling a program to which passes added results, such as `locate-nans`.

JAX settles how many results a program returns when it traces it; here JAX's calling convention is
widened, so that what is compiled returns the program's own results and the added ones. Who
interprets the added ones is named by the pass (`@module_pass(adds_results="module:function")`): the
backend knows no tool that does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import jax
from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import clone_module, functions
from ..ir.dtypes import numpy_dtype
from ..ir.extra_results import EXTRA_RESULTS, extra_results
from ..pipeline import Pipeline
from ..pipeline.library import Library
from . import _private

if TYPE_CHECKING:
    from .lowered import Executable, Lowered

Reader = Callable[["Lowered", ir.Module, Mapping[str, Any] | None], "Executable"]
"""Compiles a module with added results: called with the program, the module, and XLA's options."""

_DONATION = ("tf.aliasing_output", "jax.buffer_donor")


def reader_of(module: ir.Module, ran: Iterable[Pipeline]) -> Reader:
    """The function that compiles `module` and interprets the results that passes added to it.

    Args:
        module: has added results.
        ran: the pipelines that it went through in this process; where none of them has the pass,
            as for a module from a file, ours are searched.

    Raises:
        JxcError: the pass that added them is not known, or names no reader.
    """
    name = extra_results(module)[-1].by
    libraries = [*(pipeline.library for pipeline in ran), Library()]
    passes = filter(None, (library.find(name) for library in libraries))
    spelling = next((each.adds_results for each in passes if each.adds_results), "")
    if not spelling:
        raise JxcError(
            f"pass {name!r} added results to the program, and no function is known that reads "
            "them: load the pass, and declare it with @module_pass(adds_results='module:function')"
        )
    file, _, function = spelling.partition(":")
    return cast(Reader, getattr(importlib.import_module(file), function))


def compile_with_extra_results(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> jax.stages.Compiled:
    """JAX's executable of `module`, which is `lowered` with added results.

    It returns a pair: what the program returns, and a tuple of the added results. Donated arguments
    are kept, so that the program can run on them again.

    Raises:
        UsageError: the program changes arguments in place, and so cannot run twice.
    """
    if _private.changes_references(lowered.jax_lowered):
        raise UsageError(
            "a program that changes a jax.Ref in place cannot be instrumented: pass the array, "
            "and return the new one"
        )
    types = [type_ for added in extra_results(module) for type_ in added.types]
    widened = _private.with_results(
        lowered.jax_lowered, _without_donation(module), [_struct(type_) for type_ in types]
    )
    return widened.compile(dict(xla_options) if xla_options else None)


def _without_donation(module: ir.Module) -> ir.Module:
    """A copy of `module` that donates no argument and does not list its added results."""
    copy = clone_module(module)
    del copy.operation.attributes[EXTRA_RESULTS]
    main = functions(copy)["main"]
    if "arg_attrs" in main.attributes:
        with copy.context:
            each = [_undonated(ir.DictAttr(a)) for a in ir.ArrayAttr(main.attributes["arg_attrs"])]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(each)
    return copy


def _undonated(attributes: ir.DictAttr) -> ir.DictAttr:
    return ir.DictAttr.get({a.name: a.attr for a in attributes if a.name not in _DONATION})


def _struct(type_: ir.Type) -> jax.ShapeDtypeStruct:
    tensor = ir.RankedTensorType(type_)
    dtype = numpy_dtype(tensor.element_type)
    assert dtype is not None, "passes add numbers"
    return jax.ShapeDtypeStruct(tuple(tensor.shape), dtype)

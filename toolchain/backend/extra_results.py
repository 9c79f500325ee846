"""Compiling a program to which passes added results, such as `locate-nans`.

JAX fixes the number of results of a program when it traces it. This module extends JAX's calling
convention, so that the executable returns the program's own results and the added ones. The pass
names the function that interprets the added ones (`@module_pass(adds_results="module:function")`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import jax
from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import clone_module, functions
from ..ir.dtypes import numpy_dtype
from ..ir.extra_results import EXTRA_RESULTS, extra_results
from ..ir.module import DONATED
from ..pipeline import Pipeline
from ..pipeline.library import Library
from . import _private

Reader = Callable[[Any, ir.Module, Mapping[str, Any] | None], Any]
"""Compiles a module with added results: called with the `lowered.Lowered` of the program, the
module, and XLA's options. Returns an `Executable`."""


def reader_of(module: ir.Module, ran: Iterable[Pipeline]) -> Reader:
    """The function that compiles `module` and interprets the results that passes added to it.

    Args:
        module: has added results.
        ran: the pipelines that ran on it in this process. If none of them has the pass that added
            the results, as for a module from a file, jxc's own passes are searched.

    Raises:
        JxcError: the pass is not known, or names no reader.
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
    lowered: jax.stages.Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> jax.stages.Compiled:
    """JAX's executable of `module`, which is `lowered` with added results.

    It returns a pair: the program's results, and a tuple of the added ones. Donated arguments stay
    valid, so that the program can run on them again.

    Raises:
        UsageError: the program changes arguments in place, so it cannot run twice.
    """
    if _private.changes_references(lowered):
        raise UsageError(
            "a program that changes a jax.Ref in place cannot be instrumented: pass the array, "
            "and return the new one"
        )
    types = [ir.RankedTensorType(type_) for each in extra_results(module) for type_ in each.types]
    added = [jax.ShapeDtypeStruct(t.shape, numpy_dtype(t.element_type)) for t in types]
    widened = _private.with_results(lowered, _without_donation(module), added)
    return widened.compile(dict(xla_options) if xla_options else None)


def _without_donation(module: ir.Module) -> ir.Module:
    """A copy of `module` that donates no argument and does not list its added results."""
    copy = clone_module(module)
    del copy.operation.attributes[EXTRA_RESULTS]
    main = functions(copy)["main"]
    if "arg_attrs" in main.attributes:
        with copy.context:
            kept = [
                ir.DictAttr.get(
                    {a.name: a.attr for a in ir.DictAttr(each) if a.name not in DONATED}
                )
                for each in ir.ArrayAttr(main.attributes["arg_attrs"])
            ]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    return copy

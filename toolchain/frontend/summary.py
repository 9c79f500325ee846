"""What `--json` says about a lowered function."""

from __future__ import annotations

from typing import Any

from ..ir import count_ops
from ..ir.dtypes import short_dtype
from . import _private
from .lowering import Lowering
from .request import LoweredTarget

SCHEMA_VERSION = 1


def summarize(lowered: LoweredTarget) -> dict[str, Any]:
    """A JSON-ready object: the module's name, its arguments and results, counts and times.

    Each argument and result has `path` (in the function's own tree), `shape` (a symbolic
    dimension is a string) and `dtype`; `mesh` has sizes by axis, in order; times are in seconds;
    `bytes` of constants are bytes.
    """
    lowering = lowered.lowering
    return {
        "schema_version": SCHEMA_VERSION,
        "target": lowered.target.spelling,
        "module": _module_name(lowering.module),
        "arguments": _arguments(lowering),
        "results": [
            {"path": path, **_type(leaf)} for path, leaf in _leaves(lowering.traced.out_info)
        ],
        "mesh": dict(lowering.mesh),
        "ops": count_ops(lowering.module),
        "constants": [_constant(constant) for constant in lowering.constants],
        "seconds": {
            "trace": round(lowering.trace_seconds, 6),
            "lower": round(lowering.lower_seconds, 6),
        },
    }


def _module_name(module: Any) -> str:
    attributes = module.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _arguments(lowering: Lowering) -> list[dict[str, Any]]:
    leaves = _leaves(lowering.traced.args_info)
    names = _private.argument_names(lowering.jaxpr)
    if len(names) != len(leaves):
        names = [path for path, _ in leaves]
    return [{"path": name, **_type(leaf)} for name, (_, leaf) in zip(names, leaves, strict=True)]


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    from jax import tree_util

    leaves, _ = tree_util.tree_flatten_with_path(tree)
    return [(tree_util.keystr(path), leaf) for path, leaf in leaves]


def _type(leaf: Any) -> dict[str, Any]:
    shape = [dim if isinstance(dim, int) else str(dim) for dim in leaf.shape]
    return {"shape": shape, "dtype": short_dtype(leaf.dtype)}


def _constant(constant: Any) -> dict[str, Any]:
    return {
        "shape": list(constant.shape),
        "dtype": constant.dtype,
        "bytes": constant.nbytes,
        "name": constant.name,
        "place": str(constant.place) if constant.place else None,
    }

"""What `--json` says about a lowered function."""

from __future__ import annotations

from typing import Any

from ..ir import count_ops
from .arguments import describe
from .dtypes import short_dtype
from .request import LoweredTarget

SCHEMA_VERSION = 1


def summarize(lowered: LoweredTarget) -> dict[str, Any]:
    """A JSON-ready object: the module's name, its arguments and results, counts and times.

    Each argument and result has `path` (in the function's own tree), `shape` (a symbolic
    dimension is a string) and `dtype`; times are in seconds; `bytes` of constants are bytes.
    """
    lowering = lowered.lowering
    return {
        "schema_version": SCHEMA_VERSION,
        "target": lowered.target.spelling,
        "module": _module_name(lowering.module),
        "arguments": _leaves((lowered.args, lowered.kwargs), _argument_path),
        "results": _leaves(lowering.traced.out_info, _result_path),
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


def _leaves(tree: Any, path_of: Any) -> list[dict[str, Any]]:
    from jax import tree_util

    leaves, _ = tree_util.tree_flatten_with_path(tree)
    return [{"path": path_of(path), **_type(leaf)} for path, leaf in leaves]


def _type(leaf: Any) -> dict[str, Any]:
    if not hasattr(leaf, "dtype"):
        return {"value": describe(leaf)}
    shape = [dim if isinstance(dim, int) else str(dim) for dim in leaf.shape]
    return {"shape": shape, "dtype": short_dtype(leaf.dtype)}


def _argument_path(path: Any) -> str:
    from jax import tree_util

    kind, *inner = path
    if kind.idx == 0:
        return f"{inner[0].idx}{tree_util.keystr(tuple(inner[1:]))}"
    return f"{inner[0].key}{tree_util.keystr(tuple(inner[1:]))}"


def _result_path(path: Any) -> str:
    from jax import tree_util

    return tree_util.keystr(path)


def _constant(constant: Any) -> dict[str, Any]:
    return {
        "shape": list(constant.shape),
        "dtype": constant.dtype,
        "bytes": constant.nbytes,
        "name": constant.name,
        "place": str(constant.place) if constant.place else None,
    }

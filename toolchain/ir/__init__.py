"""Modules, ops and values of MLIR: what passes and rules are written with. Never imports jax.

The names below are public. A rule matches ops by the classes of
`jaxlib.mlir.dialects.stablehlo`, queries their operands, and builds its replacement:

    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.ir import Value

    import jxc
    from jxc.ir import build, is_integer, splat_of

    @jxc.rule(jxc.exact)
    def double_to_shift(op: stablehlo.MulOp) -> Value | None:
        \"""x * 2 -> x << 1, on integers.\"""
        if is_integer(op.lhs) and splat_of(op.rhs) == 2:
            return stablehlo.shift_left(op.lhs, build.splat(1, op.rhs.type))
        return None

Types and shapes: `shape_of`, `static_shape`, `element_type`, `is_integer`, `is_unsigned`,
`is_boolean`, `is_float`, `is_complex`, `numpy_dtype`.

Constants: `splat_of` (the number in a splat constant), `splat_attr` (the same as an
attribute), `is_splat`, `is_same_splat`, `is_same`, `is_all_ones`, `array_of` (all elements as
numpy's), and `SPLATS`, the ops that produce what these recognise, for the `producer` of a rule.

Ranges of integers: `bounds_of`, `type_bounds`.

Uses and effects: `is_used`, `users`, `is_pure`, `has_side_effect`.

Building: the module `build` (`build.splat`, `build.scalar`, `build.dense`, `build.reshape`,
`build.transpose`, `build.broadcast`, `build.convert`, `build.dot`, `build.reduce_sum`,
`build.fori_loop`) and `as_result`.

Whole modules: `make_context`, `read_module`, `write_text`, `write_bytecode`, `write_portable`,
`clone_module`, `walk`, `functions`, `main_of`, `count_ops`, `op_names`, `argument_names`,
`inline_calls`. Locations: `path_of`, `frames_of`, `format_location`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .hlo import ModuleSyntaxError
from .io import format_diagnostics, read_module, write_bytecode, write_portable, write_text
from .locations import format_location, frames_of, inline_calls, path_of
from .module import (
    argument_names,
    clone_module,
    count_ops,
    functions,
    has_regions,
    has_side_effect,
    is_pure,
    main_of,
    make_context,
    op_names,
    register_native_passes,
    walk,
)

if TYPE_CHECKING:
    from . import build
    from .bounds import bounds_of, type_bounds
    from .constants import array_of
    from .dtypes import numpy_dtype
    from .values import (
        SPLATS,
        as_result,
        direction_of,
        element_type,
        is_all_ones,
        is_boolean,
        is_complex,
        is_float,
        is_integer,
        is_same,
        is_same_splat,
        is_splat,
        is_unsigned,
        is_used,
        shape_of,
        splat_attr,
        splat_of,
        static_shape,
        users,
    )

__all__ = [
    "SPLATS",
    "ModuleSyntaxError",
    "argument_names",
    "array_of",
    "as_result",
    "bounds_of",
    "build",
    "clone_module",
    "count_ops",
    "direction_of",
    "element_type",
    "format_diagnostics",
    "format_location",
    "frames_of",
    "functions",
    "has_regions",
    "has_side_effect",
    "inline_calls",
    "is_all_ones",
    "is_boolean",
    "is_complex",
    "is_float",
    "is_integer",
    "is_pure",
    "is_same",
    "is_same_splat",
    "is_splat",
    "is_unsigned",
    "is_used",
    "main_of",
    "make_context",
    "numpy_dtype",
    "op_names",
    "path_of",
    "read_module",
    "register_native_passes",
    "shape_of",
    "splat_attr",
    "splat_of",
    "static_shape",
    "type_bounds",
    "users",
    "walk",
    "write_bytecode",
    "write_portable",
    "write_text",
]


# These import the classes of StableHLO's ops, which takes 50 ms: on first use only.
_LOADED_ON_USE = ("values", "constants", "bounds")


def __getattr__(name: str) -> Any:
    if name == "build":
        return importlib.import_module(".build", __name__)
    for home in _LOADED_ON_USE if name in __all__ else ():
        module = importlib.import_module(f".{home}", __name__)
        if hasattr(module, name):
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

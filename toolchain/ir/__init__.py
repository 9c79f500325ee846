"""Modules, ops and values of MLIR: what passes and rules are written with. Never imports jax.

The names below are public. A rule matches ops by the classes of
`jaxlib.mlir.dialects.stablehlo`, queries their operands, and builds its replacement:

    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.ir import Value

    import jxc
    from jxc.ir import constant, is_integer, is_splat

    @jxc.rule(jxc.exact)
    def double_to_shift(op: stablehlo.MulOp) -> Value | None:
        \"\"\"x * 2 -> x << 1, on integers.\"\"\"
        if is_integer(op.lhs) and is_splat(op.rhs, 2):
            return stablehlo.shift_left(op.lhs, constant(1, op.rhs))
        return None

Types: `shape_of`, `element_type`, `is_integer`, `is_float`.

Constants and what is known of values: `splat_of` (the number in a splat constant), `is_splat` (is
it 1?), `array_of` (all elements as numpy's), `is_same`, `bounds_of` (of integers), `is_finite`,
`broadcast_dims` (the dimensions that a broadcast adds).

Uses and effects: `users`, `is_used`, `is_pure`.

Building, at the current insertion point: `constant` (of the type of another value),
`elementwise_op` (with numbers and scalars broadcast), `reshape`, `transpose`, `broadcast`,
`convert`, `dot`, `reduce_sum`.

Whole modules: `make_context`, `read_module`, `walk`.

Each has an example in its docstring, which the test suite runs. Other names in this package are
those of jxc's own passes, and may change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .hlo import ModuleSyntaxError as ModuleSyntaxError
from .io import (
    format_diagnostics as format_diagnostics,
    read_module,
    write_bytecode as write_bytecode,
    write_portable as write_portable,
    write_text as write_text,
)
from .locations import (
    format_location as format_location,
    frames_of as frames_of,
    inline_calls as inline_calls,
    path_of as path_of,
)
from .module import (
    argument_names as argument_names,
    clone_module as clone_module,
    count_ops as count_ops,
    functions as functions,
    has_regions as has_regions,
    has_side_effect as has_side_effect,
    is_pure,
    main_of as main_of,
    make_context,
    op_names as op_names,
    register_native_passes as register_native_passes,
    walk,
)

if TYPE_CHECKING:
    from . import build as build
    from .bounds import (
        bounds_of,
        type_bounds as type_bounds,
    )
    from .build import (
        broadcast,
        constant,
        convert,
        dot,
        elementwise_op,
        reduce_sum,
        reshape,
        transpose,
    )
    from .constants import (
        array_of,
    )
    from .dtypes import (
        numpy_dtype as numpy_dtype,
    )
    from .finite import (
        is_finite,
    )
    from .values import (
        SPLATS as SPLATS,
        as_result as as_result,
        broadcast_dims,
        direction_of as direction_of,
        element_type,
        is_all_ones as is_all_ones,
        is_boolean as is_boolean,
        is_complex as is_complex,
        is_float,
        is_integer,
        is_same,
        is_same_splat as is_same_splat,
        is_splat,
        is_unsigned as is_unsigned,
        is_used,
        shape_of,
        splat_attr as splat_attr,
        splat_of,
        static_shape as static_shape,
        users,
    )

__all__ = [
    "array_of",
    "bounds_of",
    "broadcast",
    "broadcast_dims",
    "constant",
    "convert",
    "dot",
    "element_type",
    "elementwise_op",
    "is_finite",
    "is_float",
    "is_integer",
    "is_pure",
    "is_same",
    "is_splat",
    "is_used",
    "make_context",
    "read_module",
    "reduce_sum",
    "reshape",
    "shape_of",
    "splat_of",
    "transpose",
    "users",
    "walk",
]

# These import the classes of StableHLO's ops, which takes 50 ms: on first use only.
_LOADED_ON_USE = {
    "bounds": ("bounds_of", "type_bounds"),
    "build": (
        "broadcast",
        "constant",
        "convert",
        "dot",
        "elementwise_op",
        "reduce_sum",
        "reshape",
        "transpose",
    ),
    "constants": ("array_of",),
    "dtypes": ("numpy_dtype",),
    "finite": ("is_finite",),
    "values": (
        "SPLATS",
        "as_result",
        "broadcast_dims",
        "direction_of",
        "element_type",
        "is_all_ones",
        "is_boolean",
        "is_complex",
        "is_float",
        "is_integer",
        "is_same",
        "is_same_splat",
        "is_splat",
        "is_unsigned",
        "is_used",
        "shape_of",
        "splat_attr",
        "splat_of",
        "static_shape",
        "users",
    ),
}
_HOME = {name: home for home, names in _LOADED_ON_USE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "build":
        return importlib.import_module(".build", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)

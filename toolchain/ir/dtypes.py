"""The names of element types: MLIR's (`f8E4M3FN`), those of argument specs, and numpy's.

Specs use HLO's short names (`f32`, `u8`, `c64`, `f8e4m3fn`), with `bool` for `pred` and `i8` for
`s8`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

_WIDTHS = (2, 4, 8, 16, 32, 64)
_FLOAT8 = ("E3M4", "E4M3", "E4M3B11FNUZ", "E4M3FN", "E4M3FNUZ", "E5M2", "E5M2FNUZ", "E8M0FNU")
_NUMPY_NAMES = {
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in _WIDTHS},
    **{f"ui{bits}": f"uint{bits}" for bits in _WIDTHS},
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f4E2M1FN": "float4_e2m1fn",
    **{f"f8{kind}": f"float8_{kind.lower()}" for kind in _FLOAT8},
}
"""MLIR's spelling of each element type, and the name of the dtype in numpy or `ml_dtypes`."""

_SHORT_NAMES = {
    **{name: name.lower() for name in _NUMPY_NAMES},
    **{f"ui{bits}": f"u{bits}" for bits in _WIDTHS},
    "i1": "bool",
    "complex<f32>": "c64",
    "complex<f64>": "c128",
}

_NUMPY_OF_SHORT = {
    **{short: _NUMPY_NAMES[name] for name, short in _SHORT_NAMES.items()},
    # JAX lowers functions of these; as constants of a module they have no numpy dtype here.
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
}

_SHORT_OF_NUMPY = {numpy_name: short for short, numpy_name in _NUMPY_OF_SHORT.items()}

_ALIASES = {
    **_SHORT_OF_NUMPY,
    "pred": "bool",  # HLO
    **{f"s{bits}": f"i{bits}" for bits in _WIDTHS},  # HLO
    **{f"ui{bits}": f"u{bits}" for bits in _WIDTHS},  # MLIR
    "i1": "bool",  # MLIR
}

NEEDS_X64 = {"i64": "i32", "u64": "u32", "f64": "f32", "c128": "c64"}
"""The 64-bit types, each with the type that JAX uses instead unless 64-bit mode is on."""


def numpy_dtype(element: ir.Type | str) -> np.dtype | None:
    """The numpy dtype of an element type, given as MLIR's type or spelling, or as a short name.

    None where numpy has none: tokens, quantised types.
    """
    name = _NUMPY_NAMES.get(str(element)) or _NUMPY_OF_SHORT.get(str(element))
    if name is None:
        return None
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def canonical_dtype(name: str) -> str | None:
    """The short name of a dtype given by any of its names, in any case; None if unknown."""
    name = name.lower()
    name = _ALIASES.get(name, name)
    return name if name in _NUMPY_OF_SHORT else None


def known_dtypes() -> list[str]:
    """Every name that `canonical_dtype` takes, the short ones first."""
    return [*_NUMPY_OF_SHORT, *(name for name in _ALIASES if name not in _NUMPY_OF_SHORT)]


def short_dtype(dtype: Any) -> str:
    """The short name of a numpy dtype, or JAX's own name of one that has none, such as a key's."""
    name = getattr(dtype, "name", None) or str(dtype)
    return _SHORT_OF_NUMPY.get(name, name)

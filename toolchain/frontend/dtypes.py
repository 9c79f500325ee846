"""The names of element types: XLA's, MLIR's, JAX's and numpy's, and what each one is."""

from __future__ import annotations

from typing import Any

# The spelling that we print, and the one that numpy and ml_dtypes know it by.
_NUMPY_NAME = {
    "bool": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "c64": "complex64",
    "c128": "complex128",
    "f4e2m1fn": "float4_e2m1fn",
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f8e3m4": "float8_e3m4",
    "f8e4m3": "float8_e4m3",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu",
}

_SHORT_NAME = {numpy_name: short for short, numpy_name in _NUMPY_NAME.items()}

_ALIASES = {
    **_SHORT_NAME,
    "pred": "bool",  # XLA
    **{f"s{bits}": f"i{bits}" for bits in (2, 4, 8, 16, 32, 64)},  # XLA
    **{f"ui{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)},  # MLIR
    "i1": "bool",  # MLIR: what a tensor<..xi1> means everywhere else in the pipeline
}

NEEDS_X64 = {"i64": "i32", "u64": "u32", "f64": "f32", "c128": "c64"}
"""The types that JAX cuts down unless 64-bit mode is on, and what they are cut down to."""


def canonical_dtype(name: str) -> str | None:
    """The short spelling (`f32`, `bf16`, `i8`, `f8e4m3fn`) of a dtype's name, None if unknown."""
    name = name.lower()
    name = _ALIASES.get(name, name)
    return name if name in _NUMPY_NAME else None


def known_dtypes() -> list[str]:
    """Every spelling that `canonical_dtype` takes, the short ones first."""
    return [*_NUMPY_NAME, *(name for name in _ALIASES if name not in _NUMPY_NAME)]


def numpy_dtype(short: str) -> Any:
    """The `numpy.dtype` that a short name stands for."""
    import ml_dtypes
    import numpy as np

    name = _NUMPY_NAME[short]
    return np.dtype(getattr(ml_dtypes, name, name))


def short_dtype(dtype: Any) -> str:
    """How a dtype is printed in a spec: `f32`; JAX's own spelling for what has no short one."""
    name = getattr(dtype, "name", None) or str(dtype)
    return _SHORT_NAME.get(name, name)

"""Element types as numpy names them, and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

_NAMES = {
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f4E2M1FN": "float4_e2m1fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
}
"""MLIR's spelling of each element type that numpy or `ml_dtypes` has: its name there."""


def numpy_dtype(element: ir.Type | str) -> np.dtype | None:
    """The numpy dtype of an element type, given as MLIR's type or spelling.

    None where numpy has none: tokens, quantised types.
    """
    name = _NAMES.get(str(element))
    if name is None:
        return None
    return np.dtype(getattr(ml_dtypes, name, None) or name)

"""The flops of custom calls of libraries, whose names and settings tell what they compute."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from ..hlo import Instruction
from .convolutions import convolved
from .formulas import cholesky, product_factor, triangular_solve
from .names import target_of

_MOVING = re.compile(r"X64(?:SplitLow|SplitHigh|Combine)$|Pin|Unpin|.*MoveTo(?:Host|Device)$")


def library_flops(call: Instruction) -> int | None:
    """The flops of a custom call, or None where nobody knows."""
    target = target_of(call)
    for pattern, formula in _KNOWN:
        if pattern.match(target):
            return formula(call)
    return None


def is_library(target: str) -> bool:
    """Whether a custom call is one of those that this file knows to compute something."""
    return not _MOVING.match(target) and any(pattern.match(target) for pattern, _ in _KNOWN)


def _settings(call: Instruction) -> dict[str, Any]:
    """A custom call's `backend_config`; empty where it is no JSON."""
    try:
        found = json.loads(call.attributes.get("backend_config", ""))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _cublas(call: Instruction) -> int | None:
    """A product, and one addition for each result and further operand: a bias, what is added to."""
    config = _settings(call).get("gemm_backend_config", {})
    numbers = config.get("dot_dimension_numbers", {})
    contracting = numbers.get("lhs_contracting_dimensions")
    if not contracting:
        return None
    left, result = call.operands[0].shape, call.shape.leaves[0]
    contracted = math.prod(left.dims[int(dim)] for dim in contracting)
    extra = len(call.operands) - 2 if "f8" not in target_of(call) else 0
    return result.elements * (product_factor(left) * contracted + extra)


def _onednn(call: Instruction) -> int | None:
    """A product: the extent contracted follows from the three sizes, however they are laid out."""
    left, right, result = (*(each.shape for each in call.operands[:2]), call.shape.leaves[0])
    batch = math.prod(result.dims[:-2]) if len(right.dims) > 2 else 1
    if not result.elements or not batch:
        return 0
    contracted = math.isqrt(left.elements * right.elements // result.elements // batch)
    return product_factor(left) * result.elements * contracted


def _cudnn(call: Instruction) -> int | None:
    """A convolution, whichever of its three tensors is sought; a bias and an activation on top."""
    if "dim_labels" not in call.attributes:
        return None
    target = target_of(call)
    one, other, result = (*(each.shape for each in call.operands[:2]), call.shape.leaves[0])
    if "BackwardInput" in target:
        return convolved(call, result, other, one)
    if "BackwardFilter" in target:
        return convolved(call, one, result, other)
    further = len(call.operands) - 2 + ('"activation_mode":"kRelu"' in str(call.attributes))
    return convolved(call, one, other, result) + further * result.elements


def _radix_sort(call: Instruction) -> int:
    """n * log2(n) comparisons for each line of n, as of any sort."""
    shape = call.operands[0].shape
    length = shape.dims[-1] if shape.dims else 1
    return math.ceil(shape.elements * math.log2(max(length, 2)))


def _none(_: Instruction) -> int:
    return 0


_KNOWN: list[tuple[re.Pattern[str], Callable[[Instruction], int | None]]] = [
    (re.compile(r"__cublas\$(?:gemm|lt\$matmul)"), _cublas),
    (re.compile(r"__onednn\$matmul"), _onednn),
    (re.compile(r"__cudnn\$conv"), _cudnn),
    (re.compile(r"__cublas\$triangularSolve|lapack_\w*trsm|cublas_\w*trsm"), triangular_solve),
    (re.compile(r"lapack_\w*potrf|cusolver_\w*potrf|Cholesky$"), cholesky),
    (re.compile(r"__cub\$DeviceRadixSort"), _radix_sort),
    (_MOVING, _none),
]

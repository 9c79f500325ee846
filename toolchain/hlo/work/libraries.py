"""What instructions are called in StableHLO, and custom calls of libraries: what they compute."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import Instruction
from .convolutions import convolved, is_product
from .formulas import cholesky, product_factor, triangular_solve
from .names import base_opcode, target_of

_RENAMED = {
    "dot": "dot_general",
    "broadcast": "broadcast_in_dim",
    "opt-barrier": "optimization_barrier",
}


def stablehlo_name(instruction: Instruction) -> str:
    """What StableHLO calls this op; a product that a TPU runs as a convolution is a product."""
    opcode = base_opcode(instruction)
    if opcode == "custom-call":
        target = target_of(instruction)
        known = _known(target)
        return known.name if known else target or "custom_call"
    if opcode == "convolution" and is_product(instruction):
        return "dot_general"
    return _RENAMED.get(opcode, opcode.replace("-", "_"))


def library_flops(call: Instruction) -> int | None:
    """The flops of a custom call, or None where nobody knows."""
    known = _known(target_of(call))
    return known.formula(call) if known else None


def is_library(target: str) -> bool:
    """Whether a custom call is one of those that this file knows to compute something."""
    known = _known(target)
    return known is not None and known.formula is not _none


def _known(target: str) -> _Call | None:
    return next((call for call in _CALLS if call.pattern.match(target)), None)


@dataclass(frozen=True)
class _Call:
    """What is known of custom calls whose target matches a pattern."""

    pattern: re.Pattern[str]
    name: str
    formula: Callable[[Instruction], int | None]


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


_CALLS = [
    _Call(re.compile(r"__cublas\$(?:gemm|lt\$matmul)"), "dot_general", _cublas),
    _Call(re.compile(r"__onednn\$matmul"), "dot_general", _onednn),
    _Call(re.compile(r"__cudnn\$conv"), "convolution", _cudnn),
    _Call(
        re.compile(r"__cublas\$triangularSolve|lapack_\w*trsm|cublas_\w*trsm"),
        "triangular_solve",
        triangular_solve,
    ),
    _Call(re.compile(r"lapack_\w*potrf|cusolver_\w*potrf|Cholesky$"), "cholesky", cholesky),
    _Call(re.compile(r"__cub\$DeviceRadixSort"), "sort", _radix_sort),
    _Call(re.compile(r"X64(?:SplitLow|SplitHigh|Combine)$"), "bitcast_convert", _none),
    _Call(re.compile(r"MoveTo(?:Host|Device)$|Pin$|Unpin$"), "copy", _none),
]

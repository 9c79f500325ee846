"""Custom calls of libraries (cuBLAS, cuDNN, oneDNN, LAPACK, CUB): what they compute.

`_CALLS` maps patterns of a call's target to the op that it computes and to its flops. A target that
is not listed is unknown, and its flops count as none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...cost.formulas import OpDescription, flops_of_op, product_factor
from .. import Instruction
from .flops import described, target_of


@dataclass(frozen=True)
class LibraryCall:
    """What is known of the custom calls whose target matches a pattern.

    Attributes:
        target: a pattern that the target begins with.
        name: StableHLO's name of the op that they compute.
        flops: the flops of a call; None where the call does not say enough.
        computes: whether they compute anything.
    """

    target: re.Pattern[str]
    name: str
    flops: Callable[[Instruction], int | None]
    computes: bool = True


def library_call(instruction: Instruction) -> LibraryCall | None:
    """What is known of a custom call; None for a target that is not listed here."""
    target = target_of(instruction)
    return next((call for call in _CALLS if call.target.match(target)), None)


def is_library(instruction: Instruction) -> bool:
    """Whether an instruction is a custom call that is known to compute something."""
    known = library_call(instruction)
    return known is not None and known.computes


def _settings(call: Instruction) -> dict[str, Any]:
    """A custom call's `backend_config`; empty where it is no JSON."""
    try:
        found = json.loads(call.attributes.get("backend_config", ""))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _as(name: str, **changes: Any) -> Callable[[Instruction], int | None]:
    """The flops of a call that computes an op of StableHLO, with the same operands."""
    return lambda call: flops_of_op(replace(described(call), name=name, **changes))


def _cublas(call: Instruction) -> int | None:
    """A product, and one addition per result for each further operand: a bias, an addend."""
    config = _settings(call).get("gemm_backend_config", {})
    dims = config.get("dot_dimension_numbers", {}).get("lhs_contracting_dimensions")
    if not dims:
        return None
    product = _as("dot", dimensions=[int(dim) for dim in dims])(call)
    extra = len(call.operands) - 2 if "f8" not in target_of(call) else 0
    return (product or 0) + extra * call.shape.leaves[0].elements


def _onednn(call: Instruction) -> int | None:
    """A product. Its contracted extent follows from the three sizes, whatever the layouts are."""
    left, right, result = (*(each.shape for each in call.operands[:2]), call.shape.leaves[0])
    batch = math.prod(result.dims[:-2]) if len(right.dims) > 2 else 1
    if not result.elements or not batch:
        return 0
    contracted = math.isqrt(left.elements * right.elements // result.elements // batch)
    return product_factor(left) * result.elements * contracted


def _cudnn(call: Instruction) -> int | None:
    """A convolution or one of its gradients; a bias and an activation on top.

    A gradient takes the flops of the convolution, so its arrays are put where the convolution has
    them: the operand that the gradient is of becomes the result.
    """
    if "dim_labels" not in call.attributes:
        return None
    op, target = described(call), target_of(call)
    (one, other), result = op.operands[:2], op.results[0]
    further = 0
    if "BackwardInput" in target:
        arrays = (result, other, one)
    elif "BackwardFilter" in target:
        arrays = (one, result, other)
    else:
        arrays = (one, other, result)
        further = len(call.operands) - 2 + ('"activation_mode":"kRelu"' in str(call.attributes))
    convolution = OpDescription(
        "convolution",
        arrays[:2],
        arrays[2:],
        window=op.window,
        convolution=op.convolution,
    )
    return (flops_of_op(convolution) or 0) + further * result.elements


_TRIANGULAR_SOLVE = r"__cublas\$triangularSolve|lapack_\w*trsm|cublas_\w*trsm"
_CALLS = [
    LibraryCall(re.compile(r"__cublas\$(?:gemm|lt\$matmul)"), "dot_general", _cublas),
    LibraryCall(re.compile(r"__onednn\$matmul"), "dot_general", _onednn),
    LibraryCall(re.compile(r"__cudnn\$conv"), "convolution", _cudnn),
    LibraryCall(re.compile(_TRIANGULAR_SOLVE), "triangular_solve", _as("triangular_solve")),
    LibraryCall(
        re.compile(r"lapack_\w*potrf|cusolver_\w*potrf|Cholesky$"), "cholesky", _as("cholesky")
    ),
    LibraryCall(
        re.compile(r"__cub\$DeviceRadixSort"), "sort", _as("sort", dimensions=[-1], body_ops=1)
    ),
    LibraryCall(
        re.compile(r"X64(?:SplitLow|SplitHigh|Combine)$"), "bitcast_convert", lambda _: 0, False
    ),
    LibraryCall(
        re.compile(r"MoveTo(?:Host|Device)$|Pin$|Unpin$"), "copy", lambda _: 0, computes=False
    ),
]

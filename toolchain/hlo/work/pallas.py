"""Flops of Pallas kernels: as the kernel states them, or by a formula for JAX's attention kernels.

A TPU kernel can state a `pl.CostEstimate`, which is in the configuration of its custom call. JAX's
kernels for the gradient of attention and for GPUs state none. They are known by their names. As in
JAX's own estimates, a kernel that skips blocks because of a causal mask counts as if it computed
them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import Instruction

TARGETS = ("tpu_custom_call", "__gpu$xla.gpu.triton")
"""The targets of the custom calls that run kernels for TPU (Mosaic) and GPU (Triton)."""

_ESTIMATE = re.compile(r'"cost_estimate":\s*\{([^}]*)\}')
_PRODUCTS = {
    "flash_mha_bwd_dkv": 4,  # scores, dV, dP, dK
    "flash_mha_bwd_dq": 3,  # scores, dP, dQ
    "jit(flash_attention)": 2,  # scores, and weights times values
    "mha_backward": 7,  # it computes scores and dP twice
    "mha_forward": 2,
}
"""By the name of a kernel, the products of the size of the scores in it; the first one counts."""


class Estimate(NamedTuple):
    """The work of one call.

    Attributes:
        flops: of products, of additions and so on.
        transcendentals: exponentials and the like.
    """

    flops: int
    transcendentals: int


def estimate_of(call: Instruction) -> Estimate | None:
    """The work of a Pallas kernel; None where it is not known."""
    if call.target not in TARGETS:
        return None
    stated = _ESTIMATE.search(call.attributes.get("backend_config", ""))
    if stated:
        numbers = dict(re.findall(r'"(\w+)":\s*"?(\d+)', stated[1]))
        return Estimate(int(numbers.get("flops", 0)), int(numbers.get("transcendentals", 0)))
    name = next((name for name in _PRODUCTS if name in call.op_name), None)
    if name is None or len(call.operands) < 3:
        return None
    queries, keys = (operand.shape.dims for operand in call.operands[:2])
    if len(queries) < 4 or len(keys) < 4:
        return None
    length = -2 if call.target == "tpu_custom_call" else -3  # of [b,h,s,d], and of [b,s,h,d]
    scores = call.operands[0].shape.elements // queries[-1] * keys[length]
    return Estimate(2 * _PRODUCTS[name] * scores * queries[-1], scores)

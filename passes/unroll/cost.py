"""Cost conditions of the pass `unroll`: how many iterations of a loop to do in one."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of, cost_of

from .._shared.elementwise import is_elementwise, shape_of

_RENAMING = (hlo.ConstantOp, hlo.ReshapeOp)
_SHIFTING = (hlo.ConcatenateOp, hlo.PadOp, hlo.ReverseOp, hlo.SliceOp)
_FUSED = (
    *(hlo.BroadcastInDimOp, hlo.IotaOp, hlo.TransposeOp, hlo.ReduceOp, hlo.DotGeneralOp),
    *(hlo.DynamicSliceOp, hlo.DynamicUpdateSliceOp, *_SHIFTING, *_RENAMING),
)

FEW_OPS = 24
"""The most ops of a body, apart from constants and reshapes, that is copied four times."""

MOST_OPS = 64
"""The most ops of a body that is copied twice."""

MOST_FLOPS = 1 << 26
"""The most flops of an iteration: from then on the launches are a small part of the time."""

MOST_BYTES = 1 << 22
"""The most bytes of a value of the body, likewise."""


def copies(target: str, trips: int, ops: Sequence[ir.OpView]) -> int:
    """How many iterations to do in one; 1 to leave the loop alone.

    Args:
        target: "cpu", "gpu" or "tpu".
        trips: the number of iterations.
        ops: the ops of the body, without its terminator.
    """
    if not all(is_elementwise(op) or isinstance(op, _FUSED) for op in ops):
        return 1
    most = _MOST[target](ops)
    return max((n for n in range(2, most + 1) if n + trips % n <= most + 1 and n <= trips), default=1)


def _on_gpu(ops: Sequence[ir.OpView]) -> int:
    work = _work(ops)
    if work > MOST_OPS or not _is_small(ops):
        return 1
    return 4 if work <= FEW_OPS and not any(isinstance(op, _SHIFTING) for op in ops) else 2


def _on_tpu(ops: Sequence[ir.OpView]) -> int:
    return 1


def _on_cpu(ops: Sequence[ir.OpView]) -> int:
    return 1


_MOST = {"cpu": _on_cpu, "gpu": _on_gpu, "tpu": _on_tpu}


def _work(ops: Sequence[ir.OpView]) -> int:
    return sum(not isinstance(op, _RENAMING) for op in ops)


def _is_small(ops: Sequence[ir.OpView]) -> bool:
    """Whether the launches of an iteration take a large part of its time."""
    if any(bytes_of(value.type) > MOST_BYTES for op in ops for value in op.results):
        return False
    return sum(cost.flops or 0 for op in ops if (cost := cost_of(op)) is not None) <= MOST_FLOPS

"""Memory that a library of XLA:CPU takes while a kernel runs, which no buffer of the program has.

YNN, which XLA:CPU calls for convolutions, copies operands into the order in which it reads them,
and frees the copies at the end: both operands in jaxlib 0.10.2, the second alone in 0.12.0.1.
Measured as the growth of the process beyond the buffers, on 20 convolutions with sides of 64 or 128
and 3 to 64 features: forward, by their kernels and by their inputs, with groups, f32 and bf16. The
copies differ by at most 0.8 MiB of 17 from the operands. On two programs on which the rule was not
found, it brings the measured peak from 1.09 to 1.03 of the promised one (U-Net), and from 1.04 to
0.97 (ResNet-50). Gradients of strided convolutions take up to 8 MiB more. Matrix products take up
to half of their operands, or 2 MiB: they are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

import jaxlib.version

from ..hlo.values import Instruction
from ..hlo.work.ops import inner_ops

_COPIES = "__ynn_fusion"
_FIRST = 0 if jaxlib.version.__version_info__ < (0, 12) else 1
"""The number of the first operand of a convolution that is copied."""


def scratch_bytes(instructions: Iterable[Instruction]) -> int:
    """The most bytes that the library takes at once, in a run of these instructions of XLA:CPU."""
    return max(map(_copied, instructions), default=0)


def _copied(instruction: Instruction) -> int:
    """The bytes of the operands of the convolutions in a fusion that YNN computes."""
    config = instruction.attributes.get("backend_config", "")
    if instruction.fused is None or _COPIES not in config:
        return 0
    inside = [op for op in inner_ops(instruction.fused) if op.opcode == "convolution"]
    return sum(operand.shape.bytes for op in inside for operand in op.operands[_FIRST:])
